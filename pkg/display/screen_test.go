package display

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// While the width of the terminal changes, it shows the complete log in order, the display once
// below, and nothing else.
func TestScreenThroughResizes(t *testing.T) {
	for _, c := range []struct{ reflows, tmux bool }{{true, false}, {true, true}, {false, false}} {
		for seed := range uint64(30) {
			t.Run(fmt.Sprintf("%+v/%d", c, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 6))
				widths := []int{50, 64, 80, 81, 100, 120, 200}
				const height = 60
				e := newEmulator(t, widths[rng.IntN(len(widths))], height, c.reflows)
				e.tmux = c.tmux
				s := &screen{out: e, reflows: c.reflows, tmux: c.tmux}
				longest := 300
				if !c.reflows {
					longest = 20 // longer ones would be truncated
				}
				var log []string
				for range 60 {
					if rng.IntN(3) == 0 {
						e.resize(widths[rng.IntN(len(widths))])
					}
					var lines []line
					var display []string
					if rng.IntN(10) > 0 {
						run := crowd(1 + rng.IntN(12))
						run.Elapsed.Duration = time.Duration(rng.IntN(3)) * time.Second
						if rng.IntN(2) == 0 {
							run.Waits = &queens.Wait{Reason: queens.NoWork}
						}
						lines = layout(run, e.width, height, false)
						display = strings.Split(strings.TrimSuffix(text(lines, false), "\n"), "\n")
					}
					var news strings.Builder
					for range rng.IntN(3) {
						log = append(log, fmt.Sprintf("line %d %s", len(log),
							strings.Repeat("x", 1+rng.IntN(longest-10))))
						news.WriteString(log[len(log)-1] + "\n")
					}
					s.draw([]byte(news.String()), lines, e.width)
					wantLines(t, e, append(slices.Clone(log), display...))
				}
			})
		}
	}
}

// wantLines compares lines, and fails the test at the first line that differs. On tmux, empty lines
// separate the log from the display.
func wantLines(t *testing.T, e *emulator, want []string) {
	t.Helper()
	got := e.lines()
	if isEmpty := func(line string) bool { return line == "" }; e.tmux {
		got, want = slices.DeleteFunc(got, isEmpty), slices.DeleteFunc(want, isEmpty)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Fatalf("%d lines on a terminal of %d columns, want %d; the first extra line is\n%s", len(got),
				e.width, len(want), got[i])
		case i >= len(got):
			t.Fatalf("%d lines on a terminal of %d columns, want %d; the first missing line is\n%s",
				len(got), e.width, len(want), want[i])
		case got[i] != want[i]:
			t.Fatalf("line %d on a terminal of %d columns is\n%s\nwant\n%s", i, e.width, got[i], want[i])
		}
	}
}

// The screen draws only changes.
func TestScreenDrawsOnlyChanges(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out}
	lines := layout(underWay(), 80, 24, false)
	s.draw(nil, nil, 80)
	if out.Len() > 0 {
		t.Errorf("%q is sent without anything to draw", out.String())
	}
	s.draw(nil, lines, 80)
	drawn := out.Len()
	s.draw(nil, lines, 80)
	if drawn == 0 || out.Len() > drawn {
		t.Errorf("%d bytes are sent, and %d more for the same again", drawn, out.Len()-drawn)
	}
	s.draw(nil, lines, 81)
	if out.Len() == drawn {
		t.Error("nothing is sent after a resize")
	}
}

// The environment says whether the terminal is tmux, and whether it reflows.
func TestKind(t *testing.T) {
	for _, c := range []struct {
		env           map[string]string
		tmux, reflows bool
	}{
		{nil, false, true},
		{map[string]string{"STY": "1.pts"}, false, false},
		{map[string]string{"XTERM_VERSION": "XTerm(390)"}, false, false},
		{map[string]string{"XTERM_VERSION": "XTerm(390)", "TMUX": "/tmp/tmux,1,0"}, true, true},
	} {
		tmux, reflows := kind(func(name string) string { return c.env[name] })
		if tmux != c.tmux || reflows != c.reflows {
			t.Errorf("%v: tmux %v, reflows %v", c.env, tmux, reflows)
		}
	}
}
