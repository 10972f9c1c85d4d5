package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// speak logs a line at each level.
func speak(p *program, _ []string) error {
	p.app.Log.Debug().Msg("debug")
	p.app.Log.Info().Int("n", 8).Msg("info")
	p.app.Log.Warn().Msg("warn")
	p.app.Log.Error().Msg("error")
	return nil
}

// The log goes to stderr, from its lowest level on. It is JSON with the time where stderr is
// not a terminal, or on request.
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
		for _, format := range []string{"--log-format=json", "--log-format=auto"} {
			p := newProgram(t, speak).run(append(c.args, "count", format)...)
			var got []string
			for lines := bufio.NewScanner(&p.stderr); lines.Scan(); {
				var line struct{ Level, Message, Time string }
				if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Level != line.Message {
					t.Errorf("%v %s: line %q (error %v)", c.args, format, lines.Text(), err)
				}
				if _, err := time.Parse(time.RFC3339, line.Time); err != nil {
					t.Errorf("%v %s: line %q: %v", c.args, format, lines.Text(), err)
				}
				got = append(got, line.Level)
			}
			if p.code != 0 || p.stdout.Len() > 0 || !slices.Equal(got, c.want) {
				t.Errorf("%v %s: exit %d, stdout %q, levels %v, want %v", c.args, format, p.code, &p.stdout, got, c.want)
			}
		}
	}
}

// The console format is plain text, without colors where stderr is not a terminal.
func TestLogForPeople(t *testing.T) {
	p := newProgram(t, speak).run("count", "--log-format", "console", "--log-level", "info")
	lines := strings.Split(strings.TrimSuffix(p.stderr.String(), "\n"), "\n")
	if p.code != 0 || len(lines) != 3 || !strings.Contains(lines[0], "INF info n=8") {
		t.Errorf("exit %d, log %q", p.code, lines)
	}
	if bytes.ContainsAny(p.stderr.Bytes(), "\x1b{}") {
		t.Errorf("log %q has colours or JSON", &p.stderr)
	}
}

// Fields that end in _s, with times for programs, are in JSON and not in the console format,
// which has other fields with these times.
func TestSecondsAreForPrograms(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	measure := func(p *program, _ []string) error {
		p.app.Log.Info().Str("elapsed", "1m30s").Float64("elapsed"+SecondsSuffix, 90).Int("tasks", 3).Int("s", 4).Msg("progress")
		return nil
	}
	p := newProgram(t, measure).run("count", "--log-format", "json")
	var line map[string]any
	if err := json.Unmarshal(p.stderr.Bytes(), &line); err != nil || line["elapsed"] != "1m30s" || line["elapsed_s"] != 90.0 || line["tasks"] != 3.0 || line["s"] != 4.0 {
		t.Errorf("programs read %q (error %v)", &p.stderr, err)
	}
	p = newProgram(t, measure).run("count", "--log-format", "console")
	if line := p.stderr.String(); !strings.HasSuffix(line, " INF progress tasks=3 elapsed=1m30s s=4\n") {
		t.Errorf("people read %q", line)
	}
}

// An unknown level or format is a usage error, even if zerolog knows it.
func TestLogSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--log-level="}, {"--log-level=trace"}, {"--log-level=fatal"}, {"--log-level=panic"}, {"--log-level=disabled"},
		{"--log-level=INFO"}, {"--log-level=1"}, {"--log-level=-1"}, {"--log-level=info,debug"},
		{"--log-format="}, {"--log-format=JSON"}, {"--log-format=text"}, {"--log-format=logfmt"},
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
