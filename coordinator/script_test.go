package main

import (
	"flag"
	"net"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nqueens/pkg/cli/clitest"
)

// The cluster tests mostly wait, so more of them run at once than there are cores;
// go test -parallel changes that.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // fails where there is no such flag: as well
	clitest.Main(m, "coordinator", main)
}

// The scripts find in $BUSY an address of this machine where another process listens.
func TestScripts(t *testing.T) {
	clitest.Scripts(t, func(env *testscript.Env) error {
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		env.Defer(func() { _ = busy.Close() })
		env.Setenv("BUSY", busy.Addr().String())
		return nil
	})
}
