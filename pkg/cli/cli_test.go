package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestMain lets a test run this binary again, as a process that receives signals.
func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(childMode); ok {
		os.Exit(child(mode))
	}
	_ = os.Setenv("NQUEENS_LOG_FORMAT", "json") // fails on no system
	os.Exit(m.Run())
}

// program is a command with a subcommand and flags of every kind, and the outcome of one
// run of it.
type program struct {
	app     *App
	root    *cobra.Command
	threads int
	dataDir string
	place   []string
	ran     bool // the subcommand began

	code           int
	stdout, stderr bytes.Buffer
}

// newProgram returns a program with the subcommand count, in an environment without
// variables for flags but that of a log in JSON.
func newProgram(t *testing.T, count func(p *program, args []string) error) *program {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "NQUEENS_") {
			t.Setenv(name, value) // puts it back at the end
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("NQUEENS_LOG_FORMAT", "json")
	p := &program{root: &cobra.Command{Use: "tool"}}
	p.app = New(p.root)
	sub := &cobra.Command{Use: "count", SuggestFor: []string{"start"}, RunE: func(_ *cobra.Command, args []string) error {
		p.ran = true
		return count(p, args)
	}}
	sub.Flags().IntVar(&p.threads, "threads", 1, "")
	sub.Flags().StringVar(&p.dataDir, "data-dir", "here", "")
	sub.Flags().StringArrayVar(&p.place, "place", nil, "")
	p.root.AddCommand(sub, VersionCommand(p.app, Formats{Protocol: 3, Ledger: 2}))
	p.root.SetOut(&p.stdout)
	p.root.SetErr(&p.stderr)
	return p
}

func (p *program) run(args ...string) *program {
	p.root.SetArgs(args)
	p.code = p.app.Main()
	return p
}

func nothing(*program, []string) error { return nil }

// sideArgument parses the arguments as every command with a board does.
func sideArgument(_ *program, args []string) error {
	_, err := ParseN(args)
	return err
}

// wantUsage requires a usage error: exit 2, nothing on stdout, and one line on stderr that
// begins with the command and says what is wrong.
func (p *program) wantUsage(t *testing.T, says ...string) {
	t.Helper()
	line := p.stderr.String()
	if p.code != 2 || p.stdout.Len() > 0 {
		t.Errorf("exit %d with %q on stdout, want exit 2 and nothing", p.code, &p.stdout)
	}
	if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "tool") || len(line) > 500 {
		t.Errorf("stderr has %q, want one line from tool", line)
	}
	for _, part := range says {
		if !strings.Contains(line, part) {
			t.Errorf("stderr has %q, nothing of %q", line, part)
		}
	}
}

// The side of a board is one argument, a whole number from 1 to 32.
func TestParseN(t *testing.T) {
	for n := 1; n <= 32; n++ {
		if got, err := ParseN([]string{fmt.Sprint(n)}); got != n || err != nil {
			t.Errorf("Side(%d) = %d, %v", n, got, err)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "N is missing"},
		{[]string{}, "N is missing"},
		{[]string{"8", "9"}, "not 2"},
		{[]string{"8", "x", "9"}, "not 3"},
		{[]string{"0"}, `"0"`},
		{[]string{"33"}, `"33"`},
		{[]string{"-8"}, `"-8"`},
		{[]string{"4294967304"}, `"4294967304"`}, // 8 in 32 bits
		{[]string{"18446744073709551624"}, `"18446744073709551624"`},
		{[]string{"eight"}, `"eight"`},
		{[]string{""}, `""`},
		{[]string{" 8"}, `" 8"`},
		{[]string{"8\n"}, `"8\n"`},
		{[]string{"8.0"}, `"8.0"`},
		{[]string{"1e1"}, `"1e1"`},
		{[]string{"0x8"}, `"0x8"`},
		{[]string{"1_0"}, `"1_0"`},
		{[]string{"８"}, `"８"`},
		{[]string{"NaN"}, `"NaN"`},
	} {
		n, err := ParseN(c.args)
		if n != 0 || !errors.As(err, new(usageError)) {
			t.Errorf("Side(%q) = %d, %v, want a usage error", c.args, n, err)
			continue
		}
		if line := err.Error(); !strings.Contains(line, c.says) || strings.Contains(line, "\n") {
			t.Errorf("Side(%q): %q, want one line with %s", c.args, line, c.says)
		}
	}
}

// A usage error is one line, and the command does not run.
func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"count"}, []string{"tool count: ", "N is missing"}},
		{[]string{"count", "0"}, []string{"tool count: ", "from 1 to 32", `"0"`}},
		{[]string{"count", "8", "9"}, []string{"tool count: ", "one argument"}},
		{[]string{"count", "-5"}, []string{"tool count: ", "from 1 to 32", "-5"}},
		{[]string{"count", "-12"}, []string{"from 1 to 32", "-12"}},
		{[]string{"count", "--", "-5"}, []string{"from 1 to 32", "-5"}},
		{[]string{"count", "-x"}, []string{"tool count: ", "x"}},
		{[]string{"count", "--fast", "8"}, []string{"tool count: ", "--fast"}},
		{[]string{"count", "--threads"}, []string{"tool count: ", "--threads"}},
		{[]string{"count", "--threads", "many", "8"}, []string{"--threads", "many"}},
		{[]string{"frobnicate"}, []string{"tool: ", "frobnicate"}},
		{[]string{"--fast"}, []string{"tool: ", "--fast"}},
		{[]string{"count", "8", "--log-level", "loud"}, []string{"--log-level", "loud"}},
		{[]string{"count", "8", "--log-format", "xml"}, []string{"--log-format", "xml"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			newProgram(t, sideArgument).run(c.args...).wantUsage(t, c.says...)
		})
	}
}

// Help and version go to stdout, with exit code 0.
func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"count", "-h"}, {"help", "count"}, {"--version"}, {"version"}, {"version", "--json"}, {}} {
		p := newProgram(t, nothing).run(args...)
		if p.code != 0 || p.stdout.Len() == 0 || p.stderr.Len() > 0 || p.ran {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, p.code, &p.stdout, &p.stderr)
		}
	}
	if Version() == "" {
		t.Error("the program has no version")
	}
}

// A command without arguments rejects the first.
func TestNoArguments(t *testing.T) {
	if err := NoArguments(&cobra.Command{}, nil); err != nil {
		t.Error(err)
	}
	err := NoArguments(&cobra.Command{}, []string{"seven", "eight"})
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), `"seven"`) {
		t.Errorf("NoArguments says %v", err)
	}
}
