package main

import (
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
	symmetry, classes, prefixes, err := check(strings.NewReader(example(t)))
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
		if _, _, _, err := check(strings.NewReader(changed)); err == nil || changed == lines {
			t.Errorf("%s: the export is accepted", name)
		}
	}
}

// A class may be searched in any of its images, but an export must not have two images of one class.
func TestImages(t *testing.T) {
	lines := example(t)
	const board, image = `"allow":[2,8,4,1,16],"prefixes":[[2,10,24,4]]`, `"allow":[8,2,4,16,1],"prefixes":[[2,10,4,3]]`
	changed := strings.Replace(lines, board, image, 1)
	if _, _, _, err := check(strings.NewReader(changed)); err != nil || changed == lines {
		t.Errorf("a class is replaced by its left-right image: %v", err)
	}
	twice := lines + `{"task":5,"weight":8,` + image + `}`
	if _, _, _, err := check(strings.NewReader(twice)); err == nil {
		t.Error("a class and its left-right image are accepted")
	}
}

// The awk program of docs/ledger.md adds up weight times count, also to sums beyond 2^53, and fails at a missing count.
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
		strings.Replace(lines, `"count":"0"`, `"count":"12345678901234567891"`, 1): "98765431209876543138\n",
		strings.Replace(lines, `"count":"0",`, "", 1):                              "task 0 has no count\n",
		lines[strings.Index(lines, "\n")+1:]:                                       "task 0 has no count\n",
	} {
		cmd := exec.CommandContext(t.Context(), "awk", program)
		cmd.Stdin = strings.NewReader(export)
		out, err := cmd.Output()
		if fails := strings.HasPrefix(want, "task"); string(out) != want || (err != nil) != fails {
			t.Errorf("awk prints %q (%v), want %q, from\n%s", out, err, want, export)
		}
	}
}
