package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A screen's cells have their text and their style, whatever the sequences are that set
// it, and rows are filled up.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		row        int
		want       []cell
	}{
		{"plain", "ab", 0, []cell{{text: "a"}, {text: "b"}, {text: " "}, {text: " "}}},
		{"all that a code sets", "\x1b[1;2;3;4;7;9mx", 0, []cell{{"x", style{bold: true, dim: true, italic: true, underline: true, turnedOver: true, struck: true}}, {text: " "}, {text: " "}, {text: " "}}},
		{"and unsets", "\x1b[1;2;3;4;7;9;31;42m\x1b[22;23;24;27;29;39;49mx", 0, []cell{{text: "x"}, {text: " "}, {text: " "}, {text: " "}}},
		{"reset", "\x1b[1;31mx\x1b[my", 0, []cell{{"x", style{bold: true, foreground: named[1]}}, {text: "y"}, {text: " "}, {text: " "}}},
		{"eight and sixteen colours", "\x1b[31;42mx\x1b[91;102my", 0, []cell{{"x", style{foreground: named[1], background: named[2]}}, {"y", style{foreground: named[9], background: named[10]}}, {text: " "}, {text: " "}}},
		{"256 and 24-bit colours", "\x1b[38;5;196;48;2;1;2;255mx", 0, []cell{{"x", style{foreground: "#ff0000", background: "#0102ff"}}, {text: " "}, {text: " "}, {text: " "}}},
		{"no underline of kind 0", "\x1b[4:3mx\x1b[4:0my", 0, []cell{{"x", style{underline: true}}, {text: "y"}, {text: " "}, {text: " "}}},
		{"a style holds on over the line's end", "\x1b[1mx\ny", 1, []cell{{"y", style{bold: true}}, {text: " "}, {text: " "}, {text: " "}}},
		{"wide and combining", "漢e\u0301", 0, []cell{{text: "漢"}, {text: ""}, {text: "e\u0301"}, {text: " "}}},
		{"a link", "\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\b", 0, []cell{{text: "a"}, {text: "b"}, {text: " "}, {text: " "}}},
	} {
		rows, err := parse(c.text+"\n", 4)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, want := range c.want {
			if got := rows[c.row][i]; got != want {
				t.Errorf("%s: cell %d is %+v, want %+v", c.name, i, got, want)
			}
		}
	}
}

// What can't be drawn as it looks is an error that names the line, not left out.
func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"movement":            "\x1b[2Jx",
		"another set of line": "\x0eqq",
		"too many cells":      "abcde",
		"half a colour":       "\x1b[38;5mx",
		"no such colour":      "\x1b[38;5;256mx",
		"no such code":        "\x1b[77mx",
		"no UTF-8":            "\xff",
		"nothing to combine":  "\u0301",
	} {
		if _, err := parse("a\n"+text, 4); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The 256 colours are xterm's: a cube of six levels, then greys.
func TestNumberedColours(t *testing.T) {
	for i, want := range map[int]string{16: "#000000", 21: "#0000ff", 67: "#5f87af", 196: "#ff0000", 231: "#ffffff", 232: "#080808", 255: "#eeeeee"} {
		if got := numbered(i); got != want {
			t.Errorf("colour %d is %s, want %s", i, got, want)
		}
	}
}

// Reverse swaps the two colours, the terminal's own too; dim lies between them.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		style       style
		back, front string
	}{
		{style{}, "", ink},
		{style{turnedOver: true}, ink, ground},
		{style{turnedOver: true, foreground: "#112233"}, "#112233", ground},
		{style{dim: true, foreground: "#ffffff", background: "#000000"}, "#000000", "#999999"},
	} {
		if back, front := c.style.colours(); back != c.back || front != c.front {
			t.Errorf("%+v is %s on %q, want %s on %q", c.style, front, back, c.front, c.back)
		}
	}
}

// Block elements fill as much of the cell as their names in Unicode say.
func TestBlocksFillTheirShare(t *testing.T) {
	for text, want := range map[string][]float64{
		"▁▂▃▄▅▆▇█":   {8, 16, 24, 32, 40, 48, 56, 64},
		"▏▎▍▌▋▊▉█":   {8, 16, 24, 32, 40, 48, 56, 64},
		"▀▐▔▕░▒▓":    {32, 32, 8, 8, 16, 32, 48},
		"▖▗▘▙▚▛▜▝▞▟": {16, 16, 16, 48, 32, 48, 48, 16, 32, 48},
	} {
		for i, r := range []rune(text) {
			var got float64
			for _, a := range blocks(r) {
				got += (a.right - a.left) * (a.bottom - a.top) * a.density
			}
			if got != want[i] {
				t.Errorf("%c fills %g of 64, want %g", r, got, want[i])
			}
		}
	}
}

// A bar is one rectangle, so that it has no seams; each word begins in its cell.
func TestDraw(t *testing.T) {
	rows, err := parse("a ██████████ <b> \x1b[1;3mc\x1b[m\n", 20)
	if err != nil {
		t.Fatal(err)
	}
	out := string(draw(rows, 20, "a <title>"))
	for _, want := range []string{
		`<rect x="18" y="0" width="90" height="19" fill="#d6dde8"/>`,
		`<text x="117" y="14" textLength="27" lengthAdjust="spacingAndGlyphs" fill="#d6dde8">&lt;b&gt;</text>`,
		`<text x="153" y="14" textLength="9" lengthAdjust="spacingAndGlyphs" fill="#d6dde8" class="bold italic">c</text>`,
		`a &lt;title&gt;</text>`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// Whatever is read, it is an error or a picture: rows as wide as the screen, and XML.
func FuzzDraw(f *testing.F) {
	for _, text := range []string{"a\n", "\x1b[1;38;5;3;48;2;1;2;3mx\x1b[m 漢", "╭─╮▌░e\u0301", "\x1b]8;;\x1b\\<&>\"'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parse(text, 20)
		if err != nil {
			return
		}
		for _, row := range rows {
			if len(row) != 20 {
				t.Fatalf("a row of %d cells", len(row))
			}
		}
		for d := xml.NewDecoder(bytes.NewReader(draw(rows, 20, "fuzz"))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
