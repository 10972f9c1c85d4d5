package board

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nqueens/pkg/enumerate"
)

// drawn is the content of a document, decoded as XML.
type drawn struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Role    string   `xml:"role,attr"`
	Width   int      `xml:"width,attr"`
	Height  int      `xml:"height,attr"`
	ViewBox string   `xml:"viewBox,attr"`
	Title   string   `xml:"title"`
	Style   string   `xml:"style"`
	Groups  []struct {
		Paths []struct {
			Class string `xml:"class,attr"`
			D     string `xml:"d,attr"`
		} `xml:"path"`
		Texts []struct {
			X     int    `xml:"x,attr"`
			Y     int    `xml:"y,attr"`
			Label string `xml:",chardata"`
		} `xml:"text"`
	} `xml:"g"`
}

func parseSVG(t *testing.T, text []byte) drawn {
	t.Helper()
	in := xml.NewDecoder(bytes.NewReader(text))
	var d drawn
	if err := in.Decode(&d); err != nil {
		t.Fatalf("%v in\n%.2000s", err, text)
	}
	if rest := bytes.TrimSpace(text[in.InputOffset():]); len(rest) > 0 {
		t.Errorf("text after the document: %.200s", rest)
	}
	if len(d.Groups) != 3 {
		t.Fatalf("%d groups in\n%.2000s", len(d.Groups), text)
	}
	return d
}

// A picture of any size is one document with a role and a title, the same each time, and
// has the queens of the board and no others.
func TestSVG(t *testing.T) {
	for _, n := range []int{1, 4, 5, 8, 9, 26, 27, 32, 79, 80, 81, 99, 100, 101, 480, 481, 999, 1000} {
		b := Board{Columns: enumerate.Construct(n)}
		text := b.svg()
		again := Board{Columns: slices.Clone(b.Columns)}
		if !bytes.Equal(again.svg(), text) {
			t.Errorf("n=%d: two pictures of the same board differ", n)
		}
		d := parseSVG(t, text)
		if want := fmt.Sprintf("0 0 %d %d", d.Width, d.Height); d.Role != "img" || d.ViewBox != want || d.Width > 2200 || d.Height > 2200 {
			t.Errorf("n=%d: role %q, view box %q of %d x %d", n, d.Role, d.ViewBox, d.Width, d.Height)
		}
		if !strings.HasPrefix(d.Title, fmt.Sprintf("%d queen", n)) || !strings.Contains(d.Style, "prefers-color-scheme:dark") {
			t.Errorf("n=%d: title %q, style %q", n, d.Title, d.Style)
		}
		if got := queensOf(t, d.Groups[1].Paths[0].D); !slices.Equal(got, b.Columns) {
			t.Errorf("n=%d: queens on columns %v, want %v", n, got, b.Columns)
		}
	}
}

// queensOf returns the column of the queen on each row, from the top.
func queensOf(t *testing.T, path string) []int {
	t.Helper()
	var columns []int
	for i, at := range regexp.MustCompile(`M([0-9]+)(?:\.5)? ([0-9]+)`).FindAllStringSubmatch(path, -1) {
		column, _ := strconv.Atoi(at[1]) // digits only
		if row := strconv.Itoa(i); row != at[2] {
			t.Fatalf("the path has row %s where row %s should be", row, at[2])
		}
		columns = append(columns, column)
	}
	return columns
}

// Dark and light squares alternate, and the bottom left one is dark: the bars cover dark
// squares once, others twice or not at all.
func TestDarkSquaresAlternate(t *testing.T) {
	bar := regexp.MustCompile(`M([0-9]+) 0v([0-9]+)h1v-([0-9]+)z|M0 ([0-9]+)h([0-9]+)v1h-([0-9]+)z`)
	for n := 1; n <= 40; n++ {
		path, side := darkSquares(n), strconv.Itoa(n)
		covered := make([][]int, n)
		for row := range covered {
			covered[row] = make([]int, n)
		}
		for _, m := range bar.FindAllStringSubmatch(path, -1) {
			if m[2]+m[5] != side || m[3]+m[6] != side {
				t.Fatalf("n=%d: the bar %s has the wrong length", n, m[0])
			}
			for i := range n {
				if m[1] != "" {
					column, _ := strconv.Atoi(m[1])
					covered[i][column]++
				} else {
					row, _ := strconv.Atoi(m[4])
					covered[row][i]++
				}
			}
		}
		if rest := bar.ReplaceAllString(path, ""); rest != "" {
			t.Fatalf("n=%d: %s is not a bar", n, rest)
		}
		for row := range n {
			for column := range n {
				if dark := (n-1-row+column)%2 == 0; dark != (covered[row][column] == 1) {
					t.Errorf("n=%d: row %d, column %d is covered %d times", n, row, column, covered[row][column])
				}
			}
		}
	}
}

// Up to side 26, every file and rank has its name. Beyond that, rows and columns are
// numbered from 0, as many as there is room for, including 0.
func TestSVGCoordinates(t *testing.T) {
	for _, n := range []int{1, 8, 26, 27, 32, 100, 1000} {
		b := Board{Columns: enumerate.Construct(n)}
		measures := newSVGLayout(b)
		labels := make(map[string]int)
		for _, text := range parseSVG(t, b.svg()).Groups[2].Texts {
			labels[text.Label]++
			if text.X < 0 || text.X > measures.width() || text.Y < 0 || text.Y > measures.height() {
				t.Errorf("n=%d: %q is outside the picture", n, text.Label)
			}
		}
		step := measures.step()
		if n <= 32 && step != 1 || n/step > 50 {
			t.Errorf("n=%d: a coordinate every %d squares", n, step)
		}
		for i := 0; i < n; i += step {
			switch {
			case n > 26:
				if labels[strconv.Itoa(i)] != 2 {
					t.Errorf("n=%d: coordinate %d appears %d times, want 2", n, i, labels[strconv.Itoa(i)])
				}
			case labels[strconv.Itoa(i+1)] != 1 || labels[string(rune('a'+i))] != 1:
				t.Errorf("n=%d: rank %d or file %c is missing", n, i+1, 'a'+i)
			}
		}
	}
}

// The title lists the squares in chess notation, file by file; the caption has the number of
// images.
func TestSVGTitleAndCaption(t *testing.T) {
	d := parseSVG(t, Board{Columns: []int{1, 3, 0, 2}, Images: 2}.svg())
	if want := "4 queens on a board of side 4, none of which attacks another: a2 b4 c1 d3"; d.Title != want {
		t.Errorf("title %q, want %q", d.Title, want)
	}
	texts := d.Groups[2].Texts
	if last := texts[len(texts)-1]; last.Label != "2 images" || last.Y <= texts[0].Y || last.Y > d.Height {
		t.Errorf("the caption is %+v in a picture of height %d", last, d.Height)
	}
}
