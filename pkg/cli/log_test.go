package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/humanize"
)

// speak logs a line at each level.
func speak(p *program, _ []string) error {
	p.app.Log.Debug().Msg("debug")
	p.app.Log.Info().Int("n", 8).Msg("info")
	p.app.Log.Warn().Msg("warn")
	p.app.Log.Error().Msg("error")
	return nil
}

// The log goes to stderr, from its lowest level on. It is JSON with the time on request.
func TestLogLevels(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"info", "warn", "error"}},
		{[]string{"--log-level=debug"}, []string{"debug", "info", "warn", "error"}},
		{[]string{"--log-level=info"}, []string{"info", "warn", "error"}},
		{[]string{"--log-level=warn"}, []string{"warn", "error"}},
		{[]string{"--log-level=error"}, []string{"error"}},
		{[]string{"-q"}, []string{"error"}},
		{[]string{"--quiet", "--log-level=debug"}, []string{"error"}},
	} {
		p := newProgram(t, speak).run(append(c.args, "count", "--log-format=json")...)
		var got []string
		for lines := bufio.NewScanner(&p.stderr); lines.Scan(); {
			var line struct{ Level, Message, Time string }
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Level != line.Message {
				t.Errorf("%v: line %q (error %v)", c.args, lines.Text(), err)
			}
			if _, err := time.Parse(time.RFC3339, line.Time); err != nil {
				t.Errorf("%v: line %q: %v", c.args, lines.Text(), err)
			}
			got = append(got, line.Level)
		}
		if p.code != 0 || p.stdout.Len() > 0 || !slices.Equal(got, c.want) {
			t.Errorf("%v: exit %d, stdout %q, levels %v, want %v", c.args, p.code, &p.stdout, got, c.want)
		}
	}
}

// The log for people is plain text, without colors where stderr is not a terminal.
func TestLogForPeople(t *testing.T) {
	p := newProgram(t, speak).run("count", "--log-format", "auto")
	lines := strings.Split(strings.TrimSuffix(p.stderr.String(), "\n"), "\n")
	if p.code != 0 || len(lines) != 3 || !strings.Contains(lines[0], "INF info n=8") {
		t.Errorf("exit %d, log %q", p.code, lines)
	}
	if bytes.ContainsAny(p.stderr.Bytes(), "\x1b{}") {
		t.Errorf("log %q has colours or JSON", &p.stderr)
	}
}

// People read the text of a line that has one, and its fields only when they debug; programs read all. Lines that are
// told are for people who read the log.
func TestLogLinesWithAText(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	measure := func(p *program, _ []string) error {
		p.app.Log.Info().Float64("elapsed_s", 90).Str(humanize.LogField, "21.0%  4 workers\x1b").Msg("progress")
		if p.app.Tell("to resume: a\n") {
			return nil
		}
		p.app.Log.Warn().Msg("not told")
		return nil
	}
	for _, c := range []struct{ args, pattern string }{
		{"--log-format json", `^{"level":"info","elapsed_s":90,"text":.*"message":"progress"}\n{.*"not told"}\n$`},
		{"--log-format auto", `^..:..:.. INF 21.0%  4 workers\?\nto resume: a\n$`},
		{"--log-format auto --log-level debug", `^..:..:.. INF 21.0%  4 workers\? elapsed_s=90\nto resume: a\n$`},
		{"--log-format auto --log-level warn", `^..:..:.. WRN not told\n$`},
		{"--log-format auto -q", `^$`},
	} {
		p := newProgram(t, measure).run(append([]string{"count"}, strings.Fields(c.args)...)...)
		if got := p.stderr.String(); !regexp.MustCompile(c.pattern).MatchString(got) {
			t.Errorf("%s: got %q, want %s", c.args, got, c.pattern)
		}
	}
}

// An unknown level or format is a usage error, even if zerolog knows it.
func TestLogSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--log-level="}, {"--log-level=trace"}, {"--log-level=fatal"}, {"--log-level=panic"}, {"--log-level=disabled"},
		{"--log-level=INFO"}, {"--log-level=1"}, {"--log-level=-1"}, {"--log-level=info,debug"},
		{"--log-format="}, {"--log-format=console"}, {"--log-format=JSON"}, {"--log-format=text"}, {"--log-format=logfmt"},
	} {
		t.Run(args[0], func(t *testing.T) {
			flag, value, _ := strings.Cut(args[0], "=")
			p := newProgram(t, speak).run(append(args, "count")...)
			p.wantUsage(t, flag, `"`+value+`"`)
			if p.ran {
				t.Error("the command ran")
			}
		})
	}
}
