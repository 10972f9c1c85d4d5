package main

import (
	"context"
	"math"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
	"nqueens/pkg/terminal"
)

// show is what a person sees of a run while it goes: on a terminal a live display, below
// the log; elsewhere a line of the log from time to time; and such a line on a signal.
type show struct {
	app     *cli.App
	display *terminal.Display // nil where there is no screen
	asked   chan os.Signal
	latest  atomic.Pointer[queens.Snapshot] // nil before the first
	logged  time.Time                       // when a line of progress was last due
}

// logEvery is how often progress is logged where it is not displayed.
const logEvery = 10 * time.Second

// newShow begins to listen for the signal that asks for a line; else it would end the
// process. Nothing is displayed before a run begins.
func newShow(app *cli.App) *show {
	s := &show{app: app, asked: make(chan os.Signal, 1)}
	if len(statusSignals) > 0 {
		signal.Notify(s.asked, statusSignals...)
	}
	return s
}

// begin opens the display, if there is a screen for it. The log is shown above it.
func (s *show) begin() {
	s.logged = time.Now()
	if screen := s.app.Screen(); screen != nil {
		s.display = terminal.New(screen, cli.Colors())
		s.app.Divert(s.display)
	}
}

// end takes the display away.
func (s *show) end() {
	if s.display != nil {
		s.display.Close()
		s.app.Divert(nil)
	}
}

// snapshot shows the state of the run. It is called one at a time.
func (s *show) snapshot(now queens.Snapshot) {
	s.latest.Store(&now)
	switch {
	case s.display != nil:
		s.display.Show(now)
	case !s.app.NoProgress && time.Since(s.logged) >= logEvery:
		s.logged = time.Now()
		s.logProgress(&now)
	}
}

// answer logs a line of progress whenever a signal asks for one, until ctx ends.
func (s *show) answer(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.asked:
			if now := s.latest.Load(); now != nil {
				s.logProgress(now)
			} else {
				s.app.Log.Info().Msg("nothing is counted yet")
			}
		}
	}
}

func (s *show) logProgress(now *queens.Snapshot) {
	event := s.app.Log.Info().Float64("percent", percentage(now.Work)).Uint64("done", now.Done).Uint64("tasks", now.Tasks).
		Str("solutions", now.Solutions.String()).Float64("rate", math.Round(now.Rate)).
		Str("elapsed", round(now.Elapsed)).Float64(secondsField("elapsed"), now.Elapsed.Seconds())
	if now.ETA == (queens.Range{}) {
		event.Str("eta", "estimating")
	} else {
		event.Str("eta", span(now.ETA)).Float64(secondsField("eta_least"), now.ETA.Least.Seconds()).Float64(secondsField("eta_most"), now.ETA.Most.Seconds())
	}
	event.Int("workers", now.Workers).Int("threads", now.Threads)
	if now.Repeated > 0 {
		event.Uint64("repeated", now.Repeated)
	}
	if now.Conflicts > 0 {
		event.Int("conflicts", now.Conflicts)
	}
	event.Msg("progress")
}

// percentage is a share in percent, in steps of 0.1, rounded down: 100 means all.
func percentage(share float64) float64 { return math.Floor(share*1000) / 10 }
