//go:build unix

package main_test

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// The table of docs/scale.md has a line for each n and fleet, and for n = 20 what scripts/scale prints
// today.
func TestScalePage(t *testing.T) {
	long(t)
	page, err := os.ReadFile("../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \| .*\n`).FindAllStringSubmatch(string(page), -1) {
		got.WriteString(row[1] + " on " + row[2] + "\n")
	}
	var want strings.Builder
	for _, n := range strings.Fields("20 21 22 23 24 25 26 27 28") {
		for _, threads := range strings.Fields("64 1024 10000 100000") {
			want.WriteString(n + " on " + threads + "\n")
		}
	}
	if got.String() != want.String() {
		t.Errorf("the lines are of\n%swant\n%s", &got, &want)
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may round the last digits differently")
	}
	printed := clitest.RunShell(t, "..", nil, "scripts/scale 20")
	if printed.Code != 0 || strings.Count(printed.Stdout, "\n") != 4 || !strings.Contains(string(page), printed.Stdout) {
		t.Errorf("scripts/scale 20: exit %d\n%s%s\nthe page has other lines: run scripts/scale --page", printed.Code, printed.Stdout, printed.Stderr)
	}
}
