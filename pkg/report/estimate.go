package report

import (
	"fmt"
	"io"

	"nqueens/pkg/humanize"
)

// Estimate is what a count is expected to take.
type Estimate struct {
	N           int       `json:"n"`
	Kernel      string    `json:"kernel"`
	Workers     int       `json:"workers"` // one thread each
	Seconds     Interval  `json:"seconds"`
	CoreSeconds Interval  `json:"core_seconds"` // of the searches alone
	Solutions   Solutions `json:"solutions"`
	Tasks       uint64    `json:"tasks"`
	Depth       Depth     `json:"depth"`
	LedgerBytes uint64    `json:"ledger_bytes"`
}

// Interval is a value that is probably near Mid and almost surely from Low to High.
type Interval struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Solutions is an estimated number of solutions, with its 95% confidence interval.
type Solutions struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Probes int     `json:"descents"` // random probes of the search tree
}

// Depth is the length of prefixes, in rows.
type Depth struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Write writes the estimate as a table, or as a JSON object.
func (e *Estimate) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, e)
	}
	depth := humanize.Plural(e.Depth.Max, "row")
	if e.Depth.Min < e.Depth.Max {
		depth = fmt.Sprintf("%d to %s", e.Depth.Min, depth)
	}
	return writeTable(w, [][]string{
		{
			"time", humanize.Seconds(e.Seconds.Mid), interval(e.Seconds.Low, e.Seconds.High, humanize.Seconds),
			humanize.Plural(e.Workers, "worker") + ", " + e.Kernel,
		},
		{
			"core time", humanize.Seconds(e.CoreSeconds.Mid),
			interval(e.CoreSeconds.Low, e.CoreSeconds.High, humanize.Seconds), "searches alone",
		},
		{
			"solutions", humanize.Approx(e.Solutions.Mean), interval(e.Solutions.Low, e.Solutions.High, humanize.Approx),
			"95% confidence, " + humanize.Plural(e.Solutions.Probes, "random probe"),
		},
		{"tasks", humanize.Approx(float64(e.Tasks)), "", "prefixes of " + depth},
		{"ledger", humanize.Bytes(e.LedgerBytes)},
	}, false)
}

// interval formats a range, or nothing if its ends look the same.
func interval(low, high float64, format func(float64) string) string {
	if format(low) == format(high) {
		return ""
	}
	return humanize.Range(low, high, format)
}
