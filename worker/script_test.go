package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nqueens/pkg/cli/clitest"
)

// TestMain puts this test binary on the PATH as worker: what the scripts run is the
// real main.
func TestMain(m *testing.M) {
	// A process under the race detector would sleep for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // fails on no system
	testscript.Main(m, map[string]func(){"worker": main})
}

// TestScript holds the command line to what scripts say of it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: clitest.Commands,
	})
}
