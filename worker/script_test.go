package main

import (
	"io"
	"testing"

	"nqueens/pkg/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "worker", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }

// Every error in the command line is one line that says what would be right, and nothing is started.
func TestUsageErrors(t *testing.T) {
	clitest.UsageErrors(t, func(arguments []string, stdout, stderr io.Writer) int {
		root, app := newProgram()
		root.SetArgs(arguments)
		root.SetOut(stdout)
		root.SetErr(stderr)
		return app.Main()
	})
}
