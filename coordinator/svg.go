package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"nqueens/pkg/queens"
)

// svgBoard draws a board as an SVG document. It is a function of the board alone.
func svgBoard(b *board) []byte {
	d := newDrawing(b)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %d">`+"\n", d.width(), d.height())
	fmt.Fprintf(&out, "<title>%s</title>\n", svgTitle(b))
	fmt.Fprintf(&out, "<style>\n%s</style>\n", d.style())
	fmt.Fprintf(&out, `<rect class="nq-page" width="%d" height="%d"/>`+"\n", d.width(), d.height())
	fmt.Fprintf(&out, `<g transform="translate(%d %d) scale(%d)" shape-rendering="crispEdges">`+"\n", d.left, d.top, d.square)
	fmt.Fprintf(&out, `<rect class="nq-light" width="%d" height="%[1]d"/>`+"\n", d.n)
	fmt.Fprintf(&out, `<path class="nq-dark" fill-rule="evenodd" d="%s"/>`+"\n</g>\n", darkSquares(d.n))
	fmt.Fprintf(&out, `<g transform="translate(%d %d) scale(%d)">`+"\n%s</g>\n", d.left, d.top, d.square, d.queens(b.columns))
	fmt.Fprintf(&out, `<g class="nq-text" text-anchor="middle">`+"\n%s</g>\n</svg>\n", d.labels())
	return out.Bytes()
}

// svgTitle says what the picture shows to those who don't see it.
func svgTitle(b *board) string {
	n := len(b.columns)
	title := fmt.Sprintf("%d queens on a board of side %[1]d, none of which attacks another", n)
	if n == 1 {
		title = "1 queen on a board of side 1"
	}
	if n <= lettered {
		squares := make([]string, n)
		for row, column := range b.columns {
			squares[column] = queens.Square{Row: row, Column: column}.Chess(n)
		}
		title += ": " + strings.Join(squares, " ")
	}
	return title
}

// lettered is the largest side whose coordinates are those of chess. Beyond, rows and
// columns have their numbers, from 0 at the top left.
const lettered = 26

// drawing has the measures of a picture, in pixels.
type drawing struct {
	n                        int
	square                   int // side of a square
	font                     int // height of the letters
	left, top, right, bottom int // margins around the board
	caption                  string
}

func newDrawing(b *board) drawing {
	n := len(b.columns)
	d := drawing{n: n, square: min(max(960/n, 2), 48)}
	side := n * d.square
	d.font = 14 * max(side, 960) / 960
	narrow, high := d.font*3/4, d.font*2
	wide := d.font * (len(strconv.Itoa(n)) + 2) * 2 / 3
	if n <= lettered {
		d.left, d.top, d.right, d.bottom = wide, narrow, narrow, high
	} else {
		d.left, d.top, d.right, d.bottom = wide, high, narrow, narrow
	}
	if b.images > 0 {
		d.caption = b.family()
		d.bottom += d.font * 2
		extra := max(0, d.font*6-d.left-side-d.right) / 2 // room for the caption under a small board
		d.left, d.right = d.left+extra, d.right+extra
	}
	return d
}

func (d *drawing) width() int  { return d.left + d.n*d.square + d.right }
func (d *drawing) height() int { return d.top + d.n*d.square + d.bottom }

// style colors the picture for a light page, and for a dark one where the viewer asks
// for that.
func (d *drawing) style() string {
	return fmt.Sprintf(`.nq-page{fill:#fff}.nq-light{fill:#f1e4cc}.nq-dark{fill:#c8a678}
.nq-queen{fill:#2a2118}.nq-dot{fill:none;stroke:#2a2118;stroke-linecap:round}
.nq-text{fill:#57534e;font:%dpx sans-serif}
@media (prefers-color-scheme:dark){
.nq-page{fill:#16181c}.nq-light{fill:#5b6472}.nq-dark{fill:#3c434e}
.nq-queen{fill:#f6ecd2}.nq-dot{stroke:#f6ecd2}
.nq-text{fill:#b6b3ad}
}
`, d.font)
}

// darkSquares returns the squares of a corner's color, in units of a square: bars down
// and bars across, of which those squares that lie on two are left out (evenodd). The
// bottom left one is dark, as in chess.
func darkSquares(n int) string {
	var path strings.Builder
	for column := 1; column < n; column += 2 {
		fmt.Fprintf(&path, "M%d 0v%dh1v-%[2]dz", column, n)
	}
	for row := (n + 1) % 2; row < n; row += 2 {
		fmt.Fprintf(&path, "M0 %dh%dv1h-%[2]dz", row, n)
	}
	return path.String()
}

// crown is a queen in a square of side 1, from its upper left corner: a crown
// with three points, a base, and a ball on each point.
const crown = "m.26.68l-.11-.34.21.16.14-.26.14.26.21-.16-.11.34z" + "m0 .06h.48v.08h-.48z" +
	"m-.16-.45" + ball + "m.35-.1" + ball + "m.35.1" + ball

const ball = "a.05.05 0 1 0 .1 0a.05.05 0 1 0-.1 0z"

// smallestCrown is the side of a square, in pixels, below which queens are dots.
const smallestCrown = 12

// queens draws the queens, in units of a square.
func (d *drawing) queens(columns []int) string {
	var path strings.Builder
	if d.square >= smallestCrown {
		for row, column := range columns {
			fmt.Fprintf(&path, "M%d %d%s", column, row, crown)
		}
		return fmt.Sprintf(`<path class="nq-queen" d="%s"/>`+"\n", path.String())
	}
	for row, column := range columns {
		fmt.Fprintf(&path, "M%d.5 %d.5h0", column, row)
	}
	// On the smallest squares, a dot is larger than its square, to be seen.
	return fmt.Sprintf(`<path class="nq-dot" stroke-width="%g" d="%s"/>`+"\n", max(0.7, 3/float64(d.square)), path.String())
}

// labels writes the coordinates, as many as there is room for, and the caption.
func (d *drawing) labels() string {
	var text strings.Builder
	write := func(x, y int, label string) {
		fmt.Fprintf(&text, `<text x="%d" y="%d">%s</text>`+"\n", x, y, label)
	}
	middle := d.font * 7 / 20 // from the middle of a line of figures to where it stands
	above, beside := d.top-d.font/2, d.left-d.font*(len(strconv.Itoa(d.n))+1)/3
	step := d.step()
	for i := 0; i < d.n; i += step {
		x, y := d.left+i*d.square+d.square/2, d.top+i*d.square+d.square/2+middle
		if d.n <= lettered {
			write(x, d.top+d.n*d.square+d.font*5/4, string(rune('a'+i)))
			write(beside, y, strconv.Itoa(d.n-i))
			continue
		}
		write(x, above, strconv.Itoa(i))
		write(beside, y, strconv.Itoa(i))
	}
	if d.caption != "" {
		write(d.left+d.n*d.square/2, d.height()-d.font*3/4, d.caption)
	}
	return text.String()
}

// step returns how many squares lie between two coordinates.
func (d *drawing) step() int {
	wide := d.font * (len(strconv.Itoa(d.n-1)) + 1) * 2 / 3
	step := 1
	for _, factor := range []int{5, 2, 5, 2} {
		if step*d.square >= wide {
			break
		}
		step *= factor
	}
	return step
}
