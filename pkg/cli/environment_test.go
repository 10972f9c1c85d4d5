package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A flag that is not on the command line takes its value from NQUEENS_<NAME>. The command
// line has precedence.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name        string
		environment string
		args        []string
		holds       func(p *program) bool
	}{
		{
			"nothing is set", "", nil,
			func(p *program) bool {
				return p.threads == 1 && p.dataDir == "here" && !p.app.NoProgress && p.place == nil
			},
		},
		{"a number", "NQUEENS_THREADS=4", nil, func(p *program) bool { return p.threads == 4 }},
		{"a dash is an underscore", "NQUEENS_DATA_DIR=/there", nil, func(p *program) bool { return p.dataDir == "/there" }},
		// Docker Compose passes a variable that is not set as one that is empty.
		{"an empty text is none", "NQUEENS_DATA_DIR=", nil, func(p *program) bool { return p.dataDir == "here" }},
		{"an empty number is none", "NQUEENS_THREADS=", nil, func(p *program) bool { return p.threads == 1 }},
		{"an empty word is none", "NQUEENS_LOG_LEVEL=", nil, func(p *program) bool { return p.app.Log.GetLevel() == zerolog.InfoLevel }},
		{"an empty list is none", "NQUEENS_PLACE=", nil, func(p *program) bool { return p.place == nil }},
		{"an empty text is a text on the command line", "", []string{"--data-dir="}, func(p *program) bool { return p.dataDir == "" }},
		{"a list", "NQUEENS_PLACE=0,1", nil, func(p *program) bool { return slices.Equal(p.place, []string{"0,1"}) }},
		{"a flag of all commands", "NQUEENS_NO_PROGRESS=true", nil, func(p *program) bool { return p.app.NoProgress }},
		{
			"the log", "NQUEENS_LOG_LEVEL=error", nil,
			func(p *program) bool { return p.app.Log.GetLevel() == zerolog.ErrorLevel },
		},
		{"a flag wins", "NQUEENS_THREADS=4", []string{"--threads=2"}, func(p *program) bool { return p.threads == 2 }},
		{"a flag set to its default wins", "NQUEENS_THREADS=4", []string{"--threads=1"}, func(p *program) bool { return p.threads == 1 }},
		{"a flag wins over garbage", "NQUEENS_THREADS=many", []string{"--threads=2"}, func(p *program) bool { return p.threads == 2 }},
		{
			"a list of flags wins whole", "NQUEENS_PLACE=0,1", []string{"--place=1,3", "--place=2,0"},
			func(p *program) bool { return slices.Equal(p.place, []string{"1,3", "2,0"}) },
		},
		{"other variables are not ours", "NQUEENS_FAST=1", nil, func(p *program) bool { return p.threads == 1 }},
		{"names without prefix are not ours", "THREADS=4", nil, func(p *program) bool { return p.threads == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram(t, nothing)
			if name, value, ok := strings.Cut(c.environment, "="); ok {
				t.Setenv(name, value)
			}
			p.run(append([]string{"count"}, c.args...)...)
			if p.code != 0 || !p.ran || !c.holds(p) {
				t.Errorf("exit %d, threads %d, data-dir %q, place %q, no-progress %v, log level %v, stderr %q",
					p.code, p.threads, p.dataDir, p.place, p.app.NoProgress, p.app.Log.GetLevel(), &p.stderr)
			}
		})
	}
}

// A flag that the environment sets counts as changed.
func TestEnvironmentMarksFlagsAsChanged(t *testing.T) {
	for _, set := range []bool{true, false} {
		p := newProgram(t, func(p *program, _ []string) error {
			count, _, err := p.root.Find([]string{"count"})
			if got := count.Flags().Changed("threads"); got != set {
				t.Errorf("set by the environment: %v, and the flag says %v", set, got)
			}
			return err
		})
		if set {
			t.Setenv("NQUEENS_THREADS", "1")
		}
		p.run("count")
	}
}

// A wrong value in the environment is a usage error that names the variable, and the command
// does not run.
func TestGarbageInTheEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, value, says string }{
		{"NQUEENS_THREADS", "many", "NQUEENS_THREADS"},
		{"NQUEENS_THREADS", " ", "NQUEENS_THREADS"},
		{"NQUEENS_THREADS", "4\n5", "NQUEENS_THREADS"},
		{"NQUEENS_THREADS", "99999999999999999999", "NQUEENS_THREADS"},
		{"NQUEENS_NO_PROGRESS", "perhaps", "NQUEENS_NO_PROGRESS"},
		{"NQUEENS_LOG_LEVEL", "loud", "loud"},
		{"NQUEENS_LOG_FORMAT", "xml", "xml"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			p := newProgram(t, nothing)
			t.Setenv(c.variable, c.value)
			p.run("count").wantUsage(t, c.says)
			if p.ran {
				t.Error("the command ran")
			}
		})
	}
}

// A misspelt variable is named once, with what was probably meant. Those of other flags of the
// program, of its tests and of other programs are not.
func TestMisspeltVariables(t *testing.T) {
	for _, c := range []struct{ variable, means string }{
		{"NQUEENS_THREDS", "NQUEENS_THREADS"},
		{"NQUEENS_LOGLEVEL", "NQUEENS_LOG_LEVEL"},
		{"NQUEENS_log_level", ""}, // as people write it for some programs, and Windows reads it
		{"NQUEENS_DATADIR", "NQUEENS_DATA_DIR"},
		{"NQUEENS_THREADS", ""},
		{"NQUEENS_JSON", ""}, // of another command
		{"NQUEENS_TEST_FULL", ""},
		{"NQUEENS_REQUIRE_KERNEL", ""},
		{"NQUEENS_WITHOUT_DOCKER", ""},
		{"NQUEENS_", ""},
		{"NQUEEN_THREADS", ""},
	} {
		p := newProgram(t, nothing)
		t.Setenv(c.variable, "1")
		p.run("count", "--log-level", "info")
		want := ""
		if c.means != "" {
			want = `{"level":"warn","variable":"` + c.variable + `",`
		}
		got := p.stderr.String()
		if p.code != 0 || !strings.HasPrefix(got, want) || strings.Count(got, "\n") != min(len(want), 1) ||
			want != "" && !strings.HasSuffix(got, ": did you mean "+c.means+"?\"}\n") {
			t.Errorf("%s: exit %d, stderr %q", c.variable, p.code, got)
		}
		p = newProgram(t, nothing)
		t.Setenv(c.variable, "")
		if p.run("count"); p.stderr.Len() > 0 {
			t.Errorf("%s is empty: stderr %q", c.variable, &p.stderr)
		}
	}
}
