package main

import (
	"testing"

	"nqueens/pkg/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "coordinator", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }
