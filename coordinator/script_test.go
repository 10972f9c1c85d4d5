package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) {
	testkit.Parallel(16) // the cluster tests mostly wait
	clitest.Main(m, "coordinator", main)
}

// The scripts have the commands of testdata/bin, and in $BUSY an address of this machine where
// another process listens.
func TestScripts(t *testing.T) {
	t.Parallel()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	clitest.Scripts(t, func(env *testscript.Env) error {
		env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+bin)
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		env.Defer(func() { _ = busy.Close() })
		env.Setenv("BUSY", busy.Addr().String())
		return nil
	})
}

// Every error in the command line is one line that says what would be right, and nothing is started.
func TestUsageErrors(t *testing.T) {
	clitest.UsageErrors(t, Here)
}
