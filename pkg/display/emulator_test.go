package display

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// emulator is a terminal with the functions that the display needs. All characters take one cell.
type emulator struct {
	t             *testing.T
	width, height int
	reflows       bool
	tmux          bool          // wrapped rows move the first rows away even if the last are empty
	rows          []emulatedRow // all rows so far; the rows from top on are on the screen
	top           int           // the first row on the screen
	x, y          int           // the cursor; y counts from the first of all rows
}

type emulatedRow struct {
	text []rune
	more bool // the line continues in the next row
}

func newEmulator(t *testing.T, width, height int, reflows bool) *emulator {
	return &emulator{t: t, width: width, height: height, reflows: reflows,
		rows: make([]emulatedRow, 1)}
}

// Write interprets output. An unknown control sequence fails the test.
func (e *emulator) Write(sent []byte) (int, error) {
	for rest := string(sent); rest != ""; {
		if parameter, final, tail, ok := sequence(rest); ok {
			e.interpret(parameter, final)
			rest = tail
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch {
		case r == '\r':
			e.x = 0
		case r == '\n': // the terminal driver adds the carriage return
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

// sequence splits a control sequence off the start of a text.
func sequence(text string) (parameter string, final byte, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "\x1b[")
	if !ok {
		return "", 0, "", false
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r >= '@' })
	return text[:end], text[end], text[end+1:], true
}

func (e *emulator) interpret(parameter string, final byte) {
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
		e.rows[e.y] = emulatedRow{}
	case final == 'J' && parameter == "":
		if e.x == 0 && e.y == e.top {
			e.t.Error("erases from the first cell: tmux keeps the erased text in its history")
		}
		if e.x != 0 {
			e.t.Error("erases from the middle of a row")
		}
		e.rows = append(e.rows[:min(e.y, len(e.rows))], emulatedRow{})
	default:
		e.t.Errorf("unknown sequence %q %q", parameter, final)
	}
	for len(e.rows) <= e.y {
		e.rows = append(e.rows, emulatedRow{})
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
		e.rows = append(e.rows, emulatedRow{})
	}
	e.top = max(e.top, e.y+1-e.height)
}

// resize changes the width. A terminal that reflows wraps its lines again. Other terminals truncate
// them.
func (e *emulator) resize(width int) {
	e.width = width
	if !e.reflows {
		for i, r := range e.rows {
			e.rows[i].text = r.text[:min(len(r.text), width)]
		}
		return
	}
	for e.tmux && len(e.rows) < e.top+e.height {
		e.rows = append(e.rows, emulatedRow{})
	}
	var rows []emulatedRow
	var whole []rune
	below := len(e.rows) - e.y
	for _, r := range e.rows {
		whole = append(whole, r.text...)
		if r.more {
			continue
		}
		for len(whole) > width {
			rows = append(rows, emulatedRow{slices.Clone(whole[:width]), true})
			whole = whole[width:]
		}
		rows = append(rows, emulatedRow{slices.Clone(whole), false})
		whole = nil
	}
	e.rows, e.y = rows, len(rows)-below // the cursor is below all wrapped lines
	e.top = max(0, len(rows)-e.height)
}

// lines returns all lines so far, with wrapped ones joined, and without empty ones at the end.
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
