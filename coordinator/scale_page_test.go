//go:build unix

package main_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// docs/dev/benchmarks.md has for n = 20 what scripts/scale prints today.
func TestScalePage(t *testing.T) {
	long(t)
	if runtime.GOARCH != "amd64" || !testkit.Full() {
		t.Skip("simulates for seconds: runs with NQUEENS_TEST_FULL=1, on amd64, because others may round differently")
	}
	page, err := os.ReadFile("../docs/dev/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := clitest.RunShell(t, "..", nil, "scripts/scale 20")
	if printed.Code != 0 || strings.Count(printed.Stdout, "\n") != 4 || !strings.Contains(string(page), printed.Stdout) {
		t.Errorf("scripts/scale 20: exit %d\n%s%s\nthe page has other lines: run scripts/scale --page", printed.Code, printed.Stdout, printed.Stderr)
	}
}
