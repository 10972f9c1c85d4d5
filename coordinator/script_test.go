package main

import (
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts this test binary on the PATH as coordinator: what the scripts and
// the cluster tests run is the real main, built as the tests are.
//
// The cluster tests mostly wait, so more of them run at once than there are cores;
// go test -parallel says otherwise.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // fails where there is no such flag: as well
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
		Cmds: commands,
	})
}

// commands are what scripts have beside testscript's own:
//
//	status CODE COMMAND...    the command ends with that exit code
//	usage PATTERN COMMAND...  the command ends with exit code 2, nothing on stdout,
//	                          and one line on stderr, which matches the pattern
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status": func(ts *testscript.TestScript, _ bool, args []string) {
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		expectStatus(ts, want, args[1:])
	},
	"usage": func(ts *testscript.TestScript, _ bool, args []string) {
		expectStatus(ts, 2, args[1:])
		if stdout := ts.ReadFile("stdout"); stdout != "" {
			ts.Fatalf("stdout is %q, want nothing", stdout)
		}
		line := regexp.MustCompile(`^` + args[1] + `[^\n]*: [^\n]*(` + args[0] + `)[^\n]*\n$`)
		if stderr := ts.ReadFile("stderr"); !line.MatchString(stderr) {
			ts.Fatalf("stderr is %q, want one line like %#q", stderr, line)
		}
	},
}

func expectStatus(ts *testscript.TestScript, want int, command []string) {
	got := 0
	if err := ts.Exec(command[0], command[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", command, err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", command, got, want)
	}
}
