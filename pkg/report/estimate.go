package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nqueens/pkg/humanize"
)

// Estimate is what a count is expected to take.
type Estimate struct {
	N           int       `json:"n"`            // side of the board
	Kernel      string    `json:"kernel"`       // that searches
	Workers     int       `json:"workers"`      // that the estimate is for
	Threads     int       `json:"threads"`      // of all workers
	Seconds     Interval  `json:"seconds"`      // time of the whole command
	CoreSeconds Interval  `json:"core_seconds"` // time of the searches, summed over all workers
	Speed       float64   `json:"speed"`        // nodes of the plain search tree that a thread searches a second
	Solutions   Solutions `json:"solutions"`    // estimated number of solutions
	// number of tasks; exact up to about n = 22, otherwise within a few percent
	Tasks       uint64 `json:"tasks"`
	Depth       Depth  `json:"depth"`        // rows of the tasks' prefixes, which differ by class
	LedgerBytes uint64 `json:"ledger_bytes"` // size of the ledger when all tasks are counted
	// how often each task is counted in the mean, if more than once: times and ledger are for that
	Copies float64 `json:"copies,omitempty"`
	Fleet
}

// Copy multiplies the times and the size of the ledger: each task is counted so often, at least
// once.
func (e *Estimate) Copy(copies float64) {
	if copies <= 1 {
		return
	}
	e.Copies = copies
	for _, i := range []*Interval{&e.Seconds, &e.CoreSeconds} {
		*i = Interval{i.Low * copies, i.Mid * copies, i.High * copies}
	}
	e.LedgerBytes = uint64(float64(e.LedgerBytes) * copies)
}

// Fleet is what a count is expected to ask of coordinator, server and ledger.
type Fleet struct {
	Waiting          float64  `json:"waiting"`           // share of time for which threads have no task
	Chunks           float64  `json:"chunks"`            // number of chunks in which the tasks travel
	ChunkRate        float64  `json:"chunks_per_s"`      // chunks a second
	TaskRate         float64  `json:"tasks_per_s"`       // results a second that the ledger records
	MessageRate      float64  `json:"messages_per_s"`    // messages a second
	WindowChunks     float64  `json:"window_chunks"`     // chunks in flight
	WindowBytes      float64  `json:"window_bytes"`      // size of their messages on the server
	CoordinatorBytes float64  `json:"coordinator_bytes"` // memory of the coordinator
	CoordinatorCores float64  `json:"coordinator_cores"` // cores that the coordinator keeps busy
	ServerCores      float64  `json:"server_cores"`      // cores that the server keeps busy
	Parts            RunParts `json:"parts"`             // seconds of each part of a run
	Bound            string   `json:"bound"`             // the longest of these parts
}

// RunParts are the times that the parts of a run would take alone, in seconds.
type RunParts struct {
	Search   float64 `json:"search"`
	Tail     float64 `json:"tail"`
	Messages float64 `json:"messages"`
	Ledger   float64 `json:"ledger"`
	Window   float64 `json:"window"`
	Planning float64 `json:"planning"`
	Start    float64 `json:"start"`
}

// Interval is a value that is probably near Mid and almost surely from Low to High.
type Interval struct {
	Low  float64 `json:"low"`  // almost surely not less
	Mid  float64 `json:"mid"`  // probable
	High float64 `json:"high"` // almost surely not more
}

// Solutions is an estimated number of solutions, with its 95% confidence interval.
type Solutions struct {
	Mean   float64 `json:"mean"`     // of the probes
	Low    float64 `json:"low"`      // of the 95% confidence interval
	High   float64 `json:"high"`     // of the same
	Probes int     `json:"descents"` // number of random probes
}

// Depth is the length of prefixes, in rows.
type Depth struct {
	Min int `json:"min"` // least
	Max int `json:"max"` // most
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
	threads := humanize.Plural(e.Workers, "worker")
	if e.Threads > e.Workers {
		threads = humanize.Plural(e.Threads, "thread")
	}
	s := e.Solutions
	rows := [][]string{
		estimated("time", e.Seconds, humanize.Seconds, threads+", "+e.Kernel),
		estimated("core time", e.CoreSeconds, humanize.Seconds, "searches at "+humanize.Rate(e.Speed)),
		estimated("solutions", Interval{s.Low, s.Mean, s.High}, humanize.Approx,
			"95% confidence, "+humanize.Approx(float64(s.Probes))+" probes"),
		{"tasks", humanize.Approx(float64(e.Tasks)), humanize.Rate(e.TaskRate), "prefixes of " + depth},
		{"chunks", humanize.Approx(e.Chunks), humanize.Rate(e.ChunkRate), "messages at " + humanize.Rate(e.MessageRate)},
		{"window", humanize.Approx(e.WindowChunks), humanize.Bytes(uint64(e.WindowBytes)), "chunks in flight"},
		{"ledger", humanize.Bytes(e.LedgerBytes), "", "on disk"},
		{"memory", humanize.Bytes(uint64(e.CoordinatorBytes)), "", "of the coordinator"},
		{"cores", fmt.Sprintf("%.2f + %.2f", e.CoordinatorCores, e.ServerCores), "", "coordinator + server"},
		{"waiting", humanize.Percent(e.Waiting, false), "", "time of threads without a task"},
		{"bound by", e.Bound, "", bounds[e.Bound]},
	}
	if e.Copies > 0 {
		rows = slices.Insert(rows, 2, []string{"copies", fmt.Sprintf("%.4g", e.Copies), "", "counts of each task"})
	}
	return writeTable(w, rows, false)
}

// bounds explain what bounds a run.
var bounds = map[string]string{
	"search":   "more threads make it faster",
	"tail":     "threads wait for the last tasks",
	"messages": "chunks through the server",
	"ledger":   "results into the ledger",
	"window":   "fewer chunks in flight than threads",
	"planning": "numbering the tasks, and the audit",
	"start":    "start and stop",
}

// estimated returns the row of a value, with its range unless both ends look the same.
func estimated(name string, value Interval, format func(float64) string, remark string) []string {
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
