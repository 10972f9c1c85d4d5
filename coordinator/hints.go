package main

import (
	"fmt"

	"nqueens/pkg/queens"
)

// restartCommand returns the command line that counts the board of a manifest again, from
// the beginning.
func restartCommand(m *queens.Manifest) string {
	line := fmt.Sprintf("coordinator count %d", m.N)
	for _, s := range m.Placed {
		line += fmt.Sprintf(" --place %v", s)
	}
	if m.Symmetry != queens.Full && len(m.Placed) == 0 {
		line += fmt.Sprintf(" --symmetry %s", m.Symmetry)
	}
	// If the tasks came out like this without --depth, it changes nothing.
	if depth, ok := uniformDepth(m.Classes); ok {
		line += fmt.Sprintf(" --depth %d", depth)
	}
	return line + " --new"
}

// uniformDepth returns the depth of all classes, if it is the same and each task has one
// prefix, as with --depth.
func uniformDepth(classes []queens.ClassPlan) (depth int, ok bool) {
	for i, c := range classes {
		if c.Batch != 1 || i > 0 && c.Depth != depth {
			return 0, false
		}
		depth = c.Depth
	}
	return depth, len(classes) > 0
}
