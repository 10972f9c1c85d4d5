package main

import (
	"math/bits"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// example returns the export in docs/ledger.md.
func example(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(string(page), "\n```json\n")
	lines, _, _ = strings.Cut(lines, "```")
	return lines
}

func TestExampleIsCovered(t *testing.T) {
	symmetry, classes, prefixes, err := checkPrefixes(strings.NewReader(example(t)))
	if symmetry != "full" || classes != 6 || prefixes != 5 || err != nil {
		t.Errorf("symmetry %q, %d classes, %d prefixes (%v)", symmetry, classes, prefixes, err)
	}
}

func TestGapsAreFound(t *testing.T) {
	lines := example(t)
	for name, changed := range map[string]string{
		"a task is missing":         lines[strings.Index(lines, "\n")+1:],
		"a prefix is missing":       strings.Replace(lines, "[[2,20,8,6]]", "[]", 1),
		"a prefix comes twice":      strings.Replace(lines, "[2,20,8,6]", "[2,20,8,6],[2,20,8,6]", 1),
		"a prefix is another":       strings.Replace(lines, "[2,20,8,6]", "[2,20,8,7]", 1),
		"a board has fewer squares": strings.Replace(lines, "[24,28,1,28,26]", "[24,28,1,28,24]", 1),
		"a weight is wrong":         strings.Replace(lines, `"weight":2`, `"weight":4`, 1),
	} {
		if _, err := check(strings.NewReader(changed)); err == nil || changed == lines {
			t.Errorf("%s: the export is accepted", name)
		}
	}
}

// A run by the method halves with all row sets is accepted, and none with other row sets.
func TestRowSets(t *testing.T) {
	lines := `{"task":0,"weight":1,"n":4,"sets":[0,3],"count":"2"}
{"task":1,"weight":1,"n":4,"sets":[3,1],"count":"0"}
`
	const text = "method halves: the tasks have each of the 4 row sets of n = 4 once"
	if got, err := check(strings.NewReader(lines)); got != text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	first, second, _ := strings.Cut(lines, "\n")
	for name, changed := range map[string]string{
		"a task is missing":        second,
		"the last task is missing": first,
		"a row set comes twice":    strings.Replace(lines, "[3,1]", "[2,2]", 1),
		"one in place of another":  strings.Replace(lines, "[3,1]", "[0,1]", 1),
		"a row set too many":       strings.Replace(lines, "[3,1]", "[3,2]", 1),
		"a row set is missing":     strings.Replace(lines, "[0,3]", "[1,2]", 1),
		"a task has none":          strings.Replace(lines, "[3,1]", "[3,0]", 1),
		"a number wraps around":    strings.Replace(lines, "[0,3]", "[0,18446744073709551615]", 1),
		"a weight is wrong":        strings.Replace(lines, `"weight":1`, `"weight":2`, 1),
		"a side is another":        strings.Replace(lines, `"n":4,"sets":[3`, `"n":5,"sets":[3`, 1),
		"a task has prefixes":      strings.Replace(lines, `"sets":[3,1]`, `"prefixes":[[1,1,2,0]]`, 1),
	} {
		if got, err := check(strings.NewReader(changed)); err == nil || changed == lines {
			t.Errorf("%s: the export is accepted: %s", name, got)
		}
	}
}

// The number of row sets is the number of orbits of the sets of rows under the mirror, found by
// listing them.
func TestNumberOfRowSets(t *testing.T) {
	for n := 1; n <= 15; n++ {
		want := uint64(0)
		for set := range 1 << n {
			mirror := int(bits.Reverse16(uint16(set)) >> (16 - n))
			if bits.OnesCount(uint(set)) == n-n/2 && set <= mirror {
				want++
			}
		}
		if got := rowSets(n); got != want {
			t.Errorf("n = %d: %d row sets, want %d", n, got, want)
		}
	}
}

// A class may be searched in any of its images, but an export must not have two images of one
// class.
func TestImages(t *testing.T) {
	lines := example(t)
	const board, image = `"allow":[2,8,4,1,16],"prefixes":[[2,10,24,4]]`,
		`"allow":[8,2,4,16,1],"prefixes":[[2,10,4,3]]`
	changed := strings.Replace(lines, board, image, 1)
	if _, err := check(strings.NewReader(changed)); err != nil || changed == lines {
		t.Errorf("a class is replaced by its left-right image: %v", err)
	}
	twice := lines + `{"task":5,"weight":8,` + image + `}`
	if _, err := check(strings.NewReader(twice)); err == nil {
		t.Error("a class and its left-right image are accepted")
	}
}

// The awk program of docs/ledger.md adds up weight times count, also to sums beyond 2^53, and fails
// at a missing count.
func TestAwkProgram(t *testing.T) {
	page, err := os.ReadFile("../../ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "\n```awk\n")
	program, _, _ = strings.Cut(program, "```")
	lines := example(t)
	for export, want := range map[string]string{
		lines: "10\n",
		strings.Replace(lines, `"count":"0"`, `"count":"12345678901234567891"`,
			1): "98765431209876543138\n",
		strings.Replace(lines, `"count":"0",`, "",
			1): "task 0 has no count\n",
		lines[strings.Index(lines, "\n")+
			1:]: "task 0 has no count\n",
	} {
		cmd := exec.CommandContext(t.Context(), "awk", program)
		cmd.Stdin = strings.NewReader(export)
		out, err := cmd.Output()
		if fails := strings.HasPrefix(want, "task"); string(out) != want || (err != nil) != fails {
			t.Errorf("awk prints %q (%v), want %q, from\n%s", out, err, want, export)
		}
	}
}
