// Cover checks that the tasks of an export cover a whole board, each solution once and with its
// weight. It uses nothing of this project but docs/symmetry.md and docs/ledger.md, from which it was
// written. It does not check the counts.
//
//	coordinator ledger RUN | go run ./docs/check/cover
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// state is a prefix: row, cols, left, right.
type state [4]uint32

// class is a board with fewer squares, as text, and its k.
type class struct {
	allow string
	k     int
}

// check returns the name of the symmetry and the number of classes and prefixes.
func check(export io.Reader) (symmetry string, classes, prefixes int, err error) {
	boards := make(map[class]bool)
	listed := make(map[class]map[state]int) // how often a prefix is listed
	next, n := 0, 0
	for in := json.NewDecoder(export); ; next++ {
		var line struct {
			Task, K  int
			Allow    []uint32
			Prefixes []state
		}
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", 0, 0, err
		}
		if line.Task != next {
			return "", 0, 0, fmt.Errorf("task %d is missing", next)
		}
		n = len(line.Allow)
		c := class{fmt.Sprint(line.Allow), line.K}
		if !boards[c] {
			boards[c], listed[c] = true, make(map[state]int)
		}
		for _, p := range line.Prefixes {
			listed[c][p]++
			prefixes++
		}
	}
	all := map[string]map[class][]uint32{"none": none(n), "mirror": mirror(n), "full": full(n)}
	for name, want := range all {
		known := true
		for c := range boards {
			known = known && want[c] != nil
		}
		if known && n > 0 {
			symmetry = name
		}
	}
	if symmetry == "" {
		return "", 0, 0, errors.New("the export is empty, or these are not the classes of a full board by one of the symmetries")
	}
	for c, allow := range all[symmetry] { // also those without a task
		if !cover(allow, listed[c], state{}) {
			return "", 0, 0, fmt.Errorf("class %v: a solution has no prefix", c)
		}
		for p, left := range listed[c] {
			if left > 0 {
				return "", 0, 0, fmt.Errorf("class %v: prefix %v is not of this board, or is listed too often", c, p)
			}
		}
	}
	return symmetry, len(all[symmetry]), prefixes, nil
}

// cover walks over all placements of queens, row by row, and takes each prefix that it meets from those listed. It
// reports whether each solution below s has met one. Different placements may lead to the same state.
func cover(allow []uint32, listed map[state]int, s state) bool {
	if listed[s] > 0 {
		listed[s]--
		return true
	}
	row, cols, left, right := s[0], s[1], s[2], s[3]
	if int(row) == len(allow) {
		return false
	}
	board := uint32(1)<<len(allow) - 1
	for free := allow[row] &^ (cols | left | right); free != 0; free &= free - 1 {
		queen := free & -free
		if !cover(allow, listed, state{row + 1, cols | queen, (left | queen) << 1 & board, (right | queen) >> 1}) {
			return false
		}
	}
	return true
}

// empty returns a board of side n with all squares allowed.
func empty(n int) []uint32 {
	allow := make([]uint32, n)
	for row := range allow {
		allow[row] = 1<<n - 1
	}
	return allow
}

// place puts a queen on a square and removes what it attacks.
func place(allow []uint32, row, column int) {
	for r := range allow {
		for c := range allow {
			if r == row || c == column || r-row == c-column || r-row == column-c {
				allow[r] &^= 1 << c
			}
		}
	}
	allow[row] = 1 << column
}

func none(n int) map[class][]uint32 {
	return map[class][]uint32{{fmt.Sprint(empty(n)), 8}: empty(n)}
}

func mirror(n int) map[class][]uint32 {
	if n < 2 {
		return nil
	}
	half := uint32(1)<<(n/2) - 1
	outer := empty(n)
	outer[0] = half
	classes := map[class][]uint32{{fmt.Sprint(outer), 4}: outer}
	if n%2 == 1 {
		middle := empty(n)
		middle[0], middle[1] = 1<<(n/2), half
		classes[class{fmt.Sprint(middle), 4}] = middle
	}
	return classes
}

func full(n int) map[class][]uint32 {
	classes := make(map[class][]uint32)
	last := n - 1
	for a := 1; 2*a <= last; a++ {
		middle := 2*a == last
		for tied := range uint(8) {
			if middle && tied != 0 {
				break
			}
			allow := empty(n)
			for i := a; i <= last-a; i++ { // squares at distance a or more, but for those of tied queens
				allow[i] &^= 1 | 1<<last
				allow[last] &^= 1 << i
			}
			place(allow, 0, a)
			for side, queen := range [][2]int{{a, last}, {last, last - a}, {last - a, 0}} {
				if tied>>side&1 == 1 {
					place(allow, queen[0], queen[1])
				}
			}
			k := 1 + bits.OnesCount(tied)
			if middle {
				k = 2
			}
			classes[class{fmt.Sprint(allow), k}] = allow
		}
	}
	return classes
}

func main() {
	symmetry, classes, prefixes, err := check(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("symmetry %s: %d prefixes cover %d classes, each solution once\n", symmetry, prefixes, classes)
}
