package report

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Result is the outcome of a run: its total and what stands behind it.
type Result struct {
	N     int          `json:"n"`     // side of the board
	Total *run.Decimal `json:"total"` // number of solutions; null if the run contradicts itself
	// how the total compares with the published one: "match", "mismatch", or "none" if none is published
	Known    queens.Comparison `json:"known"`
	Unique   *run.Decimal      `json:"unique,omitempty"` // number of fundamental solutions, with --unique
	Run      string            `json:"run"`              // name of the run
	Symmetry queens.Symmetry   `json:"symmetry"`         // "full", "mirror" or "none"
	// squares of the queens placed beforehand, each [row,column]
	Placed  []queens.Square `json:"placed,omitempty"`
	Tasks   uint64          `json:"tasks"`   // tasks of the run
	Seconds float64         `json:"seconds"` // time that this command took
	// workers with an accepted result, also for earlier coordinators of the run
	Workers int `json:"workers"`
	Confirmed

	End      End           `json:"-"`
	CoreTime time.Duration `json:"-"` // of all accepted searches, also for earlier coordinators
	Count    *Count        `json:"-"` // nil if the run was finished before
	Survey   *run.Survey   `json:"-"` // nil unless one was asked for, for a [Document]
	History  []run.Sample  `json:"-"` // of the run, for a [Document]
}

// Count is what this coordinator contributed to a [Result].
type Count struct {
	Snapshot   run.Snapshot // at the end
	Rate       float64      // solutions per second
	Resumed    uint64       // tasks in the ledger at the start
	Resumable  bool         // this machine can resume the run
	Duplicates uint64       // results that repeat an accepted one
	Refused    uint64       // messages and results that were refused
}

// End is the way in which a run ends.
type End string

// The ends.
const (
	Complete     End = "complete"
	Contradicted End = "contradicted"
	Cancelled    End = "cancelled"
	Incomplete   End = "incomplete"
	Stopped      End = "stopped"
	Failed       End = "failed"
)

// Write writes the total and, on a second line, the number of fundamental solutions if it was
// requested; or the result as a JSON object. Without a total it writes nothing, except that the
// JSON object also reports a contradiction.
func (r *Result) Write(w io.Writer, asJSON bool) error {
	switch {
	case r.Total == nil && !(asJSON && r.End == Contradicted):
		return nil
	case asJSON:
		return writeJSON(w, r)
	}
	lines := r.Total.String() + "\n"
	if r.Unique != nil {
		lines += r.Unique.String() + "\n"
	}
	_, err := io.WriteString(w, lines)
	return err
}

// WriteTable writes a result with a total as a table.
func (r *Result) WriteTable(w io.Writer, color bool) error {
	rows := append([][]string{totalRow((*big.Int)(r.Total))}, r.rows()...)
	if len(r.Placed) > 0 {
		rows = append(rows, placedRow(r.Placed))
	}
	if r.Unique != nil {
		rows = append(rows, []string{"fundamental", humanize.Big((*big.Int)(r.Unique)), "up to rotation and reflection"})
	}
	tasks := []string{"tasks", fmt.Sprint(r.Tasks), ""}
	if c := r.Count; c != nil {
		resumed := ""
		if c.Resumed > 0 {
			resumed = fmt.Sprintf("since it was resumed with %d tasks done", c.Resumed)
		}
		rows = append(rows, []string{"time", humanize.Duration(c.Snapshot.Elapsed.Duration), resumed})
		if c.Rate > 0 {
			rows = append(rows, []string{"rate", humanize.Rate(c.Rate), "solutions"})
		}
		tasks = tasksRow(&c.Snapshot)
	}
	searches := "all searches together"
	if hours := r.CoreTime.Hours(); hours >= 0.01 {
		searches = fmt.Sprintf("%.3g core-hours", hours)
	}
	return writeTable(w, append(rows,
		[]string{"core time", humanize.Duration(r.CoreTime), searches},
		[]string{"workers", fmt.Sprint(r.Workers), "that counted"},
		tasks,
		runRow(r.Run),
	), color)
}

func totalRow(total *big.Int) []string { return []string{"solutions", humanize.Big(total), ""} }

func placedRow(squares []queens.Square) []string {
	return []string{"placed", fmt.Sprint(len(squares)), "beforehand, on " + humanize.Squares(squares)}
}

func tasksRow(s *run.Snapshot) []string {
	return []string{"tasks", fmt.Sprint(s.Tasks), fmt.Sprintf("%d republished, %d disputed", s.Republished, s.Disputes)}
}

func runRow(name string) []string { return []string{"run", name, "coordinator verify checks it again"} }

// Log logs how the run ended. It requires Count.
func (r *Result) Log(log zerolog.Logger) {
	c, last := r.Count, &r.Count.Snapshot
	event := log.Info().Str("run", r.Run).Str("end", string(r.End))
	logDone(event, last)
	logDuration(event, "core_time", r.CoreTime)
	event.Float64("rate", math.Round(c.Rate)).Int("workers", r.Workers).
		Uint64("republished", last.Republished).Int("disputes", last.Disputes)
	if len(r.Placed) > 0 {
		event.Str("placed", humanize.Squares(r.Placed))
	}
	logCount(event, "resumed_from", c.Resumed)
	logCount(event, "duplicates", c.Duplicates)
	logCount(event, "refused", c.Refused)
	if r.Total != nil {
		r.logTotal(event)
	}
	event.Msg("run ended")
	if r.Total != nil {
		r.WarnUnconfirmed(log, r.Run)
	}
}

// LogTotal logs the total of a run that was finished before.
func (r *Result) LogTotal(log zerolog.Logger) {
	event := log.Info().Str("run", r.Run)
	r.logTotal(event)
	event.Uint64("disputes", r.By.Disputes).Msg("the run is complete")
	r.WarnUnconfirmed(log, r.Run)
}

// logTotal adds to an event the total and what confirms it.
func (r *Result) logTotal(event *zerolog.Event) {
	event.Str("total", r.Total.String()).Str("known", string(r.Known))
	if r.Unique != nil {
		event.Str("unique", r.Unique.String())
	}
	r.log(event)
}

// logCount adds a number to an event unless it is 0.
func logCount(event *zerolog.Event, name string, number uint64) {
	if number > 0 {
		event.Uint64(name, number)
	}
}
