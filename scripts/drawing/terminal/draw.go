package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Lengths in pixels. The cell fits monospaced fonts of that size, the letters of which
// are 0.6 wide; text of other fonts is stretched to its cells.
const (
	fontSize   = 15
	cellWidth  = 9
	cellHeight = 19
	baseline   = 14 // from the top of a cell
	margin     = 12
	titleBar   = 30
)

// draw returns the picture of a window with that screen.
func draw(rows [][]cell, columns int, title string) []byte {
	w := new(bytes.Buffer)
	width := 2*margin + float64(columns)*cellWidth
	height := titleBar + 2*margin + float64(len(rows))*cellHeight
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString("A terminal: "+title))
	fmt.Fprintf(w, `<style>text { font: %dpx ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; } .bold { font-weight: bold; } .italic { font-style: italic; } rect, path { shape-rendering: crispEdges; } .frame, .round { shape-rendering: auto; }</style>`+"\n", fontSize)
	fmt.Fprintf(w, `<rect class="frame" x="0.5" y="0.5" width="%g" height="%g" rx="8" fill="%s" stroke="#56637a"/>`+"\n", width-1, height-1, ground)
	fmt.Fprintf(w, `<path d="M1 %d.5 H%g" stroke="#2e3846"/>`+"\n", titleBar, width-1)
	for i := range 3 {
		fmt.Fprintf(w, `<circle cx="%d" cy="%d" r="5" fill="#3a4453"/>`+"\n", 20+18*i, titleBar/2)
	}
	fmt.Fprintf(w, `<text x="%g" y="20" fill="#97a5bd" text-anchor="middle">%s</text>`+"\n", width/2, html.EscapeString(title))
	fmt.Fprintf(w, `<g transform="translate(%d %d)">`+"\n", margin, titleBar+margin)
	for y, row := range rows {
		drawRow(w, row, float64(y)*cellHeight)
	}
	fmt.Fprint(w, "</g>\n</svg>\n")
	return w.Bytes()
}

// drawRow draws what is behind the cells of a row, then what is in them.
func drawRow(w *bytes.Buffer, row []cell, top float64) {
	runs(row, func(c cell) (string, bool) {
		back, _ := c.style.colours()
		return back, back != ""
	}, func(from, to int) {
		back, _ := row[from].style.colours()
		rect(w, at(from), top, at(to), top+cellHeight, back, 1)
	})
	runs(row, func(c cell) (style, bool) { return c.style, c.style.underline || c.style.struck }, func(from, to int) {
		s := row[from].style
		_, front := s.colours()
		if s.underline {
			rect(w, at(from), top+baseline+2, at(to), top+baseline+3, front, 1)
		}
		if s.struck {
			rect(w, at(from), top+9, at(to), top+10, front, 1)
		}
	})
	// Shapes of a kind beside each other are one; letters are drawn by words, so that each
	// begins exactly in its cell.
	type kind struct {
		style style
		shape string
	}
	runs(row, func(c cell) (kind, bool) {
		if shape(c.text) {
			return kind{c.style, c.text}, true
		}
		return kind{style: c.style}, c.text != " "
	}, func(from, to int) {
		if shape(row[from].text) {
			drawShape(w, row[from], from, to, top)
		} else {
			drawText(w, row[from:to], from, top)
		}
	})
}

// runs calls do for each run of cells that are wanted and of the same kind.
func runs[K comparable](row []cell, kind func(cell) (of K, wanted bool), do func(from, to int)) {
	for from := 0; from < len(row); {
		of, wanted := kind(row[from])
		to := from + 1
		for ; to < len(row); to++ {
			if next, also := kind(row[to]); next != of || also != wanted {
				break
			}
		}
		if wanted {
			do(from, to)
		}
		from = to
	}
}

func at(column int) float64 { return float64(column) * cellWidth }

func rect(w *bytes.Buffer, left, top, right, bottom float64, fill string, opacity float64) {
	fmt.Fprintf(w, `<rect x="%.6g" y="%.6g" width="%.6g" height="%.6g" fill="%s"`, left, top, right-left, bottom-top, fill)
	if opacity < 1 {
		fmt.Fprintf(w, ` fill-opacity="%g"`, opacity)
	}
	fmt.Fprint(w, "/>\n")
}

func drawText(w *bytes.Buffer, word []cell, from int, top float64) {
	s := word[0].style
	_, front := s.colours()
	var text strings.Builder
	for _, c := range word {
		text.WriteString(c.text)
	}
	fmt.Fprintf(w, `<text x="%.6g" y="%.6g" textLength="%.6g" lengthAdjust="spacingAndGlyphs" fill="%s"`, at(from), top+baseline, at(len(word)), front)
	var classes []string
	if s.bold {
		classes = append(classes, "bold")
	}
	if s.italic {
		classes = append(classes, "italic")
	}
	if classes != nil {
		fmt.Fprintf(w, ` class="%s"`, strings.Join(classes, " "))
	}
	fmt.Fprintf(w, ">%s</text>\n", html.EscapeString(text.String()))
}

// shape tells whether a cell's text is one of the characters drawn as shapes.
func shape(text string) bool {
	characters := []rune(text)
	if len(characters) != 1 {
		return false
	}
	r := characters[0]
	_, line := lines[r]
	_, corner := corners[r]
	return line || corner || blocks(r) != nil
}

// drawShape draws the character of a cell into the cells from..to-1.
func drawShape(w *bytes.Buffer, c cell, from, to int, top float64) {
	_, front := c.style.colours()
	r := []rune(c.text)[0]
	if areas := blocks(r); len(areas) == 1 && areas[0].left == 0 && areas[0].right == 8 {
		a := areas[0]
		rect(w, at(from), top+cellHeight*a.top/8, at(to), top+cellHeight*a.bottom/8, front, a.density)
		return
	}
	for column := from; column < to; column++ {
		left := at(column)
		for _, a := range blocks(r) {
			rect(w, left+cellWidth*a.left/8, top+cellHeight*a.top/8, left+cellWidth*a.right/8, top+cellHeight*a.bottom/8, front, a.density)
		}
		drawLines(w, r, left, top, front)
	}
}

// drawLines draws a box drawing character into the cell there.
func drawLines(w *bytes.Buffer, r rune, left, top float64, colour string) {
	x, y := left+cellWidth/2, top+cellHeight/2
	if to, round := corners[r]; round {
		fmt.Fprintf(w, `<path class="round" d="M%.6g %.6g V%.6g Q%.6g %.6g %.6g %.6g" fill="none" stroke="%s"/>`+"\n",
			x, y+to[1]*cellHeight/2, y+to[1]*cellWidth/2, x, y, x+to[0]*cellWidth/2, y, colour)
		return
	}
	for i, end := range [4][2]float64{{left, y}, {left + cellWidth, y}, {x, top}, {x, top + cellHeight}} {
		if weight := lines[r][i]; weight > 0 {
			half := float64(weight) / 2
			rect(w, min(x, end[0])-half*sideways(i), min(y, end[1])-half*(1-sideways(i)),
				max(x, end[0])+half*sideways(i), max(y, end[1])+half*(1-sideways(i)), colour, 1)
		}
	}
}

// sideways is 1 for the lines up and down, which have their weight in width, and 0 for
// those to the left and right.
func sideways(direction int) float64 { return float64(direction / 2) }
