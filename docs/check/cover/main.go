// Cover checks that the tasks of an export cover a whole board: each solution once, and with its
// weight. Tasks of the method halves must have the number of each row set once. Cover was written
// from docs/symmetry.md, docs/halves.md and docs/ledger.md alone, and uses nothing else of this
// project. It does not check the counts.
//
//	coordinator ledger RUN | go run ./docs/check/cover
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// state is a prefix: row, cols, left, right.
type state [4]uint32

// class has the allowed squares of each row, and the weight of the class.
type class struct {
	allow  []uint32
	weight int
}

// check checks an export. It returns a line about what it covers.
func check(export io.Reader) (string, error) {
	in := bufio.NewReader(export)
	var first struct{ Sets []uint64 }
	line, err := in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	_ = json.Unmarshal(line, &first) // the check reads the line again
	export = io.MultiReader(bytes.NewReader(line), in)
	if first.Sets != nil {
		n, sets, err := checkSets(export)
		return fmt.Sprintf("method halves: the tasks have each of the %d row sets of n = %d once", sets,
			n), err
	}
	symmetry, classes, prefixes, err := checkPrefixes(export)
	return fmt.Sprintf("symmetry %s: %d prefixes cover %d classes, each solution once", symmetry,
		prefixes, classes), err
}

// checkSets checks an export of the method halves. It returns the side of the board, and the number
// of row sets.
func checkSets(export io.Reader) (n int, sets uint64, err error) {
	next := 0
	for in := json.NewDecoder(export); ; next++ {
		var line struct {
			Task, Weight, N int
			Sets            []uint64
		}
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, 0, err
		}
		if next == 0 {
			n = line.N
		}
		switch {
		case line.Task != next:
			return 0, 0, fmt.Errorf("task %d is missing", next)
		case line.N != n || line.Weight != 1 || len(line.Sets) != 2:
			return 0, 0, fmt.Errorf(
				"task %d is of another side than %d, or has a weight other than 1, or no row sets", next, n)
		case line.Sets[0] != sets || line.Sets[1] == 0 || line.Sets[1] > rowSets(n):
			return 0, 0, fmt.Errorf("task %d does not go on with row set %d", next, sets)
		}
		sets += line.Sets[1]
	}
	if want := rowSets(n); sets != want {
		return 0, 0, fmt.Errorf("the tasks have %d row sets, a board of side %d has %d", sets, n, want)
	}
	return n, sets, nil
}

// rowSets returns the number of row sets of a board, of which each and its mirror image count as
// one.
func rowSets(n int) uint64 {
	rows := n - n/2 // in the east
	// row sets that are their own mirror image: pairs of rows and, if n is odd, perhaps the middle row
	own := uint64(0)
	if rows%2 == 0 || n%2 == 1 {
		own = choose(n/2, rows/2)
	}
	return (choose(n, rows) + own) / 2
}

// choose returns the number of ways to choose k of n things.
func choose(n, k int) uint64 {
	ways := uint64(1)
	for i := range k {
		ways = ways * uint64(n-i) / uint64(i+1)
	}
	return ways
}

