package estimate_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"nqueens/pkg/estimate"
)

// The table of docs/dev/benchmarks.md lists every side from 4 on that has a published total, that
// total, and, for sides that are quick to estimate, the estimate that the program makes today.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/dev/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- generated: scripts/bench probes -->\n")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) != 2+27-3 {
		t.Fatalf("the table has %d lines, want two and one for each of 4 to 27", len(rows))
	}
	for i, row := range rows[2:] {
		n := 4 + i
		cells := strings.Split(strings.ReplaceAll(row, " ", ""), "|")
		if len(cells) != 8 || cells[1] != strconv.Itoa(n) || cells[5] != shown(known(t, n)) {
			t.Errorf("line %q is not that of n = %d, whose total is %v", row, n, known(t, n))
			continue
		}
		if n > 8 {
			continue
		}
		trees := mustProbe(t, n, estimate.DefaultProbes, 0)
		want := []string{strconv.Itoa(trees.Solutions.Probes), shown(trees.Solutions.Mean)}
		if cells[2] != want[0] || cells[3] != want[1] {
			t.Errorf("line %q: the program makes %s probes and estimates %s", row, want[0], want[1])
		}
	}
}

// shown formats a number as the table does.
func shown(x float64) string {
	switch {
	case x < 1e4:
		return fmt.Sprintf("%.4g", x)
	case x < 1e7:
		return fmt.Sprintf("%.0f", x)
	}
	digits, exponent, _ := strings.Cut(fmt.Sprintf("%.3e", x), "e+")
	return digits + "e" + strings.TrimPrefix(exponent, "0")
}
