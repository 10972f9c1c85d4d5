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

// Result is the outcome of a run: its total and what confirms it.
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
	// core-hours of all accepted searches, also for earlier coordinators of the run
	CoreHours float64 `json:"core_hours"`
	KWh       float64 `json:"kwh,omitempty"` // energy of these, with --watts-per-thread
	run.Confirmed

	End      End           `json:"-"`
	Elapsed  time.Duration `json:"-"` // for which coordinators worked on the run
	CoreTime time.Duration `json:"-"` // of all accepted searches, also for earlier coordinators
	Count    *Count        `json:"-"` // nil if the run was finished before
	Survey   *run.Survey   `json:"-"` // nil unless one was asked for, for a [Document]
	History  []run.Sample  `json:"-"` // of the run, for a [Document]
}

// Count is what this coordinator contributed to a [Result].
type Count struct {
	Snapshot   run.Snapshot // at the end
	Rate       float64      // solutions per second, over the whole run
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
	rows := append([][]string{{"solutions", humanize.Big((*big.Int)(r.Total)), ""}}, confirmedRows(&r.Confirmed)...)
	if len(r.Placed) > 0 {
		rows = append(rows, []string{"placed", fmt.Sprint(len(r.Placed)), "beforehand, on " + humanize.Squares(r.Placed)})
	}
	if r.Unique != nil {
		rows = append(rows, []string{"fundamental", humanize.Big((*big.Int)(r.Unique)), "up to rotation and reflection"})
	}
	tasks := []string{"tasks", fmt.Sprint(r.Tasks), ""}
	elapsed := []string{"time", humanize.Duration(r.Elapsed), ""}
	rows = append(rows, elapsed)
	if c := r.Count; c != nil {
		if c.Resumed > 0 {
			elapsed[2] = fmt.Sprintf("of the run, which was resumed with %d tasks done", c.Resumed)
		}
		if c.Rate > 0 {
			rows = append(rows, []string{"rate", humanize.Rate(c.Rate), "solutions"})
		}
		tasks[2] = fmt.Sprintf("%d republished, %d disputed", c.Snapshot.Republished, c.Snapshot.Disputes)
	}
	if r.Workers > 0 { // a snapshot does not say it
		rows = append(rows, []string{"core time", humanize.Duration(r.CoreTime), coreHours(r.CoreTime.Hours(), r.KWh, "all searches together")},
			[]string{"workers", fmt.Sprint(r.Workers), "that counted"})
	}
	return writeTable(w, append(rows, tasks, []string{"run", r.Run, "coordinator verify checks it again"}), color)
}

// coreHours returns the core-hours of searches, and the energy if it is known: 12.3 core-hours, 0.0984 kWh. Of too
// few to say it returns the other text.
func coreHours(hours, kWh float64, tooFew string) string {
	switch {
	case kWh > 0:
		return humanize.Amount(hours) + " core-hours, " + humanize.Amount(kWh) + " kWh"
	case hours >= 0.01:
		return humanize.Amount(hours) + " core-hours"
	}
	return tooFew
}

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
	if r.KWh > 0 {
		event.Float64("kwh", r.KWh)
	}
	logCount(event, "resumed_from", c.Resumed)
	logCount(event, "duplicates", c.Duplicates)
	logCount(event, "refused", c.Refused)
	if r.Total != nil {
		r.logTotal(event)
		warnUnconfirmed(log, &r.Confirmed, r.Run)
	}
	event.Str(humanize.LogField, r.endLine()).Msg("run ended")
}

// LogTotal logs the total of a run that was finished before.
func (r *Result) LogTotal(log zerolog.Logger) {
	event := log.Info().Str("run", r.Run)
	r.logTotal(event)
	warnUnconfirmed(log, &r.Confirmed, r.Run)
	event.Uint64("disputes", r.By.Disputes).Str(humanize.LogField, totalLine((*big.Int)(r.Total), r.N, len(r.Placed), &r.Confirmed, r.Run)).
		Msg("the run is complete")
}

// logTotal adds to an event the total and what confirms it, without the disputes.
func (r *Result) logTotal(event *zerolog.Event) {
	event.Str("total", r.Total.String()).Str("known", string(r.Known))
	if r.Unique != nil {
		event.Str("unique", r.Unique.String())
	}
	event.Str("confirmed", string(r.Level)).Int("keys", r.By.Redundancy).Int("voters", r.By.Voters).Int("by_token", r.By.ByToken).
		Uint64("checked", r.By.Checked).Float64("share", r.By.Share()).Uint64("missed", r.By.Missed).Uint64("unadmitted", r.By.Unadmitted)
}

// logCount adds a number to an event unless it is 0.
func logCount(event *zerolog.Event, name string, number uint64) {
	if number > 0 {
		event.Uint64(name, number)
	}
}
