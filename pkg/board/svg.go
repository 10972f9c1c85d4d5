package board

import (
	"fmt"
	"strconv"
	"strings"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// svg draws a board as an SVG document. The same board gives the same document.
func (b Board) svg() []byte {
	l := newSVGLayout(b)
	place := fmt.Sprintf("translate(%d %d) scale(%d)", l.left, l.top, l.square)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" role="img" `+
		`width="%d" height="%d" viewBox="0 0 %[1]d %d">
<title>%s</title>
<style>
%s</style>
<rect class="nq-page" width="%[1]d" height="%d"/>
<g transform="%[5]s" shape-rendering="crispEdges">
<rect class="nq-light" width="%d" height="%[6]d"/>
<path class="nq-dark" fill-rule="evenodd" d="%s"/>
</g>
<g transform="%[5]s">
%[8]s</g>
<g class="nq-text" text-anchor="middle">
%s</g>
</svg>
`, l.width(), l.height(), b.title(), l.style(), place, l.n, darkSquares(l.n), l.queens(b.Columns), l.labels(b))
}

// title describes the picture for screen readers.
func (b Board) title() string {
	n := len(b.Columns)
	title := fmt.Sprintf("%d queens on a board of side %[1]d, none of which attacks another", n)
	if n == 1 {
		title = "1 queen on a board of side 1"
	}
	if n <= maxChessN {
		squares := make([]string, n)
		for row, column := range b.Columns {
			squares[column] = queens.Square{Row: row, Column: column}.Chess(n)
		}
		title += ": " + strings.Join(squares, " ")
	}
	return title
}

// maxChessN is the largest side whose squares have the names of chess. On larger boards,
// rows and columns are numbered from 0 at the top left.
const maxChessN = 26

// svgLayout has the measures of a picture, in pixels.
type svgLayout struct {
	n                        int
	square                   int // side of a square
	font                     int // height of the letters
	left, top, right, bottom int // margins around the board
}

func newSVGLayout(b Board) svgLayout {
	n := len(b.Columns)
	l := svgLayout{n: n, square: min(max(960/n, 2), 48)}
	side := n * l.square
	l.font = 14 * max(side, 960) / 960
	narrow, high := l.font*3/4, l.font*2
	wide := l.font * (len(strconv.Itoa(n)) + 2) * 2 / 3
	l.left, l.top, l.right, l.bottom = wide, high, narrow, narrow
	if n <= maxChessN {
		l.top, l.bottom = narrow, high
	}
	if b.Images > 0 {
		l.bottom += l.font * 2
		extra := max(0, l.font*6-l.left-side-l.right) / 2 // room for the caption under a small board
		l.left, l.right = l.left+extra, l.right+extra
	}
	return l
}

func (l *svgLayout) width() int  { return l.left + l.n*l.square + l.right }
func (l *svgLayout) height() int { return l.top + l.n*l.square + l.bottom }

// style returns the colors, for a light page and, if the viewer prefers that, a dark one.
func (l *svgLayout) style() string {
	return fmt.Sprintf(`.nq-page{fill:#fff}.nq-light{fill:#f1e4cc}.nq-dark{fill:#c8a678}
.nq-queen{fill:#2a2118}.nq-dot{fill:none;stroke:#2a2118;stroke-linecap:round}
.nq-text{fill:#57534e;font:%dpx sans-serif}
@media (prefers-color-scheme:dark){
.nq-page{fill:#16181c}.nq-light{fill:#5b6472}.nq-dark{fill:#3c434e}
.nq-queen{fill:#f6ecd2}.nq-dot{stroke:#f6ecd2}
.nq-text{fill:#b6b3ad}
}
`, l.font)
}

// darkSquares returns the path of the dark squares, in units of a square: vertical and
// horizontal bars, whose intersections the fill rule evenodd leaves out. The bottom left
// square is dark, as in chess.
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

// queenPath draws a queen in a square of side 1, from its upper left corner: a crown with
// three points, a base, and a ball on each point.
const queenPath = "m.26.68l-.11-.34.21.16.14-.26.14.26.21-.16-.11.34z" + "m0 .06h.48v.08h-.48z" +
	"m-.16-.45" + ballPath + "m.35-.1" + ballPath + "m.35.1" + ballPath

const ballPath = "a.05.05 0 1 0 .1 0a.05.05 0 1 0-.1 0z"

// minQueenSize is the side of a square, in pixels, below which queens are dots.
const minQueenSize = 12

// queens draws the queens, in units of a square.
func (l *svgLayout) queens(columns []int) string {
	format, attributes := "M%d %d"+queenPath, `class="nq-queen"`
	if l.square < minQueenSize {
		// A dot is at least 3 pixels wide: on the smallest squares it is larger than its square.
		width := max(0.7, 3/float64(l.square))
		format, attributes = "M%d.5 %d.5h0", fmt.Sprintf(`class="nq-dot" stroke-width="%g"`, width)
	}
	var path strings.Builder
	for row, column := range columns {
		fmt.Fprintf(&path, format, column, row)
	}
	return "<path " + attributes + ` d="` + path.String() + "\"/>\n"
}

// labels returns the coordinates, as many as there is room for, and the caption.
func (l *svgLayout) labels(b Board) string {
	var text strings.Builder
	write := func(x, y int, label string) {
		fmt.Fprintf(&text, `<text x="%d" y="%d">%s</text>`+"\n", x, y, label)
	}
	side := l.n * l.square
	middle := l.square/2 + l.font*7/20 // from the top of a square to the baseline of digits in its middle
	beside := l.left - l.font*(len(strconv.Itoa(l.n))+1)/3
	for i := 0; i < l.n; i += l.step() {
		y, column, row := l.top-l.font/2, strconv.Itoa(i), strconv.Itoa(i)
		if l.n <= maxChessN {
			y, column, row = l.top+side+l.font*5/4, string(rune('a'+i)), strconv.Itoa(l.n-i)
		}
		write(l.left+i*l.square+l.square/2, y, column)
		write(beside, l.top+i*l.square+middle, row)
	}
	if b.Images > 0 {
		write(l.left+side/2, l.height()-l.font*3/4, humanize.Plural(b.Images, "image"))
	}
	return text.String()
}

// step returns the distance between two coordinates, in squares.
func (l *svgLayout) step() int {
	wide := l.font * (len(strconv.Itoa(l.n-1)) + 1) * 2 / 3
	step := 1
	for _, factor := range []int{5, 2, 5, 2} {
		if step*l.square >= wide {
			break
		}
		step *= factor
	}
	return step
}
