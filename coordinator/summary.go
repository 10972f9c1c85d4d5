package main

import (
	"fmt"
	"math"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/terminal"
)

// summarize tells what the run came to, whatever its end: where there is a screen, a run
// that is complete gets a table, else there is a line of log.
func (c *carriage) summarize(o *coordinator.Outcome, ended error) {
	known := comparison(c.ledger, o.Total, ended)
	screen := c.app.Screen()
	if ended != nil || screen == nil || c.app.Log.GetLevel() > zerolog.InfoLevel {
		c.logEnd(o, known, ended)
		return
	}
	_, _ = fmt.Fprint(screen, terminal.Summary(c.table(o, known), cli.Colors())) // who closed it does not look
}

// logEnd logs the line that ends a run.
func (c *carriage) logEnd(o *coordinator.Outcome, known string, ended error) {
	p := &o.Progress
	event := c.app.Log.Info().Str("run", c.ledger.Header().Run).Str("end", ending(ended)).Uint64("done", p.Done).Uint64("tasks", p.Tasks).
		Str("elapsed", round(p.Elapsed)).Float64(secondsField("elapsed"), p.Elapsed.Seconds()).
		Str("core_time", round(o.Search)).Float64(secondsField("core_time"), o.Search.Seconds()).
		Float64("rate", math.Round(o.Rate)).Int("workers", o.Workers).Uint64("repeated", p.Repeated).Int("conflicts", p.Conflicts)
	if o.Resumed > 0 {
		event.Uint64("resumed_from", o.Resumed)
	}
	if o.Duplicates > 0 {
		event.Uint64("duplicates", o.Duplicates)
	}
	if refused := o.Refused + c.bus.Rejected(); refused > 0 {
		event.Uint64("refused", refused)
	}
	if o.Total != nil {
		event.Str("total", o.Total.String()).Str("known", known)
	}
	if c.unique != nil {
		event.Str("unique", c.unique.String())
	}
	event.Msg("run ended")
}

// verdicts say in words what known says in one.
var verdicts = map[string]string{
	"match": "is the published total (OEIS A000170)",
	"none":  "no published total to compare it with",
}

// table is the summary of a complete run.
func (c *carriage) table(o *coordinator.Outcome, known string) []terminal.Line {
	p := &o.Progress
	lines := []terminal.Line{{Label: "solutions", Value: terminal.Count(o.Total), Remark: verdicts[known]}}
	if c.unique != nil {
		lines = append(lines, terminal.Line{Label: "fundamental", Value: terminal.Count(c.unique), Remark: "apart from turns and mirrors"})
	}
	lines = append(lines,
		terminal.Line{Label: "time", Value: round(p.Elapsed), Remark: resumed(o)},
		terminal.Line{Label: "search", Value: round(o.Search), Remark: fmt.Sprintf("%.3g core-hours", o.Search.Hours())},
		terminal.Line{Label: "rate", Value: terminal.Rate(o.Rate), Remark: "solutions"},
		terminal.Line{Label: "workers", Value: fmt.Sprint(o.Workers)},
		terminal.Line{Label: "tasks", Value: fmt.Sprint(p.Tasks), Remark: fmt.Sprintf("%d repeated, %d in conflict", p.Repeated, p.Conflicts)},
		terminal.Line{Label: "run", Value: c.ledger.Header().Run, Remark: "coordinator verify goes through it again"},
	)
	return lines
}

// resumed says of which part of the run the time is.
func resumed(o *coordinator.Outcome) string {
	if o.Resumed == 0 {
		return ""
	}
	return fmt.Sprintf("since it was resumed with %d tasks done", o.Resumed)
}
