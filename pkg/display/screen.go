package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// screen is a terminal with the display on its last lines. The cursor stays at the start of the
// line below the display and is never hidden, so that a killed process leaves the terminal usable.
type screen struct {
	out          io.Writer
	size         func() (width, height int) // in cells
	isForeground func() bool                // whether this process may draw
	wasSuspended func() bool                // whether it was, since the last call
	color        bool
	reflows      bool // whether the terminal wraps lines again when it becomes narrower
	// tmux is whether the terminal is tmux. When it becomes narrower, it moves a row into its history
	// for each row that wraps, even while rows below the cursor are empty. Nothing can erase rows
	// there, and they come back when it becomes wider. So no row below the display may be empty.
	tmux bool

	drawn []string // the lines on the screen
	lines []line   // the same lines, not rendered
	width int      // of the terminal when they were drawn
}

// Control sequences; see ECMA-48, 8.3.
const (
	startOfLine = "\r"
	up          = "\x1b[%dA"  // CUU
	toLastRow   = "\x1b[999B" // CUD stops at the last row
	eraseLine   = "\x1b[2K"   // EL
	eraseBelow  = "\x1b[J"    // ED
	// eraseAll erases from this row on. If ED starts at the first cell of the screen, tmux
	// keeps the erased text in its history, so ED starts one row further down.
	eraseAll = eraseLine + "\x1b[B" + eraseBelow + "\x1b[A" // EL CUD ED CUU
)

// draw writes lines of the log in place of the old display, and the new display below them, in one
// write. It writes nothing if nothing has changed. It ignores errors: a closed terminal can't show
// them.
func (s *screen) draw(log []byte, lines []line, width int) {
	rendered := make([]string, len(lines))
	for i, l := range lines {
		rendered[i] = l.render(s.color)
	}
	resized := width != s.width && len(s.drawn) > 0
	if len(log) == 0 && slices.Equal(rendered, s.drawn) && !resized {
		return
	}
	var b strings.Builder
	if rows := s.rows(width); rows > 0 {
		fmt.Fprintf(&b, startOfLine+up, rows)
		if len(log) > 0 || len(lines) == 0 {
			b.WriteString(eraseAll)
		}
	}
	b.Write(log)
	if s.tmux && len(s.drawn) == 0 && len(lines) > 0 {
		b.WriteString(strings.Repeat("\n", len(lines)))
		fmt.Fprintf(&b, toLastRow+up, len(lines))
	}
	for _, text := range rendered {
		b.WriteString(eraseLine + text + "\n") // row by row, to avoid flicker
	}
	if len(lines) > 0 {
		b.WriteString(eraseBelow)
	}
	_, _ = io.WriteString(s.out, b.String())
	s.drawn, s.lines, s.width = rendered, lines, width
}

// forget makes the next drawing leave the old display where it is.
func (s *screen) forget() { s.drawn, s.lines = nil, nil }

// rows returns how many rows the old display takes now. If the terminal has become narrower and
// reflows, the display takes more rows than it has lines.
func (s *screen) rows(width int) int {
	rows := len(s.drawn)
	for _, l := range s.lines {
		if s.reflows {
			rows += max(l.width()-1, 0) / width
		}
	}
	return rows
}

// kind returns whether the terminal is tmux, and whether it reflows, according to the environment
// variables. All common terminals reflow, except xterm and GNU screen. tmux reflows even inside
// these two.
func kind(getenv func(string) string) (tmux, reflows bool) {
	tmux = getenv("TMUX") != ""
	return tmux, tmux || getenv("XTERM_VERSION") == "" && getenv("STY") == ""
}
