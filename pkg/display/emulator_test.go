package display

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// emulator is as much of a terminal as the display makes use of. All characters take up
// one cell.
type emulator struct {
	t             *testing.T
	width, height int
	reflows       bool
	rows          []row // all there were ever, the last height of them on the screen
	top           int   // the first on the screen
	x, y          int   // the cursor, y from the first of all rows
}

type row struct {
	text []rune
	more bool // the next row goes on with it
}

func newEmulator(t *testing.T, width, height int, reflows bool) *emulator {
	return &emulator{t: t, width: width, height: height, reflows: reflows, rows: make([]row, 1)}
}

// Write shows what is sent to the terminal. It fails the test where that is something
// that the emulator does not know.
func (e *emulator) Write(sent []byte) (int, error) {
	for rest := string(sent); rest != ""; {
		if parameter, final, tail, ok := sequence(rest); ok {
			e.obey(parameter, final)
			rest = tail
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch {
		case r == '\r':
			e.x = 0
		case r == '\n': // with what the terminal driver makes of it
			e.x = 0
			e.down()
		case r < ' ':
			e.t.Errorf("%q sent to the terminal", r)
		default:
			e.put(r)
		}
	}
	return len(sent), nil
}

// sequence splits off a control sequence.
func sequence(text string) (parameter string, final byte, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "\x1b[")
	if !ok {
		return "", 0, "", false
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r >= '@' })
	return text[:end], text[end], text[end+1:], true
}

func (e *emulator) obey(parameter string, final byte) {
	number := 1
	if parameter != "" && final != 'm' {
		if _, err := fmt.Sscan(parameter, &number); err != nil {
			e.t.Errorf("sequence with %q: %v", parameter, err)
		}
	}
	switch {
	case final == 'm': // colors
	case final == 'A':
		e.y = max(e.top, e.y-number)
	case final == 'B':
		for range number {
			e.y = min(e.y+1, e.top+e.height-1)
		}
	case final == 'K' && number == 2:
		e.rows[e.y] = row{}
	case final == 'J' && parameter == "":
		if e.x == 0 && e.y == e.top {
			e.t.Error("erases from the first cell on: tmux keeps in its history what was there")
		}
		if e.x != 0 {
			e.t.Error("erases from the middle of a row on")
		}
		e.rows = append(e.rows[:min(e.y, len(e.rows))], row{})
	default:
		e.t.Errorf("unknown sequence %q %q", parameter, final)
	}
	for len(e.rows) <= e.y {
		e.rows = append(e.rows, row{})
	}
}

func (e *emulator) put(r rune) {
	if e.x == e.width {
		e.rows[e.y].more = true
		e.x = 0
		e.down()
	}
	at := &e.rows[e.y]
	for len(at.text) <= e.x {
		at.text = append(at.text, ' ')
	}
	at.text[e.x] = r
	e.x++
}

func (e *emulator) down() {
	e.y++
	if e.y == len(e.rows) {
		e.rows = append(e.rows, row{})
	}
	e.top = max(e.top, e.y+1-e.height)
}

// resize changes the width. A terminal that reflows breaks its lines anew, one that does
// not cuts them off.
func (e *emulator) resize(width int) {
	e.width = width
	if !e.reflows {
		for i, r := range e.rows {
			e.rows[i].text = r.text[:min(len(r.text), width)]
		}
		return
	}
	var rows []row
	var whole []rune
	below := len(e.rows) - e.y
	for _, r := range e.rows {
		whole = append(whole, r.text...)
		if r.more {
			continue
		}
		for len(whole) > width {
			rows = append(rows, row{slices.Clone(whole[:width]), true})
			whole = whole[width:]
		}
		rows = append(rows, row{slices.Clone(whole), false})
		whole = nil
	}
	e.rows, e.y = rows, len(rows)-below // the cursor is below all that is broken anew
	e.top = max(0, len(rows)-e.height)
}

// lines returns the text on the terminal, whole lines, without the empty ones at the end.
func (e *emulator) lines() []string {
	var lines []string
	var whole strings.Builder
	for _, r := range e.rows {
		whole.WriteString(string(r.text))
		if !r.more {
			lines = append(lines, strings.TrimRight(whole.String(), " "))
			whole.Reset()
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
