package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

// report is the JSON object that count prints.
type report struct {
	N        int             `json:"n"`
	Total    *string         `json:"total"` // null where no total can be given
	Known    string          `json:"known"` // "match", "mismatch" or "none"
	Run      string          `json:"run"`
	Symmetry queens.Symmetry `json:"symmetry"`
	Tasks    uint64          `json:"tasks"`
	Seconds  float64         `json:"seconds"`
	Workers  int             `json:"workers"`
}

// print writes what stdout is for: the total, alone or in a JSON object. Without a
// total it writes nothing; but a contradiction is reported as such in JSON.
func (r *report) print(stdout io.Writer, total *big.Int, err error, asJSON bool) error {
	mismatch := errors.Is(err, queens.ErrContradiction)
	if total == nil && !(asJSON && mismatch) {
		return nil
	}
	if !asJSON {
		_, err := fmt.Fprintln(stdout, total)
		return err
	}
	r.Known = "none"
	if _, known := queens.KnownTotal(r.N); known {
		r.Known = "match"
	}
	if mismatch && r.Known == "match" {
		r.Known = "mismatch"
	}
	if total != nil {
		digits := total.String()
		r.Total = &digits
	}
	return json.NewEncoder(stdout).Encode(r)
}

// summarize logs what a run came to, whatever its end.
func summarize(log zerolog.Logger, run string, o *coordinator.Outcome, err error, rejected uint64) {
	p := &o.Progress
	event := log.Info().Str("run", run).Str("end", ending(err)).Uint64("done", p.Done).Uint64("tasks", p.Tasks).
		Str("elapsed", round(p.Elapsed)).Int("workers", o.Workers).Uint64("repeated", o.Repeated).
		Int("conflicts", o.Disputes)
	if o.Resumed > 0 {
		event.Uint64("resumed_from", o.Resumed)
	}
	if extra := o.Duplicates; extra > 0 {
		event.Uint64("duplicates", extra)
	}
	if extra := o.Refused + rejected; extra > 0 {
		event.Uint64("refused", extra)
	}
	event.Msg("run ended")
}

// ending names the way in which a run ended.
func ending(err error) string {
	switch {
	case err == nil:
		return "complete"
	case errors.Is(err, queens.ErrContradiction):
		return "contradicted"
	case errors.Is(err, queens.ErrIncomplete):
		return "incomplete"
	case errors.As(err, new(cli.Signal)):
		return "stopped"
	}
	return "failed"
}

// logProgress logs the progress line.
func logProgress(app *cli.App, s progress.Snapshot) {
	if app.NoProgress {
		return
	}
	event := app.Log.Info().Str("done", fmt.Sprintf("%d/%d", s.Done, s.Tasks)).
		Str("solutions", s.Solutions.String()).Str("rate", fmt.Sprintf("%.3g/s", s.Rate)).
		Str("elapsed", round(s.Elapsed))
	if s.ETA > 0 {
		event.Str("eta", round(s.ETA))
	} else {
		event.Str("eta", "estimating")
	}
	event.Int("workers", s.Workers).Int("threads", s.Threads).Msg("progress")
}

// round makes a duration short: 1.24s, 4m12s, 3h20m0s.
func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}
