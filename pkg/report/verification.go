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

// WriteVerification writes a verification as lines of text, or as a JSON object.
func WriteVerification(w io.Writer, v *audit.Verification, asJSON bool) error {
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
		_, err := fmt.Fprintln(w, strings.Join(faultLines(v), "\n"))
		return err
	case v.Stopped && v.Total == nil:
		_, err := fmt.Fprintln(w, recountLine(v))
		return err
	}
	lines := []string{
		fmt.Sprintf("run %s: %d of %d tasks, all checksums are right, all tasks match the manifest", v.Run, v.Done, v.Tasks),
		signatureLine(v),
		fmt.Sprintf("sum by task and by class: %s", v.Total),
		fmt.Sprintf("published total: %s", v.Known),
		sentence(&v.Confirmed),
		recountLine(v),
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
func faultLines(v *audit.Verification) []string {
	lines := []string{fmt.Sprintf("run %s: %d of %d tasks, not verified: %v", v.Run, v.Done, v.Tasks, v.Err)}
	switch {
	case !v.IsContradicted():
		lines = append(lines, signatureLine(v), recountLine(v))
	case v.Differing > 0:
		lines = append(lines, recountLine(v))
	}
	return lines
}

func signatureLine(v *audit.Verification) string {
	return fmt.Sprintf("signatures: %s with %s, all are right", humanize.Plural(v.Statements, "statement"), humanize.Plural(v.Signed, "count"))
}

// recountLine says how much was recounted, and how.
func recountLine(v *audit.Verification) string {
	line := fmt.Sprintf("recounted: %d of %d tasks, %s (--seed %d), %s", v.Recounted, v.Done, shareOfWork(v), v.Seed, differing(v.Differing))
	if v.Stopped {
		line += "; stopped before the end"
	}
	return line
}

// shareOfWork says how much of the work was recounted, and with which kernels.
func shareOfWork(v *audit.Verification) string {
	share := fmt.Sprintf("%.3g%% of the work", 100*v.Share)
	if len(v.Kernels) > 0 {
		share += ", with " + strings.Join(v.Kernels, ", ")
	}
	return share
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
