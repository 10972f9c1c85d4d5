package report

import (
	"fmt"
	"io"
	"math"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Progress is a snapshot in the form of a JSON object, without the workers.
type Progress struct {
	Run    string    `json:"run"`              // name of the run
	N      int       `json:"n"`                // side of the board
	Placed int       `json:"placed,omitempty"` // number of queens placed beforehand
	State  run.State `json:"state"`            // "running", "stopped", "complete", "contradicted" or "cancelled"
	// share of the estimated work that is done, rounded down to a tenth; 100 means all
	Percent   float64  `json:"percent"`
	Done      uint64   `json:"done"`                  // tasks with an accepted count
	Tasks     uint64   `json:"tasks"`                 // all tasks
	Solutions *Decimal `json:"solutions"`             // solutions found so far
	Rate      float64  `json:"rate"`                  // solutions per second, over the last 30 s
	Elapsed   float64  `json:"elapsed_s"`             // seconds since this coordinator began to count
	ETALeast  *float64 `json:"eta_least_s,omitempty"` // seconds left, at least; absent while unknown
	ETAMost   *float64 `json:"eta_most_s,omitempty"`  // seconds left, at most
	Workers   int      `json:"workers"`               // workers connected
	Threads   int      `json:"threads"`               // threads of all of them
	Repeated  uint64   `json:"repeated"`              // tasks that were published again
	Conflicts int      `json:"conflicts"`             // tasks whose counts contradicted each other, settled or not
	// what has bounded the run for ten seconds: "search", "messages", "ledger", "window" or "tail"; absent if none of these has
	Bound      run.Bound `json:"bound,omitempty"`
	Sharing    []string  `json:"sharing,omitempty"` // names of other runs that share the workers, at most 16
	Total      *Decimal  `json:"total"`             // number of solutions; null unless the run is complete
	*Confirmed           // nil without a total
}

// NewProgress returns a snapshot in the form of a JSON object.
func NewProgress(p *run.Progress) Progress {
	pace := NewPace(p.Pace())
	object := Progress{
		Run: p.Run, N: p.N, Placed: p.Placed, State: p.State,
		Percent: pace.Percent, Done: p.Done, Tasks: p.Tasks,
		Solutions: (*Decimal)(p.Solutions), Rate: pace.Rate, Elapsed: p.Elapsed.Seconds(),
		ETALeast: pace.ETALeast, ETAMost: pace.ETAMost,
		Workers: p.WorkerCount, Threads: p.Threads, Repeated: p.Republished, Conflicts: p.Conflicts,
		Sharing: p.SharedWith, Total: (*Decimal)(p.Total),
	}
	if p.State == run.Running {
		object.Bound = p.Bound
	}
	if p.Total != nil {
		object.Confirmed = new(NewConfirmed(&p.Confirmation, true))
	}
	return object
}

// Worker is a worker in the form of a JSON object.
type Worker struct {
	Name    string  `json:"name"`     // of the worker
	Kernel  string  `json:"kernel"`   // with which it searches
	Threads int     `json:"threads"`  // that search
	Rate    float64 `json:"rate"`     // solutions per second; 0 while it is idle
	Held    int     `json:"held"`     // chunks of tasks that it searches
	Oldest  float64 `json:"oldest_s"` // seconds that it has searched the oldest
}

// NewWorker returns a worker in the form of a JSON object.
func NewWorker(w *run.WorkerStatus) Worker {
	return Worker{Name: w.Name, Kernel: w.Kernel, Threads: w.Threads, Rate: w.Rate, Held: w.Held, Oldest: w.LongestTask.Seconds()}
}

// progressJSON is the JSON object of a snapshot.
type progressJSON struct {
	Progress
	Crew []Worker `json:"crew"` // the workers
}

// WriteProgress writes a snapshot as a JSON object.
func WriteProgress(w io.Writer, p *run.Progress) error {
	object := progressJSON{Progress: NewProgress(p), Crew: make([]Worker, len(p.Workers))}
	for i := range p.Workers {
		object.Crew[i] = NewWorker(&p.Workers[i])
	}
	return writeJSON(w, object)
}

// WriteProgressTable writes the last snapshot of a complete run as a table.
func WriteProgressTable(w io.Writer, p *run.Progress, color bool) error {
	confirmed := NewConfirmed(&p.Confirmation, true)
	rows := append([][]string{totalRow(p.Total)}, confirmed.rows()...)
	if p.Placed > 0 {
		rows = append(rows, []string{"placed", fmt.Sprint(p.Placed), "beforehand; coordinator runs says where"})
	}
	elapsed := []string{"time", humanize.Duration(p.Elapsed), "of its last coordinator"}
	return writeTable(w, append(rows, elapsed, tasksRow(p), runRow(p.Run)), color)
}

// LogEnd logs the total of the last snapshot of a complete run.
func LogEnd(log zerolog.Logger, p *run.Progress) {
	confirmed := NewConfirmed(&p.Confirmation, true)
	event := log.Info().Str("run", p.Run).Str("total", p.Total.String())
	confirmed.log(event)
	event.Msg("the run is complete")
	confirmed.WarnUnconfirmed(log, p.Run)
}

// LogProgress logs a snapshot.
func LogProgress(log zerolog.Logger, p *run.Progress) {
	event := log.Info()
	logSnapshot(event, p)
	if p.ETA == (run.Range{}) {
		event.Str("eta", "estimating")
	} else {
		event.Str("eta", humanize.Remaining(p.ETA)).
			Float64("eta_least_s", p.ETA.Min.Seconds()).Float64("eta_most_s", p.ETA.Max.Seconds())
	}
	event.Float64("rate", math.Round(p.Rate)).Int("workers", p.WorkerCount).Int("threads", p.Threads)
	logCount(event, "repeated", p.Republished)
	logCount(event, "conflicts", uint64(max(0, p.Conflicts)))
	if p.State == run.Running && p.Bound.Phrase() != "" {
		event.Str("bound", string(p.Bound))
	}
	if len(p.SharedWith) > 0 {
		event.Strs("sharing", p.SharedWith)
	}
	event.Msg("progress")
}
