package main

import (
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) { clitest.Main(m, "coordinator", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

func TestGeneratedFlags(t *testing.T) {
	root, _ := newProgram()
	testkit.Generated(t, "flags of coordinator", clitest.Flags(root, root.Commands()...))
}
