package main

import (
	"slices"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) { clitest.Main(m, "worker", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// TestManual makes the manual pages. scripts/release runs it.
func TestManual(t *testing.T) {
	root, _ := newProgram()
	clitest.Manual(t, root)
}

func TestGeneratedFlags(t *testing.T) {
	root, _ := newProgram()
	testkit.Generated(t, "flags of worker",
		clitest.Flags(nil, slices.Insert(root.Commands(), 0, root)...))
}
