package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newFlags returns a program whose command try has a flag of each kind.
func newFlags(t *testing.T) *program {
	p := newProgram(t, nothing)
	try := &cobra.Command{Use: "try", Args: NoArguments, RunE: func(*cobra.Command, []string) error { p.ran = true; return nil }}
	flags := try.Flags()
	flags.Int("depth", 0, "")
	flags.Uint64("seed", 0, "")
	flags.Float64("share", 0, "")
	flags.Bool("json", false, "")
	flags.Duration("for", time.Second, "")
	flags.String("data", "", "")
	flags.Var(NewEnum(new(string), "full", "full", "mirror"), "symmetry", "")
	p.root.AddCommand(try)
	return p
}

// A usage error says what the value of the flag must be, and suggests the nearest flag, word
// or command.
func TestFlagErrors(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"try --depth two", `--depth must be a whole number, not "two"`},
		{"try --depth 1.5", `--depth must be a whole number, not "1.5"`},
		{"try --depth=", `--depth must be a whole number, not ""`},
		{"try --depth 99999999999999999999", `--depth must be a whole number that is not so large, not "99999999999999999999"`},
		{"try --seed -1", `--seed must be a whole number from 0, not "-1"`},
		{"try --share half", `--share must be a number, not "half"`},
		{"try --json=perhaps", `--json must be true or false, not "perhaps"`},
		{"try --for 5", `--for must be a duration, such as 90s or 5m, not "5"`},
		{"try --symmetry rotate", `--symmetry must be full or mirror, not "rotate"`},
		{"try --symmetry miror", `--symmetry must be full or mirror, not "miror": did you mean mirror?`},
		{"try --data", `flag needs an argument: --data`},
		{"try --dept 3", `unknown flag: --dept: did you mean --depth?`},
		{"try --symmetryy=full", `unknown flag: --symmetryy: did you mean --symmetry?`},
		{"try --log-levl info", `unknown flag: --log-levl: did you mean --log-level?`},
		{"try --hlep", `unknown flag: --hlep: did you mean --help?`},
		{"try --fast", `unknown flag: --fast`},
		{"try -json", `unknown shorthand flag: 'j' in -json: did you mean --json?`},
		{"try -x", `unknown shorthand flag: 'x' in -x`},
		{"try -7", `N must be a whole number from 1 to 32, not -7`},
		{"try --=1", `bad flag syntax: --=1`},
		{"cuont 8", `unknown command or argument "cuont": did you mean count?`},
		{"frobnicate", `unknown command or argument "frobnicate": see tool --help`},
		{"start", `unknown command or argument "start": did you mean count?`},
		{"try count", `unknown command or argument "count": see tool try --help`},
		{"help cuont", `unknown command or argument "cuont": did you mean count?`},
		{"help count 8", `unknown command or argument "8": see tool count --help`},
	} {
		t.Run(c.args, func(t *testing.T) {
			p := newFlags(t).run(strings.Split(c.args, " ")...)
			p.wantUsage(t)
			if _, says, _ := strings.Cut(p.stderr.String(), ": "); says != c.says+"\n" || p.ran {
				t.Errorf("it says %q, want %q; it ran: %v", says, c.says, p.ran)
			}
		})
	}
}

// A usage error caused by the environment names the variable, and no other that is set.
func TestVariablesAreNamed(t *testing.T) {
	for _, c := range []struct{ variable, value, says string }{
		{"NQUEENS_DEPTH", "two", `--depth must be a whole number, not "two" (set by NQUEENS_DEPTH)`},
		{"NQUEENS_DEPTH", " ", `--depth must be a whole number, not " " (set by NQUEENS_DEPTH)`},
		{"NQUEENS_SYMMETRY", "miror", `--symmetry must be full or mirror, not "miror": did you mean mirror? (set by NQUEENS_SYMMETRY)`},
		{"NQUEENS_LOG_LEVEL", "loud", `--log-level must be debug, info, warn or error, not "loud" (set by NQUEENS_LOG_LEVEL)`},
	} {
		p := newFlags(t)
		t.Setenv("NQUEENS_JSON", "true")
		t.Setenv(c.variable, c.value)
		p.run("try").wantUsage(t, "tool try: "+c.says)
	}
	// A range is checked by the command itself.
	p := newProgram(t, func(p *program, _ []string) error { return CheckRange("threads", p.threads, 1, 4) })
	t.Setenv("NQUEENS_THREADS", "9")
	p.run("count").wantUsage(t, "--threads must be from 1 to 4, not 9 (set by NQUEENS_THREADS)")
	p = newProgram(t, func(p *program, _ []string) error { return CheckRange("threads", p.threads, 1, 4) })
	p.run("count", "--threads=8").wantUsage(t, "--threads must be from 1 to 4, not 8\n")
	// --data-dir is another flag than --data.
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("data", "", "")
	t.Setenv("NQUEENS_DATA", "here")
	if err := fromEnvironment(flags); err != nil {
		t.Fatal(err)
	}
	if text := "--data-dir is wrong"; withEnvSource(flags, text) != text {
		t.Errorf("blamed says %q", withEnvSource(flags, text))
	}
}
