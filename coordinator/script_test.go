package main

import (
	"flag"
	"net"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nqueens/pkg/cli/clitest"
)

// TestMain puts this test binary on the PATH as coordinator: what the scripts and
// the cluster tests run is the real main, built as the tests are.
//
// The cluster tests mostly wait, so more of them run at once than there are cores;
// go test -parallel says otherwise.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // fails where there is no such flag: as well
	// A process under the race detector would sleep for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // fails on no system
	testscript.Main(m, map[string]func(){"coordinator": main})
}

// TestScript holds the command line to what scripts say of it. They have $BUSY, an
// address of this machine that another listens on.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			busy, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = busy.Close() })
			env.Setenv("BUSY", busy.Addr().String())
			return nil
		},
		Cmds: clitest.Commands,
	})
}