// checkPrefixes checks an export of the method prefixes. It returns the name of the symmetry, and
// the numbers of classes and prefixes.
func checkPrefixes(export io.Reader) (symmetry string, classes, prefixes int, err error) {
	boards := make(map[string]class)
	listed := make(map[string]map[state]int) // how often a prefix of a board is listed
	next, n := 0, 0
	for in := json.NewDecoder(export); ; next++ {
		var line struct {
			Task, Weight int
			Allow        []uint32
			Prefixes     []state
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
		c := class{line.Allow, line.Weight}
		name := fmt.Sprint(c)
		if listed[name] == nil {
			boards[name], listed[name] = c, make(map[state]int)
		}
		for _, p := range line.Prefixes {
			listed[name][p]++
			prefixes++
		}
	}
	var all []class // all classes, also those without a task
	for name, want := range map[string][]class{"none": none(n), "mirror": mirror(n), "full": full(n)} {
		if found, ok := match(boards, want); ok && n > 0 {
			symmetry, all = name, found
		}
	}
	if symmetry == "" {
		return "", 0, 0, errors.New(
			"the export is empty, or no symmetry of a full board gives these classes")
	}
	for _, c := range all {
		prefixes := listed[fmt.Sprint(c)]
		if !cover(c.allow, prefixes, state{}) {
			return "", 0, 0, fmt.Errorf("class %v: a solution has no prefix", c)
		}
		for p, left := range prefixes {
			if left > 0 {
				return "", 0, 0, fmt.Errorf("class %v: prefix %v is not of this board, or is listed too often",
					c, p)
			}
		}
	}
	return symmetry, len(all), prefixes, nil
}

// match compares the listed boards with the classes of a symmetry, and returns these classes. A
// class with a listed board is returned as that board. Each listed board must be an image of a
// class with the same weight, and no two boards may be images of the same class.
func match(listed map[string]class, want []class) (found []class, ok bool) {
	found = slices.Clone(want)
	taken := make([]bool, len(want))
	for name, c := range listed {
		i := slices.IndexFunc(want, func(w class) bool {
			return w.weight == c.weight && slices.ContainsFunc(images(w.allow), func(image []uint32) bool {
				return fmt.Sprint(class{image, w.weight}) == name
			})
		})
		if i < 0 || taken[i] {
			return nil, false
		}
		found[i], taken[i] = c, true
	}
	return found, true
}

// images returns the eight images of a board.
func images(allow []uint32) (all [][]uint32) {
	last := len(allow) - 1
	for range 4 {
		turned, mirrored := make([]uint32, len(allow)), make([]uint32, len(allow))
		for row := range allow {
			for column := range allow {
				turned[column] |= allow[row] >> column & 1 << (last - row)
				mirrored[row] |= allow[row] >> column & 1 << (last - column)
			}
		}
		all = append(all, allow, mirrored)
		allow = turned
	}
	return all
}

// cover places queens row by row in every way, and stops at each listed prefix. It takes that
// prefix off the list once, because different placements may lead to the same prefix. It reports
// whether each solution below state s has a listed prefix.
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
		if !cover(allow, listed,
			state{row + 1, cols | queen, (left | queen) << 1 & board, (right | queen) >> 1}) {
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

// place puts a queen on a square and forbids the squares that it attacks.
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

func none(n int) []class { return []class{{empty(n), 1}} }

func mirror(n int) []class {
	if n < 2 {
		return nil
	}
	half := uint32(1)<<(n/2) - 1
	outer := empty(n)
	outer[0] = half
	classes := []class{{outer, 2}}
	if n%2 == 1 {
		middle := empty(n)
		middle[0], middle[1] = 1<<(n/2), half
		classes = append(classes, class{middle, 2})
	}
	return classes
}

func full(n int) (classes []class) {
	last := n - 1
	for a := 1; 2*a <= last; a++ {
		for tied, weight := range map[int]int{0: 8, 2: 4, 4: 8, 5: 8, 7: 2} { // bits: right, bottom, left
			middle := 2*a == last
			if middle && tied != 0 {
				continue
			}
			allow := empty(n)
			// forbids squares at distance a or more; tied queens are placed below
			for i := a; i <= last-a; i++ {
				allow[i] &^= 1 | 1<<last
				allow[last] &^= 1 << i
			}
			place(allow, 0, a)
			for side, queen := range [][2]int{{a, last}, {last, last - a}, {last - a, 0}} {
				if tied>>side&1 == 1 {
					place(allow, queen[0], queen[1])
				}
			}
			if middle {
				allow[1] &= 1<<a - 1
			}
			classes = append(classes, class{allow, weight})
		}
	}
	return classes
}

func main() {
	covered, err := check(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(covered)
}
