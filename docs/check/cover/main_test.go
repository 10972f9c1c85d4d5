package main

import (
	"os"
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
	if symmetry != "full" || classes != 9 || prefixes != 8 || err != nil {
		t.Errorf("symmetry %q, %d classes, %d prefixes (%v)", symmetry, classes, prefixes, err)
	}
}

func TestGapsAreFound(t *testing.T) {
	lines := example(t)
	for name, changed := range map[string]string{
		"a task is missing":         lines[strings.Index(lines, "\n")+1:],
		"a prefix is missing":       strings.Replace(lines, "[2,5,18,1],", "", 1),
		"a prefix comes twice":      strings.Replace(lines, "[2,5,18,1],", "[2,5,18,1],[2,5,18,1],", 1),
		"a prefix is another":       strings.Replace(lines, "[2,5,18,1]", "[2,5,18,3]", 1),
		"a board has fewer squares": strings.Replace(lines, "[4,17,10,27,27]", "[4,17,10,27,26]", 1),
		"a weight is wrong":         strings.Replace(lines, `"k":4`, `"k":3`, 1),
	} {
		if _, _, _, err := check(strings.NewReader(changed)); err == nil || changed == lines {
			t.Errorf("%s: the export is accepted", name)
		}
	}
}
