// Package board writes solutions as text, JSON or SVG, to a stream or to files of a folder.
// It does not look for them: package enumerate does.
package board

import (
	"bytes"
	"encoding/json"

	"nqueens/pkg/humanize"
)

// Board is a solution.
type Board struct {
	Columns []int `json:"columns"` // column of the queen on each row, from the top, counted from 0
	// boards that rotations and reflections make of this one: 8, 4, 2 or 1; 0 leaves the number out
	Images int `json:"images"`
}

// Writer writes boards.
type Writer interface {
	Write(b Board) error
	Close() error
}

// Formats are the names of the formats, the default first.
var Formats = []string{"text", "json", "svg"}

// encode returns a board in a format.
func (b Board) encode(format string) []byte {
	switch format {
	case "json":
		return b.json()
	case "svg":
		return b.svg()
	}
	return b.text()
}

// text returns a line of dots and one Q for each row.
func (b Board) text() []byte {
	n := len(b.Columns)
	text := bytes.Repeat(append(bytes.Repeat([]byte{'.'}, n), '\n'), n)
	for row, column := range b.Columns {
		text[row*(n+1)+column] = 'Q'
	}
	if b.Images > 0 {
		text = append(text, humanize.Plural(b.Images, "image")+"\n"...)
	}
	return text
}

func (b Board) json() []byte {
	var value any = b.Columns
	if b.Images > 0 {
		value = b
	}
	line, err := json.Marshal(value)
	if err != nil {
		panic(err) // integers can be marshaled
	}
	return append(line, '\n')
}
