// Package clitest tests the programs with scripts of command lines. Only tests import it.
package clitest

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Main runs the tests of a command. The test binary is on the PATH under the name of the command,
// and under the name that the command has where it is installed, so that scripts run the real main.
func Main(m *testing.M, name string, main func()) {
	// without this, a process with the race detector ends a second later
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testscript.Main(m, map[string]func(){name: main, "nqueens-" + name: main})
}

// Scripts runs the scripts in the folder testdata, each with its own state folder. In addition to
// the commands of testscript, they have
//
//	status CODE COMMAND...    the command ends with that exit code
//	usage PATTERN COMMAND...  the command ends with exit code 2, nothing on stdout, and one line
//	                          on stderr that matches
func Scripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("NQUEENS_LOG_FORMAT", "json")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status,
			"usage": usage},
	})
}

func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	expectStatus(ts, want, args[1:])
}

func usage(ts *testscript.TestScript, _ bool, args []string) {
	expectStatus(ts, 2, args[1:])
	if stdout := ts.ReadFile("stdout"); stdout != "" {
		ts.Fatalf("stdout is %q, want nothing", stdout)
	}
	line := regexp.MustCompile(`^` + args[1] + `[^\n]*: [^\n]*(` + args[0] + `)[^\n]*\n$`)
	if stderr := ts.ReadFile("stderr"); !line.MatchString(stderr) {
		ts.Fatalf("stderr is %q, want one line like %#q", stderr, line)
	}
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
