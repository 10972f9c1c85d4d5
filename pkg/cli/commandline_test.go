package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// The program is started again with the word with which it was started, or by go run.
func TestProgram(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"coordinator":                           {"coordinator"},
		"bin/coordinator":                       {"bin/coordinator"},
		"/opt/a b/nqueens-coordinator":          {"/opt/a b/nqueens-coordinator"},
		"/tmp/go-build123/b001/exe/coordinator": {"go", "run", "./coordinator"},
	} {
		if got := programWords(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A flag that needs no value gets none, or one with an equals sign.
func TestFlagWords(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Bool("unique", false, "")
	flags.String("data", "", "")
	for _, c := range []struct {
		flag, value string
		want        []string
	}{{"unique", "true", []string{"--unique"}}, {"unique", "false", []string{"--unique=false"}}, {"data", "-d", []string{"--data", "-d"}}} {
		if got := FlagWords(flags.Lookup(c.flag), c.value); !slices.Equal(got, c.want) || flags.Parse(got) != nil || flags.Lookup(c.flag).Value.String() != c.value {
			t.Errorf("%s %s: %q, want %q", c.flag, c.value, got, c.want)
		}
	}
}
