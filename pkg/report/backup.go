package report

import (
	"fmt"
	"io"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Backup says what a copy of a run's ledger holds.
type Backup struct {
	Run      string          `json:"run"`
	N        int             `json:"n"`
	Symmetry queens.Symmetry `json:"symmetry"`
	Placed   []queens.Square `json:"placed,omitempty"` // beforehand, each [row,column]
	State    run.State       `json:"state"`
	Done     uint64          `json:"done"`
	Tasks    uint64          `json:"tasks"`
	Bytes    int64           `json:"bytes"`
	File     string          `json:"file"` // the copy
}

// Write writes a line of text, or a JSON object.
func (b *Backup) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, b)
	}
	_, err := fmt.Fprintf(w, "run %s: %d of %d tasks, all checksums are right, %s in %s\n",
		b.Run, b.Done, b.Tasks, humanize.Bytes(uint64(b.Bytes)), queens.Sanitize(b.File))
	return err
}
