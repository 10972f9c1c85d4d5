// Package clitest runs the commands in tests: scripts of command lines, and real processes
// that a test starts, watches and stops. Only tests import it.
package clitest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Main runs the tests of a command. The test binary stands on the PATH as that command, so
// that what tests run is the real main, built as the tests are.
func Main(m *testing.M, name string, main func()) {
	// A process under the race detector would sleep for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // fails on no system
	tested = name
	testscript.Main(m, map[string]func(){name: main})
}

// tested is the command that the test binary stands for.
var tested string

// Scripts runs the scripts of folder testdata, each in a state folder of its own. Beside
// testscript's own commands they have
//
//	status CODE COMMAND...    the command ends with that exit code
//	usage PATTERN COMMAND...  the command ends with exit code 2, nothing on stdout,
//	                          and one line on stderr, which matches the pattern
func Scripts(t *testing.T, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("NQUEENS_LOG_FORMAT", "json")
			if setup == nil {
				return nil
			}
			return setup(env)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "usage": usage},
	})
}

// AtHome moves this process to an empty folder, for commands that it runs itself as a person would at home: without
// settings of ours.
func AtHome(t *testing.T) {
	t.Helper()
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "NQUEENS_") {
			t.Setenv(name, "") // as unset
		}
	}
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("XDG_STATE_HOME", filepath.Join(folder, "state"))
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

// UsageErrors runs the command lines of testdata/usage/errors in this process, in an empty folder with an
// empty file named file. The function runs the command with arguments and returns its exit code. Lines are
//
//	PATTERN COMMAND...    the command ends with exit code 2, nothing on stdout, and one line on stderr,
//	                      which matches the pattern
//	! stderr PATTERN      the line before does not match
//	env NAME=VALUE        a variable of the commands below
//
// A part in single quotes may have spaces. None of the commands may leave anything behind.
func UsageErrors(t *testing.T, run func(arguments []string, stdout, stderr io.Writer) (exit int)) {
	t.Helper()
	table, err := os.ReadFile("testdata/usage/errors")
	if err != nil {
		t.Fatal(err)
	}
	AtHome(t)
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	commands := 0
	for text := range strings.Lines(string(table)) {
		words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(text, -1)
		for i, word := range words {
			words[i] = strings.Trim(word, "'")
		}
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "env":
			name, value, _ := strings.Cut(words[1], "=")
			t.Setenv(name, value)
		case words[0] == "!":
			if regexp.MustCompile(words[2]).MatchString(stderr.String()) {
				t.Errorf("stderr has %q: %q", words[2], &stderr)
			}
		default:
			commands++
			stdout.Reset()
			stderr.Reset()
			code := run(words[2:], &stdout, &stderr)
			line := regexp.MustCompile(`^` + words[1] + `[^\n]*: [^\n]*(` + words[0] + `)[^\n]*\n$`)
			if code != 2 || stdout.Len() > 0 || !line.MatchString(stderr.String()) {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q, want 2, nothing and a line like %#q",
					words[1:], code, &stdout, &stderr, line)
			}
		}
	}
	if commands < 50 {
		t.Errorf("the table has %d commands", commands)
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (%v): an error in the command line has started something", left, err)
	}
}
