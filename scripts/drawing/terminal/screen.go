package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is one place of the screen's grid.
type cell struct {
	// text is a character with what combines with it, " " for nothing. The place
	// behind a wide character has "".
	text  string
	style style
}

// style is how a cell is drawn. Colours are #rrggbb, or "" for the terminal's own.
type style struct {
	foreground, background                           string
	bold, dim, italic, underline, struck, turnedOver bool
}

// parse reads a screen of that many columns: lines of UTF-8, with colours and the like as
// SGR sequences (ECMA-48, 8.3.117; xterm's for 256 and 24-bit colours). A style holds on
// over the ends of lines. Rows come out filled up to the last column.
func parse(text string, columns int) ([][]cell, error) {
	var rows [][]cell
	var now style
	for number, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		row, err := parseLine(line, &now)
		if err == nil && len(row) > columns {
			err = fmt.Errorf("%d cells on a screen of %d columns", len(row), columns)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		for len(row) < columns {
			row = append(row, cell{text: " "})
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parseLine(line string, now *style) ([]cell, error) {
	var row []cell
	for line != "" {
		if rest, found := strings.CutPrefix(line, "\x1b["); found {
			codes, after, found := strings.Cut(rest, "m")
			if !found {
				return nil, fmt.Errorf("escape sequence %.20q is not one of colour", line)
			}
			if err := now.apply(codes); err != nil {
				return nil, err
			}
			line = after
			continue
		}
		if rest, found := strings.CutPrefix(line, "\x1b]8;"); found { // a link begins or ends
			_, after, found := strings.Cut(rest, "\x1b\\")
			if !found {
				return nil, fmt.Errorf("link %.20q has no end", line)
			}
			line = after
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		switch {
		case r == utf8.RuneError || !unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Co):
			return nil, fmt.Errorf("character %q is not one that a screen shows", r)
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			if len(row) == 0 {
				return nil, fmt.Errorf("character %q has nothing to combine with", r)
			}
			last := len(row) - 1
			if row[last].text == "" {
				last--
			}
			row[last].text += string(r)
		case wide(r):
			row = append(row, cell{string(r), *now}, cell{"", *now})
		default:
			row = append(row, cell{string(r), *now})
		}
	}
	return row, nil
}

// wide tells whether a character takes two cells: those of East Asian width W or F in
// Unicode's EastAsianWidth.txt, by blocks.
func wide(r rune) bool {
	for _, block := range [][2]rune{
		{0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x2614, 0x2615}, {0x26a1, 0x26a1},
		{0x2705, 0x2705}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c},
		{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
		{0x1f7e0, 0x1f7eb}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	} {
		if block[0] <= r && r <= block[1] {
			return true
		}
	}
	return false
}
