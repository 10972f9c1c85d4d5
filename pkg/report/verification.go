package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nqueens/pkg/audit"
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// verification is the JSON object of a verification.
type verification struct {
	audit.Verification
	Confirmed
}

// WriteVerification writes a verification as lines of text, or as a JSON object.
func WriteVerification(w io.Writer, of *audit.Verification, asJSON bool) error {
	v := &verification{*of, NewConfirmed(&of.Confirmation, of.Total != nil)}
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
	case v.IsContradicted() || !v.Verified && !v.Stopped:
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

// faultLines says why the run is not verified. If the run is only incomplete, its counts agree.
func (v *verification) faultLines() []string {
	lines := []string{fmt.Sprintf("run %s: %d of %d tasks, not verified: %v", v.Run, v.Done, v.Tasks, v.Err)}
	switch {
	case !v.IsContradicted():
		lines = append(lines, v.signatureLine(), v.recountLine())
	case v.Differing > 0:
		lines = append(lines, v.recountLine())
	}
	return lines
}

func (v *verification) signatureLine() string {
	return fmt.Sprintf("signatures: %s with %s, all are right", humanize.Plural(v.Statements, "statement"), humanize.Plural(v.Signed, "count"))
}

// recountLine says how much was recounted, and how.
func (v *verification) recountLine() string {
	line := fmt.Sprintf("recounted: %d of %d tasks, %.3g%% of the work", v.Recounted, v.Done, 100*v.Share)
	if len(v.Kernels) > 0 {
		line += ", with " + strings.Join(v.Kernels, ", ")
	}
	if line += fmt.Sprintf(" (--seed %d), %s", v.Seed, differing(v.Differing)); v.Stopped {
		line += "; stopped before the end"
	}
	return line
}

// differing says how many of the recounted tasks differ.
func differing(tasks uint64) string {
	switch tasks {
	case 0:
		return "all agree"
	case 1:
		return "1 differs"
	}
	return humanize.Int(tasks) + " differ"
}
