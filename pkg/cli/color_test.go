package cli

import (
	"strings"
	"testing"
)

// Text for people has colors if --color says so, or if the environment does: NO_COLOR precedes
// CLICOLOR_FORCE. A log for programs has none, and nor has what is no terminal.
func TestColors(t *testing.T) {
	for _, c := range []struct {
		name        string
		environment string
		args        string
		want        bool
	}{
		{"no terminal", "", "", false},
		{"always", "", "--color always", true},
		{"always, by the environment", "NQUEENS_COLOR=always", "", true},
		{"always, without colors in the environment", "NO_COLOR=1", "--color always", true},
		{"always, dumb", "TERM=dumb", "--color always", true},
		{"always, JSON", "", "--color always --log-format json", false},
		{"forced", "CLICOLOR_FORCE=1", "", true},
		{"forced, empty", "CLICOLOR_FORCE=", "", false},
		{"forced, zero", "CLICOLOR_FORCE=0", "", false},
		{"forced, and never", "CLICOLOR_FORCE=1", "--color never", false},
		{"forced, and none", "CLICOLOR_FORCE=1 NO_COLOR=1", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram(t, speak)
			for _, name := range []string{"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"} {
				t.Setenv(name, "")
			}
			for _, setting := range strings.Fields(c.environment) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			p.run(append([]string{"count", "--log-format", "auto"}, strings.Fields(c.args)...)...)
			if got := strings.Contains(p.stderr.String(), "\x1b["); p.code != 0 || got != c.want {
				t.Errorf("exit %d, colors: %v, want %v; stderr %q", p.code, got, c.want, &p.stderr)
			}
		})
	}
}
