package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// Verification is what going through the ledger of a run again and recounting a sample of
// its tasks found.
type Verification struct {
	Run       string          `json:"run"`
	N         int             `json:"n"`
	Placed    []queens.Square `json:"placed,omitempty"` // beforehand, each [row,column]
	Verified  bool            `json:"verified"`         // the run is complete and nothing contradicts
	Total     *Decimal        `json:"total"`            // nil unless Verified
	Known     Comparison      `json:"known"`
	Done      uint64          `json:"done"`
	Tasks     uint64          `json:"tasks"`
	Recounted uint64          `json:"recounted"`
	Seed      uint64          `json:"seed,string"` // of the sample
	Kernel    string          `json:"kernel"`
	Whole     string          `json:"whole,omitempty"` // the symmetry by which the whole run was recounted, or how else
	Seconds   float64         `json:"seconds"`
}

// Write writes the verification as lines of text, or as a JSON object. Text says only that
// a run is verified: the log has the reason why one is not.
func (v *Verification) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, v)
	}
	if !v.Verified {
		return nil
	}
	lines := []string{
		fmt.Sprintf("run %s: %d of %d tasks, all checksums are right, all tasks match the manifest", v.Run, v.Done, v.Tasks),
		fmt.Sprintf("sum by task and by class: %s", v.Total),
		fmt.Sprintf("published total: %s", v.Known),
		fmt.Sprintf("recounted: %d tasks with kernel %s (--seed %d), all agree", v.Recounted, v.Kernel, v.Seed),
	}
	if len(v.Placed) > 0 {
		lines = slices.Insert(lines, 1, "queens placed beforehand: "+humanize.Squares(v.Placed))
	}
	switch {
	case v.Whole == "":
	case len(v.Placed) > 0:
		lines = append(lines, "recounted: the whole run, with the placed queens mirrored, agrees")
	default:
		lines = append(lines, fmt.Sprintf("recounted: the whole run, by symmetry %s, agrees", v.Whole))
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
