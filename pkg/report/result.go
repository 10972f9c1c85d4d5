package report

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// Result is the result of a run. Its JSON fields are fixed.
type Result struct {
	N int `json:"n"` // side of the board
	// number of solutions; null if the run is contradicted
	Total *queens.Decimal `json:"total"`
	// with the published total: "match", "mismatch" or "none"
	Known queens.Comparison `json:"known"`
	// number of fundamental solutions, with --unique
	Unique   *queens.Decimal `json:"unique,omitempty"`
	Run      string          `json:"run"`      // name of the run
	Method   queens.Method   `json:"method"`   // "prefixes" or "halves"
	Symmetry queens.Symmetry `json:"symmetry"` // "full", "mirror" or "none"
	// squares of the queens placed beforehand, each [row,column]
	Placed  []queens.Square `json:"placed,omitempty"`
	Tasks   uint64          `json:"tasks"`   // tasks of the run
	Seconds float64         `json:"seconds"` // time that this command took
	// worker processes whose counts are in the total
	Workers           int              `json:"workers"`
	*queens.Confirmed                  // nil without a total
	Last              *queens.Snapshot `json:"-"` // of the run
	Verify            string           `json:"-"` // what to type to verify the run
}

// NewResult returns the result of a run, from its last snapshot, the number of fundamental
// solutions or nil, the time that the command took, and the number of worker processes whose counts
// are in the total.
func NewResult(last *queens.Snapshot, unique *big.Int, took time.Duration, workers int) *Result {
	return &Result{
		N: last.N, Total: last.Total, Known: last.Known(), Unique: (*queens.Decimal)(unique),
		Run:    last.Run,
		Method: last.Method, Symmetry: last.Symmetry, Placed: last.Placed, Tasks: last.Tasks,
		Seconds: math.Round(took.Seconds()*1e3) / 1e3,
		Workers: workers, Confirmed: last.Confirmed, Last: last,
	}
}

// Write writes the total and, on a second line, the number of fundamental solutions if there is
// one. As JSON it writes the result as an object. Without a total it writes nothing, except the
// JSON object of a contradicted run.
func (r *Result) Write(w io.Writer, asJSON bool) error {
	switch {
	case r.Total == nil && !(asJSON && r.Last.State == queens.Contradicted):
		return nil
	case asJSON:
		return WriteJSON(w, r)
	}
	lines := r.Total.String() + "\n"
	if r.Unique != nil {
		lines += r.Unique.String() + "\n"
	}
	_, err := io.WriteString(w, lines)
	return err
}

// Summary returns the rows of a table about a result, which must have a total. The parameter
// earlier is the number of tasks that were done before this command began.
func (r *Result) Summary(earlier uint64) [][]string {
	s := r.Last
	rows := [][]string{
		{"solutions", number(r.Total), r.board()},
		{"confirmed", string(r.Level), ConfirmedBy(r.Confirmed)},
	}
	if r.Unique != nil {
		rows = append(rows, []string{"fundamental", number(r.Unique),
			"solutions up to rotation and reflection"})
	}
	rows = append(rows, []string{"time", humanize.Duration(s.Elapsed.Duration), resumed(earlier)})
	if rate := r.meanRate(); rate > 0 {
		rows = append(rows, []string{"rate", humanize.Rate(rate), "solutions, the mean of the run"})
	}
	tasks := []string{"tasks", humanize.Int(r.Tasks), ""}
	if s.Checks != nil && (s.Disputes > 0 || s.Recounts > 0) {
		tasks[2] = fmt.Sprintf("%s, %s", humanize.Plural(s.Disputes, "dispute"),
			humanize.Plural(s.Recounts, "recount"))
	}
	rows = append(rows, tasks)
	if r.Workers > 0 {
		rows = append(rows, []string{"workers", humanize.Int(r.Workers),
			"on " + humanize.Plural(r.By.Machines, "machine")})
	}
	if r.By.Banned > 0 {
		rows = append(rows, []string{"banned", humanize.Int(r.By.Banned),
			"machines whose counts are void"})
	}
	return append(rows, []string{"run", r.Run, "audit it again: " + r.Verify})
}

// board says what was counted.
func (r *Result) board() string {
	if len(r.Placed) > 0 {
		return fmt.Sprintf("n = %d, with queens placed on %s", r.N, humanize.Squares(r.Placed))
	}
	if r.Method == queens.Halves {
		return fmt.Sprintf("n = %d, by the method %s", r.N, r.Method)
	}
	return fmt.Sprintf("n = %d", r.N)
}

func resumed(earlier uint64) string {
	if earlier == 0 {
		return ""
	}
	return fmt.Sprintf("of the run, which went on with %s done", humanize.Plural(earlier, "task"))
}

// meanRate returns the solutions per second over the whole run. It returns 0 if the run was too
// short to measure.
func (r *Result) meanRate() float64 {
	const shortest = 100 * time.Millisecond
	if r.Total == nil || r.Last.Elapsed.Duration < shortest {
		return 0
	}
	total, _ := new(big.Float).SetInt((*big.Int)(r.Total)).Float64()
	return total / r.Last.Elapsed.Seconds()
}

// Log logs how a run ended.
func (r *Result) Log(log zerolog.Logger) {
	event := log.Info().Str("run", r.Run).Str("state", string(r.Last.State))
	logDone(event, r.Last)
	text := fmt.Sprintf("run %s is %s at %s", r.Run, r.Last.State, doneOf(r.Last))
	if r.Total != nil {
		event.Str("total", r.Total.String()).Str("known", string(r.Known)).Str("confirmed",
			string(r.Level)).
			Interface("confirmed_by", r.By).Int("workers", r.Workers)
		if rate := r.meanRate(); rate > 0 {
			event.Float64("rate", math.Round(rate))
		}
		text = fmt.Sprintf("%s solutions for %s: %s; run %s took %s", number(r.Total), r.board(),
			ConfirmedBy(r.Confirmed), r.Run, humanize.Duration(r.Last.Elapsed.Duration))
		if r.Level == queens.Unconfirmed || r.Level == queens.Sampled {
			text += "; to count every task again: " + r.Verify + " --sample 100%"
		}
	}
	event.Str(humanize.LogField, text).Msg("the run ended")
}

// Stopped returns lines about a stopped run: its progress, the folder of its ledger, the time to
// go, and how to resume it. The second snapshot is the last one before the run stopped, and has the
// time to go; it may be nil. If folder is "", the lines say that the ledger is gone.
func Stopped(s, before *queens.Snapshot, folder, resume string) string {
	left := "not known"
	if before != nil && before.Live != nil && before.TimeToGo != nil {
		left = humanize.Remaining(before.Least.Duration, before.Most.Duration) +
			" with " + humanize.Plural(before.Threads, "thread")
	}
	lines := []string{
		"done so far:  " + doneOf(s),
		"recorded in:  " + folder,
		"time to go:   " + left,
		"to resume:    " + resume,
	}
	if folder == "" {
		lines = []string{lines[0],
			"lost:         the ledger was removed while the run counted, and its counts with it"}
	}
	return strings.Join(lines, "\n") + "\n"
}
