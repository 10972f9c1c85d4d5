package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Verification is what going through the ledger of a run again and recounting a sample of
// its tasks found.
type Verification struct {
	Run       string          `json:"run"`
	N         int             `json:"n"`
	Placed    []queens.Square `json:"placed,omitempty"` // beforehand, each [row,column]
	Verified  bool            `json:"verified"`         // the run is complete and nothing contradicts
	Total     *run.Decimal    `json:"total"`            // nil unless Verified or Stopped
	Known     Comparison      `json:"known"`
	Done      uint64          `json:"done"`
	Tasks     uint64          `json:"tasks"`
	Reports   uint64          `json:"reports"` // whose signatures are right: each is of some tasks of a worker
	Signed    uint64          `json:"signed"`  // counts that say what these reports say
	Recounted uint64          `json:"recounted"`
	// Differing is the number of the recounted tasks whose recount contradicts the ledger. Differences has some of
	// them, in order of task.
	Differing   uint64           `json:"differing"`
	Differences []run.Difference `json:"differences"`
	Share       float64          `json:"share"`           // of the tasks recounted in the run's estimated work
	Seed        uint64           `json:"seed,string"`     // of the sample
	Kernels     []string         `json:"kernels"`         // that recounted
	Stopped     bool             `json:"stopped"`         // by a signal, during the recount
	Whole       string           `json:"whole,omitempty"` // the symmetry by which the whole run was recounted, or how else
	Seconds     float64          `json:"seconds"`
	Confirmed                    // by the workers that counted: the recount adds nothing to it

	Err error `json:"-"` // why the run is not verified
}

// Write writes the verification as lines of text, or as a JSON object.
func (v *Verification) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		if v.Kernels == nil {
			v.Kernels = []string{}
		}
		if v.Differences == nil {
			v.Differences = []run.Difference{}
		}
		return writeJSON(w, v)
	}
	switch {
	case v.isContradicted() || !v.Verified && !v.Stopped:
		_, err := fmt.Fprintln(w, strings.Join(v.faultLines(), "\n"))
		return err
	case v.Stopped && v.Total == nil:
		_, err := fmt.Fprintln(w, v.recountLine())
		return err
	}
	lines := []string{
		fmt.Sprintf("run %s: %d of %d tasks, all checksums are right, all tasks match the manifest", v.Run, v.Done, v.Tasks),
		v.signatureLine(),
		fmt.Sprintf("sum by task and by class: %s", v.Total),
		fmt.Sprintf("published total: %s", v.Known),
		v.sentence(),
		v.recountLine(),
	}
	if len(v.Placed) > 0 {
		lines = slices.Insert(lines, 1, "queens placed beforehand: "+humanize.Squares(v.Placed))
	}
	switch {
	case v.Whole == "" || v.Stopped:
	case len(v.Placed) > 0:
		lines = append(lines, "recounted: the whole run, with the placed queens mirrored, agrees")
	default:
		lines = append(lines, fmt.Sprintf("recounted: the whole run, by symmetry %s, agrees", v.Whole))
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

func (v *Verification) isContradicted() bool { return errors.Is(v.Err, queens.ErrContradiction) }

// faultLines says why the run is not verified. If the run is only incomplete, its counts agree.
func (v *Verification) faultLines() []string {
	lines := []string{fmt.Sprintf("run %s: %d of %d tasks, not verified: %v", v.Run, v.Done, v.Tasks, v.Err)}
	switch {
	case !v.isContradicted():
		lines = append(lines, v.signatureLine(), v.recountLine())
	case v.Differing > 0:
		lines = append(lines, v.recountLine())
	}
	return lines
}

func (v *Verification) signatureLine() string {
	return fmt.Sprintf("signatures: %s with %s, all are right", humanize.Plural(v.Reports, "report"), humanize.Plural(v.Signed, "count"))
}

// recountLine says how much was recounted, and how.
func (v *Verification) recountLine() string {
	line := fmt.Sprintf("recounted: %d of %d tasks, %.3g%% of the work", v.Recounted, v.Done, 100*v.Share)
	if len(v.Kernels) > 0 {
		line += ", with " + strings.Join(v.Kernels, ", ")
	}
	if line += fmt.Sprintf(" (--seed %d), %s", v.Seed, v.differing()); v.Stopped {
		line += "; stopped before the end"
	}
	return line
}

// differing says how many of the recounted tasks differ.
func (v *Verification) differing() string {
	switch v.Differing {
	case 0:
		return "all agree"
	case 1:
		return "1 differs"
	}
	return humanize.Int(v.Differing) + " differ"
}
