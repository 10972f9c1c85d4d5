package display

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// style is the look of a text: the parameters of an SGR sequence (ECMA-48, 8.3.117), or "" for
// plain. The theme of the terminal defines all colors except that of the empty part of the bar.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	good   style = "32"
	notice style = "33"
	alarm  style = "1;31"
	filled style = "36"
	track  style = "36;48;5;238" // a partly filled cell has both colors
)

// separator stands between two texts on a line, and ellipsis where a text is cut off.
const separator, ellipsis = " · ", "…"

// narrow replaces each letter that might take more or less than one cell with a question mark.
func narrow(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x300 { // from here on, letters are combined, wide or right to left
			return '?'
		}
		return r
	}, text)
}

// span is text of one style, without control characters.
type span struct {
	text  string
	style style
}

// spaces returns n spaces, or none if n is negative.
func spaces(n int) span { return span{strings.Repeat(" ", max(0, n)), plain} }

// line is a row of the display.
type line []span

// cells returns how many cells of a terminal a text takes.
func cells(text string) int { return utf8.RuneCountInString(text) }

func (l line) width() (width int) {
	for _, s := range l {
		width += cells(s.text)
	}
	return width
}

// render returns the line as the terminal gets it.
func (l line) render(color bool) string {
	var b strings.Builder
	for _, s := range l {
		if !color || s.style == plain || strings.TrimSpace(s.text) == "" && s.style != track {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("\x1b[" + string(s.style) + "m" + s.text + "\x1b[0m")
	}
	return b.String()
}

// fit truncates a line to a width of at least 1, with an ellipsis.
func (l line) fit(width int) line {
	if l.width() <= width {
		return l
	}
	left := width - cells(ellipsis)
	for i, s := range l {
		if cells(s.text) > left {
			return append(l[:i:i], span{string([]rune(s.text)[:left]) + ellipsis, s.style})
		}
		left -= cells(s.text)
	}
	return l
}

// segment is one of several texts on a line. If there is not enough room, the segments with the
// highest priority numbers are left out first.
type segment struct {
	priority int
	text     line
}

// join puts the segments that fit into a width side by side, with a gap between them. The most
// important segment stays, however long it is.
func join(segments []segment, width int, gap span) line {
	for {
		var joined line
		last := 0 // the least important
		for i, s := range segments {
			if i > 0 {
				joined = append(joined, gap)
			}
			joined = append(joined, s.text...)
			if s.priority > segments[last].priority {
				last = i
			}
		}
		if joined.width() <= width || len(segments) == 1 {
			return joined
		}
		segments = slices.Delete(slices.Clone(segments), last, last+1)
	}
}
