package display

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// style is how a text looks: the parameters of an SGR sequence (ECMA-48, 8.3.117), or ""
// for plain. All but the track of the bar are colors that a person's theme defines.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	good   style = "32"
	notice style = "33"
	alarm  style = "1;31"
	filled style = "36"
	track  style = "36;48;5;238" // a partly filled cell has both
)

// look is what the terminal can show and the person wants to see.
type look struct {
	color bool
	ascii bool
}

// The marks of a look: what stands between two texts, and where one is cut off.
func (l look) gap() string {
	if l.ascii {
		return " - "
	}
	return " · "
}

func (l look) ellipsis() string {
	if l.ascii {
		return "..."
	}
	return "…"
}

// piece is text of one style, without control characters.
type piece struct {
	text  string
	style style
}

// line is a row of the display before it is painted.
type line []piece

// cells returns how many cells of a terminal a text takes up.
func cells(text string) int { return uniseg.StringWidth(text) }

func (t line) width() int {
	width := 0
	for _, p := range t {
		width += cells(p.text)
	}
	return width
}

// paint returns the line as it is sent to the terminal.
func (t line) paint(l look) string {
	var b strings.Builder
	for _, p := range t {
		if !l.color || p.style == plain || strings.TrimSpace(p.text) == "" && p.style != track {
			b.WriteString(p.text)
			continue
		}
		b.WriteString("\x1b[" + string(p.style) + "m" + p.text + "\x1b[0m")
	}
	return b.String()
}

// fit cuts a line off at a width.
func (t line) fit(width int, l look) line {
	if t.width() <= width {
		return t
	}
	var kept line
	left := width
	for _, p := range t {
		if w := cells(p.text); w < left {
			kept = append(kept, p)
			left -= w
			continue
		}
		return append(kept, piece{cut(p.text+l.ellipsis(), left, l), p.style})
	}
	return kept
}

// cut shortens a text to a width, with an ellipsis as far as there is room for it.
func cut(text string, width int, l look) string {
	if cells(text) <= width {
		return text
	}
	end := l.ellipsis()
	if cells(end) > width {
		return strings.Repeat(".", max(0, width))
	}
	left := width - cells(end)
	var b strings.Builder
	for state := -1; text != ""; {
		var cluster string
		var w int
		cluster, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
		if left -= w; left < 0 {
			break
		}
		b.WriteString(cluster)
	}
	return b.String() + end
}

// longest is how many characters of a text from elsewhere are shown at most.
const longest = 200

// clean makes a text from elsewhere fit to be shown: nothing in it moves the cursor,
// changes colors, turns the direction of writing or is invisible. What may not be shown
// is a question mark.
func (l look) clean(text string) string {
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest])
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) || r == unicode.ReplacementChar || l.ascii && r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}

// part is one of several texts on a line. Where there is not room for all, those of the
// least rank stay.
type part struct {
	rank int
	text line
}

// choose returns which parts fit into a width with a gap of so many cells between them.
func choose(parts []part, width, gap int) []int {
	order := make([]int, len(parts))
	for i := range parts {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].rank, parts[b].rank) })
	var chosen []int
	for _, i := range order {
		needs := parts[i].text.width()
		if len(chosen) > 0 {
			needs += gap
		}
		if needs <= width || len(chosen) == 0 { // The first is cut off rather than left out.
			chosen = append(chosen, i)
			width -= needs
		}
	}
	slices.Sort(chosen)
	return chosen
}

// join puts the chosen parts side by side.
func join(parts []part, chosen []int, gap piece) line {
	var joined line
	for k, i := range chosen {
		if k > 0 {
			joined = append(joined, gap)
		}
		joined = append(joined, parts[i].text...)
	}
	return joined
}

// spaces returns so many of them, or none.
func spaces(n int) piece { return piece{strings.Repeat(" ", max(0, n)), plain} }
