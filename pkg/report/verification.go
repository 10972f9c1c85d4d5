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
	Run      string          `json:"run"`              // name of the run
	N        int             `json:"n"`                // side of the board
	Placed   []queens.Square `json:"placed,omitempty"` // squares of the queens placed beforehand
	Verified bool            `json:"verified"`         // the run is complete and nothing contradicts
	// number of solutions; null unless "verified", or "stopped" without a contradiction
	Total *run.Decimal `json:"total"`
	Known Comparison   `json:"known"` // how the total compares with the published one
	Done  uint64       `json:"done"`  // tasks with an accepted count
	Tasks uint64       `json:"tasks"` // all tasks
	// signed reports of workers whose signatures are right, each of some tasks
	Reports uint64 `json:"reports"`
	// counts that say what these reports say: accepted ones, and others of the same tasks
	Signed      uint64           `json:"signed"`
	Recounted   uint64           `json:"recounted"`   // tasks that were counted again
	Differing   uint64           `json:"differing"`   // recounted tasks whose recount contradicts the ledger
	Differences []run.Difference `json:"differences"` // at most 100 of these tasks, by task, see below
	// of the recounted tasks in the estimated work of the run, 0 to 1
	Share   float64  `json:"share"`
	Seed    uint64   `json:"seed,string"` // of the sample; --seed repeats it
	Kernels []string `json:"kernels"`     // that counted the sample
	Stopped bool     `json:"stopped"`     // a signal ended the command early
	// how the whole run was counted again: a symmetry, or "mirror-image"; absent if the board is too large
	Whole     string  `json:"whole,omitempty"`
	Seconds   float64 `json:"seconds"` // time that this command took
	Confirmed         // by the workers that counted: the recount adds nothing to it

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
