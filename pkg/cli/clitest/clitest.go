// Package clitest is what the scripts that test the commands have in common. Tests
// alone import it.
package clitest

import (
	"errors"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands are what scripts have beside testscript's own:
//
//	status CODE COMMAND...    the command ends with that exit code
//	usage PATTERN COMMAND...  the command ends with exit code 2, nothing on stdout,
//	                          and one line on stderr, which matches the pattern
var Commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
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
