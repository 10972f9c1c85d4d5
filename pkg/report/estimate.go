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
	s := e.Solutions
	return writeTable(w, [][]string{
		estimated("time", e.Seconds, humanize.Seconds, humanize.Plural(e.Workers, "worker")+", "+e.Kernel),
		estimated("core time", e.CoreSeconds, humanize.Seconds, "searches alone"),
		estimated("solutions", Interval{s.Low, s.Mean, s.High}, humanize.Approx,
			"95% confidence, "+humanize.Plural(s.Probes, "random probe")),
		{"tasks", humanize.Approx(float64(e.Tasks)), "", "prefixes of " + depth},
		{"ledger", humanize.Bytes(e.LedgerBytes)},
	}, false)
}

// estimated returns the row of a value, with its range unless both ends look the same.
func estimated(name string, value Interval, format func(float64) string, remark string) []string {
	interval := humanize.Range(value.Low, value.High, format)
	if interval == format(value.Low) {
		interval = ""
	}
	return []string{name, format(value.Mid), interval, remark}
}
