package cli

import (
	"errors"
	"strings"
	"testing"
)

// Text from elsewhere never controls the terminal: not in the message or the fields of a
// console log line, and not in a usage error.
func TestOutputIsSanitized(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	const owned = "a\x1b]0;owned\x07\u202e"
	for how, c := range map[string]struct {
		does func(p *program, args []string) error
		args []string
		says string
	}{
		"a message": {func(p *program, _ []string) error { p.app.Log.Warn().Msg("conflict: " + owned); return nil }, nil, "conflict: a?]0;owned??"},
		"a field":   {func(p *program, _ []string) error { p.app.Log.Warn().Str("by", owned).Msg("conflict"); return nil }, nil, `by="a\x1b]0;owned\a\u202e"`},
		"a cause":   {func(p *program, _ []string) error { p.app.Log.Warn().Err(errors.New(owned)).Msg(""); return nil }, nil, `error="a\x1b]0;owned\a\u202e"`},
		"the end":   {func(*program, []string) error { return errors.New("it is " + owned) }, nil, "ERR it is a?]0;owned?? exit=1"},
		"a mistake": {func(*program, []string) error { return Usagef("no run %s", owned) }, nil, "tool count: no run a?]0;owned??\n"},
		"a flag":    {nothing, []string{"--\x1b[2J=1"}, "unknown flag: --?[2J"},
	} {
		p := newProgram(t, c.does).run(append([]string{"count", "--log-format=auto"}, c.args...)...)
		if got := p.stderr.String(); !strings.Contains(got, c.says) || strings.ContainsAny(got, "\x1b\x07\u202e") {
			t.Errorf("%s is shown as %q, want %q in it", how, got, c.says)
		}
	}
}
