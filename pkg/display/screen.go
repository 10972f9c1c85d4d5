package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// screen is a terminal with the display on its last lines. The cursor stays at the start
// of the line below them and is never hidden: a process that is killed leaves the terminal
// as a person expects it.
type screen struct {
	out     io.Writer
	size    func() (width, height int) // in cells
	ours    func() bool                // this process is the one that may draw: it is in the foreground
	reflows bool                       // a line that has become too long goes on in the next row

	drawn  []string // the display as it was last written
	widths []int    // of its lines, in cells
	width  int      // of the terminal, at that time
}

// What is sent to the terminal besides text; see ECMA-48, 8.3.
const (
	startOfLine = "\r"
	up          = "\x1b[%dA" // CUU
	eraseLine   = "\x1b[2K"  // EL
	eraseBelow  = "\x1b[J"   // ED
	// eraseAll erases from this row on. Erasing all below from the first cell of the screen
	// would have tmux keep in its history what was there, so that begins a row further down.
	eraseAll = eraseLine + "\x1b[B" + eraseBelow + "\x1b[A" // EL CUD ED CUU
)

// draw writes lines of the log and below them the display, in place of the one there, in
// one piece. Without a change it writes nothing. A terminal that has gone away can't be
// told anything, so errors are no matter.
func (s *screen) draw(log []byte, lines []line, width int, l look) {
	painted := make([]string, len(lines))
	for i, line := range lines {
		painted[i] = line.paint(l)
	}
	resized := width != s.width && len(s.drawn) > 0
	if len(log) == 0 && slices.Equal(painted, s.drawn) && !resized {
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
	for _, text := range painted {
		b.WriteString(eraseLine + text + "\n") // row by row, so that nothing flickers
	}
	if len(lines) > 0 {
		b.WriteString(eraseBelow)
	}
	_, _ = io.WriteString(s.out, b.String())
	s.drawn, s.widths, s.width = painted, s.widths[:0], width
	for _, line := range lines {
		s.widths = append(s.widths, line.width())
	}
}

// forget leaves the display that was drawn where it is.
func (s *screen) forget() { s.drawn, s.widths = nil, nil }

// rows returns how many rows the display takes up by now. Where the terminal has become
// narrower and reflows, that is more than its lines.
func (s *screen) rows(width int) int {
	rows := len(s.drawn)
	if !s.reflows {
		return rows
	}
	for _, cells := range s.widths {
		rows += max(cells-1, 0) / width
	}
	return rows
}

// reflows reports whether the terminal reflows, as far as its environment tells: of those
// in wide use, xterm and GNU screen don't. What runs in tmux inside them does.
func reflows(getenv func(string) string) bool {
	return getenv("TMUX") != "" || getenv("XTERM_VERSION") == "" && getenv("STY") == ""
}

// ascii reports whether the locale is of a character set that has no block elements. Where
// none is named that is taken for UTF-8: containers have no locale, the terminals around
// them do.
func ascii(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			_, set, named := strings.Cut(locale, ".")
			return locale == "c" || locale == "posix" || named && !strings.HasPrefix(set, "utf-8") && !strings.HasPrefix(set, "utf8")
		}
	}
	return false
}
