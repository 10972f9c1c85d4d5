package display

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// style is the look of a text: the parameters of an SGR sequence (ECMA-48, 8.3.117), or ""
// for plain. The person's theme of the terminal defines all colors but the bar's track.
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

// theme is what the terminal can show and the person wants to see.
type theme struct {
	color bool
	ascii bool
}

// separator stands between two texts on a line.
func (t theme) separator() string { return t.either(" · ", " - ") }

// ellipsis stands where a text is cut off.
func (t theme) ellipsis() string { return t.either("…", "...") }

func (t theme) either(unicode, ascii string) string {
	if t.ascii {
		return ascii
	}
	return unicode
}

// span is text of one style, without control characters.
type span struct {
	text  string
	style style
}

// spaces returns n spaces; none if n is negative.
func spaces(n int) span { return span{strings.Repeat(" ", max(0, n)), plain} }

// line is a row of the display.
type line []span

// cells returns how many cells of a terminal a text takes up.
func cells(text string) int { return uniseg.StringWidth(text) }

func (l line) width() int {
	width := 0
	for _, s := range l {
		width += cells(s.text)
	}
	return width
}

// render returns the line as the terminal gets it.
func (l line) render(t theme) string {
	var b strings.Builder
	for _, s := range l {
		if !t.color || s.style == plain || strings.TrimSpace(s.text) == "" && s.style != track {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("\x1b[" + string(s.style) + "m" + s.text + "\x1b[0m")
	}
	return b.String()
}

// fit truncates a line to a width, with an ellipsis if there is room for it.
func (l line) fit(width int, t theme) line {
	if l.width() <= width {
		return l
	}
	end := t.ellipsis()
	if cells(end) > width {
		end = strings.Repeat(".", max(0, width))
	}
	left := width - cells(end)
	for i, s := range l {
		if w := cells(s.text); w <= left {
			left -= w
			continue
		}
		kept := ""
		for g := uniseg.NewGraphemes(s.text); g.Next() && g.Width() <= left; left -= g.Width() {
			kept += g.Str()
		}
		return append(l[:i:i], span{kept + end, s.style})
	}
	return l
}

// align pads a line to a width, on its right or left side.
func (l line) align(width int, left bool) line {
	padding := spaces(width - l.width())
	if left {
		return append(l, padding)
	}
	return append(line{padding}, l...)
}

// inCharset returns a text in the characters of the terminal: a question mark replaces the others.
func (t theme) inCharset(text string) string {
	return strings.Map(func(r rune) rune {
		if t.ascii && r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}

// segment is one of several texts on a line. If there is not room for all, those with the
// lowest priority numbers stay.
type segment struct {
	priority int
	text     line
}

// fitSegments returns the indices of the segments that fit into a width with a gap of so
// many cells between them, in ascending order.
func fitSegments(segments []segment, width, gap int) []int {
	order := make([]int, len(segments))
	for i := range segments {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(segments[a].priority, segments[b].priority) })
	var chosen []int
	width += gap // before the first there is none
	for _, i := range order {
		needed := gap + segments[i].text.width()
		if needed <= width || len(chosen) == 0 { // the first is truncated, not dropped
			chosen = append(chosen, i)
			width -= needed
		}
	}
	slices.Sort(chosen)
	return chosen
}

// join puts the chosen segments side by side.
func join(segments []segment, chosen []int, gap span) line {
	var joined line
	for k, i := range chosen {
		if k > 0 {
			joined = append(joined, gap)
		}
		joined = append(joined, segments[i].text...)
	}
	return joined
}
