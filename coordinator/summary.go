package main

import (
	"fmt"
	"math"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/display"
	"nqueens/pkg/humanize"
)

// summarize tells what the run came to, whatever its end: where there is a screen, a run
// that is complete gets a table, else there is a line of log.
func (c *carriage) summarize(o *coordinator.Outcome, ended error) {
	known := comparison(c.ledger, o.Total, ended)
	if ended != nil || !c.showTable(c.table(o, known)) {
		c.logEnd(o, known, ended)
	}
}

// showTable shows a table where there is a screen for it, and reports whether there is.
func (c *carriage) showTable(lines []display.Line) bool {
	screen := c.app.TTY()
	if screen == nil || c.app.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_, _ = fmt.Fprint(screen, display.Summary(lines, cli.Colors())) // who closed it does not look
	return true
}

// logEnd logs the line that ends a run.
func (c *carriage) logEnd(o *coordinator.Outcome, known string, ended error) {
	p := &o.Progress
	h := c.ledger.Header()
	event := c.app.Log.Info().Str("run", h.Run).Str("end", ending(ended)).Uint64("done", p.Done).Uint64("tasks", p.Tasks).
		Str("elapsed", humanize.Duration(p.Elapsed)).Float64(secondsField("elapsed"), p.Elapsed.Seconds()).
		Str("core_time", humanize.Duration(o.CoreTime)).Float64(secondsField("core_time"), o.CoreTime.Seconds()).
		Float64("percent", humanize.Percentage(p.WorkDone)).Str("solutions", p.Solutions.String()).
		Float64("rate", math.Round(o.Rate)).Int("workers", o.Workers).Uint64("repeated", p.Republished).Int("conflicts", p.Conflicts)
	if len(h.Manifest.Placed) > 0 {
		event.Str("placed", humanize.Squares(h.Manifest.Placed))
	}
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
func (c *carriage) table(o *coordinator.Outcome, known string) []display.Line {
	p := &o.Progress
	lines := append(c.totals(o, known), display.Line{Label: "time", Value: humanize.Duration(p.Elapsed), Remark: resumed(o)})
	if o.Rate > 0 {
		lines = append(lines, display.Line{Label: "rate", Value: humanize.Rate(o.Rate), Remark: "solutions"})
	}
	return append(lines,
		coreTime(o),
		display.Line{Label: "workers", Value: fmt.Sprint(o.Workers), Remark: "that counted"},
		display.Line{Label: "tasks", Value: fmt.Sprint(p.Tasks), Remark: fmt.Sprintf("%d repeated, %d in conflict", p.Republished, p.Conflicts)},
		c.origin(),
	)
}

// tableOfOld is that of a run that was complete already.
func (c *carriage) tableOfOld(o *coordinator.Outcome, known string) []display.Line {
	return append(c.totals(o, known),
		coreTime(o),
		display.Line{Label: "workers", Value: fmt.Sprint(o.Workers), Remark: "that counted"},
		display.Line{Label: "tasks", Value: fmt.Sprint(c.ledger.Header().Manifest.Tasks)},
		c.origin(),
	)
}

// totals are the lines that a table begins with.
func (c *carriage) totals(o *coordinator.Outcome, known string) []display.Line {
	h := c.ledger.Header()
	lines := []display.Line{{Label: "solutions", Value: humanize.Big(o.Total), Remark: verdicts[known]}}
	if placed := h.Manifest.Placed; len(placed) > 0 {
		lines = append(lines, display.Line{Label: "placed", Value: fmt.Sprint(len(placed)), Remark: "beforehand, on " + humanize.Squares(placed)})
	}
	if c.unique != nil {
		lines = append(lines, display.Line{Label: "fundamental", Value: humanize.Big(c.unique), Remark: "apart from turns and mirrors"})
	}
	return lines
}

// coreTime is the line with the time of all searches, whoever had them made.
func coreTime(o *coordinator.Outcome) display.Line {
	l := display.Line{Label: "core time", Value: humanize.Duration(o.CoreTime), Remark: "all searches together"}
	if hours := o.CoreTime.Hours(); hours >= 0.01 {
		l.Remark = fmt.Sprintf("%.3g core-hours", hours)
	}
	return l
}

// origin is the line with the name of the run.
func (c *carriage) origin() display.Line {
	return display.Line{Label: "run", Value: c.ledger.Header().Run, Remark: "coordinator verify goes through it again"}
}

// resumed says of which part of the run the time is.
func resumed(o *coordinator.Outcome) string {
	if o.Resumed == 0 {
		return ""
	}
	return fmt.Sprintf("since it was resumed with %d tasks done", o.Resumed)
}
