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
	Run      string          `json:"run"`              // name of the run
	N        int             `json:"n"`                // side of the board
	Symmetry queens.Symmetry `json:"symmetry"`         // "full", "mirror" or "none"
	Placed   []queens.Square `json:"placed,omitempty"` // squares of the queens placed beforehand
	// "running", also if the coordinator is lost, "stopped", "complete", "contradicted" or "cancelled"
	State run.State `json:"state"`
	Done  uint64    `json:"done"`  // tasks with an accepted count
	Tasks uint64    `json:"tasks"` // all tasks
	Bytes int64     `json:"bytes"` // size of the copy
	File  string    `json:"file"`  // the copy: of "restore", the ledger of the run
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
