package main

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// result assembles the result of a run that ended with an error, or nil.
func (c *carriage) result(o *coordinator.Outcome, ended error) *report.Result {
	h := c.ledger.Header()
	return &report.Result{
		N:        h.Manifest.N,
		Total:    (*report.Decimal)(o.Total),
		Known:    report.Comparison(audit.CompareKnown(c.ledger, o.Total, ended)),
		Unique:   (*report.Decimal)(c.unique),
		Run:      h.Run,
		Symmetry: h.Manifest.Symmetry,
		Placed:   h.Manifest.Placed,
		Tasks:    h.Manifest.Tasks,
		Seconds:  time.Since(c.start).Seconds(),
		Workers:  o.Workers,
		End:      ending(ended),
		CoreTime: o.CoreTime,
	}
}

// ending names the way in which a run ended.
func ending(err error) report.End {
	switch {
	case err == nil:
		return report.Complete
	case errors.Is(err, queens.ErrContradiction):
		return report.Contradicted
	case errors.Is(err, queens.ErrCancelled):
		return report.Cancelled
	case errors.Is(err, queens.ErrIncomplete):
		return report.Incomplete
	case errors.As(err, new(cli.Signal)):
		return report.Stopped
	}
	return report.Failed
}

// logChange logs that a worker of another process joins or leaves.
func logChange(log zerolog.Logger, change progress.Change, h *run.Heartbeat) {
	switch change {
	case progress.Joins:
		log.Info().Str("worker", h.Worker).Str("version", h.Version).Str("kernel", h.Kernel).Int("threads", h.Threads).Msg("worker joined")
	case progress.Leaves:
		log.Info().Str("worker", h.Worker).Msg("worker left")
	case progress.Stays:
	}
}

// showTable writes a result with a total as a table if stderr is a terminal that shows a
// display, and reports whether it is.
func showTable(app *cli.App, r *report.Result) bool {
	screen := app.TTY()
	if screen == nil || app.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_ = r.WriteTable(screen, cli.Colors()) // nobody reads a terminal that was closed
	return true
}
