// Package board writes solutions as text, JSON or SVG, to a stream or to files of a folder.
// It does not look for them: package enumerate does.
package board

import (
	"encoding/json"

	"nqueens/pkg/humanize"
)

// Board is a solution.
type Board struct {
	Columns []int // of the queen on each row
	Images  int   // under rotation and reflection, 1 to 8; 0 leaves the number out
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
	var text []byte
	for _, queen := range b.Columns {
		for column := range b.Columns {
			square := byte('.')
			if column == queen {
				square = 'Q'
			}
			text = append(text, square)
		}
		text = append(text, '\n')
	}
	if b.Images > 0 {
		text = append(text, humanize.Plural(b.Images, "image")+"\n"...)
	}
	return text
}

func (b Board) json() []byte {
	var value any = b.Columns
	if b.Images > 0 {
		value = struct {
			Columns []int `json:"columns"`
			Images  int   `json:"images"`
		}{b.Columns, b.Images}
	}
	line, err := json.Marshal(value)
	if err != nil {
		panic(err) // integers can be marshaled
	}
	return append(line, '\n')
}
