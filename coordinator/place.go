package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
)

// placeFlag is --place: the queens that stand beforehand, as a person writes them.
type placeFlag []string

func (p *placeFlag) register(flags *pflag.FlagSet) {
	flags.StringArrayVar((*[]string)(p), "place", nil, "put a queen on this `square` beforehand: row,column from 0 at the top left, or such as d8 up to N = 26; again for more")
}

// squares returns the squares on a board of side n, sorted.
func (p placeFlag) squares(n int) ([]queens.Square, error) {
	var squares []queens.Square
	for _, text := range p {
		words := strings.Fields(text) // several in one: the environment has room for one
		if len(words) == 0 {
			return nil, cli.Usagef("--place needs a square, such as 0,3")
		}
		for _, word := range words {
			s, err := queens.ParseSquare(n, word)
			if err != nil {
				return nil, cli.Usagef("--place: %w", err)
			}
			squares = append(squares, s)
		}
	}
	if err := queens.CheckPlaced(n, squares); err != nil {
		return nil, cli.Usagef("--place: %w", err)
	}
	queens.SortSquares(squares)
	return squares, nil
}

// sameCount is the command line that begins the count of a manifest once more.
func sameCount(m *queens.Manifest) string {
	line := fmt.Sprintf("coordinator count %d", m.N)
	for _, s := range m.Placed {
		line += fmt.Sprintf(" --place %v", s)
	}
	if m.Symmetry != queens.Full && len(m.Placed) == 0 {
		line += fmt.Sprintf(" --symmetry %s", m.Symmetry)
	}
	// So --depth cuts every class; where the tasks came out so by themselves it changes nothing.
	if depth, ok := sameDepth(m.Classes); ok {
		line += fmt.Sprintf(" --depth %d", depth)
	}
	return line + " --new"
}

// sameDepth returns the one depth of all classes, where each of their tasks has one prefix.
func sameDepth(classes []queens.ClassPlan) (depth int, ok bool) {
	for i, c := range classes {
		if c.Batch != 1 || i > 0 && c.Depth != depth {
			return 0, false
		}
		depth = c.Depth
	}
	return depth, len(classes) > 0
}
