package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nqueens/pkg/estimate"
	"nqueens/pkg/humanize"
)

// WriteEstimate writes an estimate as a table, or as a JSON object.
func WriteEstimate(w io.Writer, e *estimate.Estimate, asJSON bool) error {
	if asJSON {
		return writeJSON(w, e)
	}
	depth := humanize.Plural(e.Depth.Max, "row")
	if e.Depth.Min < e.Depth.Max {
		depth = fmt.Sprintf("%d to %s", e.Depth.Min, depth)
	}
	threads := humanize.Plural(e.Threads, "thread")
	s, searches := e.Solutions, "searches at "+humanize.Rate(e.Speed)
	if hours := coreHours(e.CoreSeconds.Mid/3600, 0, ""); hours != "" {
		searches = hours + ", " + searches
	}
	rows := [][]string{
		estimated("time", e.Seconds, humanize.Seconds, threads+", "+e.Kernel),
		estimated("core time", e.CoreSeconds, humanize.Seconds, searches),
		estimated("solutions", estimate.Range{Low: s.Low, Mid: s.Mean, High: s.High}, humanize.Approx,
			"95% confidence, "+humanize.Approx(float64(s.Probes))+" probes"),
		{"tasks", humanize.Approx(float64(e.Tasks)), humanize.Rate(e.TaskRate), "prefixes of " + depth},
		{"chunks", humanize.Approx(e.Chunks), humanize.Rate(e.ChunkRate), "messages at " + humanize.Rate(e.MessageRate)},
		{"window", humanize.Approx(e.WindowChunks), humanize.Bytes(uint64(e.WindowBytes)), "chunks in flight"},
		{"ledger", humanize.Bytes(e.LedgerBytes), "", "on disk"},
		{"memory", humanize.Bytes(uint64(e.CoordinatorBytes)), "", "of the coordinator"},
		{"cores", fmt.Sprintf("%.2f + %.2f", e.CoordinatorCores, e.ServerCores), "", "coordinator + server"},
		{"waiting", humanize.Percent(e.Waiting, false), "", "time of threads without a task"},
		{"bottleneck", string(e.Bottleneck), "", e.Bottleneck.Explanation()},
	}
	if e.KWh != nil {
		rows = slices.Insert(rows, 2, estimated("energy", *e.KWh, func(x float64) string { return humanize.Amount(x) + " kWh" }, "of the searches"))
	}
	if e.Copies > 0 {
		rows = slices.Insert(rows, 2, []string{"copies", fmt.Sprintf("%.4g", e.Copies), "", "counts of each task"})
	}
	return writeTable(w, rows, false)
}

// estimated returns the row of a value, with its range unless both ends look the same.
func estimated(name string, value estimate.Range, format func(float64) string, remark string) []string {
	low, high := format(value.Low), format(value.High)
	interval := low + " to " + high
	number, unit, _ := strings.Cut(low, " ")
	switch {
	case low == high:
		interval = ""
	case unit != "" && strings.HasSuffix(high, " "+unit):
		interval = number + " to " + high
	}
	return []string{name, format(value.Mid), interval, remark}
}
