// Package report presents what commands find out: the result of a run, its progress, the
// result of its verification, lists of runs, and estimates. Each has the forms that fit it:
// a table or lines of text for people, a JSON object for programs, an event of the log. The
// package formats plain values; computing them is up to its callers.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// writeJSON writes values as JSON, one a line.
func writeJSON[T any](w io.Writer, values ...T) error {
	out := json.NewEncoder(w)
	for _, v := range values {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes rows in columns. With color, the first column is faint and the second
// bold.
func writeTable(w io.Writer, rows [][]string, color bool) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if color && i < 2 {
				row[i] = []string{"\x1b[2m", "\x1b[1m"}[i] + cell + "\x1b[0m" // ECMA-48, 8.3.117
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // a Builder returns no error
	}
	_ = table.Flush()
	_, err := io.WriteString(w, b.String())
	return err
}

// logDone adds to an event how far a run has come.
func logDone(event *zerolog.Event, s *run.Snapshot) {
	event.Uint64("done", s.Done).Uint64("tasks", s.Tasks).Float64("percent", humanize.Percentage(float64(s.WorkDone))).
		Str("solutions", s.Solutions.String())
	logDuration(event, "elapsed", s.Elapsed.Duration)
}

// logDuration adds a duration to an event, in seconds.
func logDuration(event *zerolog.Event, name string, d time.Duration) {
	event.Float64(name+"_s", d.Seconds())
}
