package main

import (
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/cli"
	"nqueens/pkg/display"
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// show is what a person sees of a run while it goes: on a terminal a live display, below
// the log; elsewhere a line of the log from time to time; and such a line on a signal. Who
// has a snapshot shown never waits for those who look.
type show struct {
	app    *cli.App
	asked  chan os.Signal
	latest atomic.Pointer[run.Progress] // nil before the first
	away   atomic.Pointer[time.Time]    // since when the server is; nil while it is there

	// From begin to end:
	display *display.Display // nil where there is no screen
	quiet   func()           // ends the lines of the log; nil where there are none
	stuck   bool             // the terminal takes nothing any more
}

// logEvery is how often progress is logged where it is not displayed.
const logEvery = 10 * time.Second

// newShow begins to take note of the signal that asks for a line; else it would end the
// process.
func newShow(app *cli.App) *show {
	s := &show{app: app, asked: make(chan os.Signal, 1)}
	if len(statusSignals) > 0 {
		signal.Notify(s.asked, statusSignals...)
	}
	return s
}

// listen answers the signal until it is told to stop.
func (s *show) listen() (stop func()) {
	return background(func(over <-chan struct{}) {
		for {
			select {
			case <-over:
				signal.Stop(s.asked)
				return
			case <-s.asked:
				if now := s.latest.Load(); now != nil {
					s.logProgress(now)
				} else {
					s.app.Log.Info().Msg("nothing is counted yet")
				}
			}
		}
	})
}

// begin opens the display, if there is a screen for it, with the log above it; else it has
// progress logged, unless that is not wanted.
func (s *show) begin() {
	if screen := s.app.TTY(); screen != nil {
		s.display = display.New(screen, cli.Colors())
		s.app.RedirectLog(s.display)
		return
	}
	if s.app.NoProgress {
		return
	}
	s.quiet = repeatedly(func() {
		if now := s.latest.Load(); now != nil {
			s.logProgress(now)
		}
	})
}

// repeatedly has progress logged from time to time, until it is told to stop.
func repeatedly(log func()) (stop func()) {
	return background(func(over <-chan struct{}) {
		tick := time.NewTicker(logEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				log()
			}
		}
	})
}

// background runs a loop beside others, until it is told to stop.
func background(loop func(over <-chan struct{})) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { loop(over) })
	return func() {
		close(over)
		running.Wait()
	}
}

// end takes the display away. Where the terminal is stopped, it is left alone, with what
// would be logged from now on.
func (s *show) end() {
	if s.quiet != nil {
		s.quiet()
	}
	if s.display == nil {
		return
	}
	if s.stuck = !s.display.Close(); !s.stuck {
		s.app.RedirectLog(nil)
	}
}

// snapshot shows the state of the run. It is called one at a time.
func (s *show) snapshot(now run.Progress) {
	s.latest.Store(&now)
	if s.display == nil {
		return
	}
	s.display.Show(now)
	s.note()
}

// serverAway tells whether there is no connection to the server.
func (s *show) serverAway(away bool) {
	since := s.away.Load()
	switch {
	case !away:
		s.away.Store(nil)
	case since == nil:
		now := time.Now()
		s.away.Store(&now)
	}
	s.note()
}

// note says on the display what the snapshot can't tell.
func (s *show) note() {
	if s.display == nil {
		return
	}
	text := ""
	if now := s.latest.Load(); now != nil && now.State == run.Running && now.Done == now.Tasks {
		text = "all tasks are counted: the ledger is gone through once more"
	} else if since := s.away.Load(); since != nil {
		text = fmt.Sprintf("server away since %s, waiting for it", since.Format(time.TimeOnly))
	}
	s.display.SetStatus(text)
}

func (s *show) logProgress(now *run.Progress) {
	event := s.app.Log.Info().Float64("percent", humanize.Percentage(now.WorkDone)).Uint64("done", now.Done).Uint64("tasks", now.Tasks).
		Str("solutions", now.Solutions.String()).Float64("rate", math.Round(now.Rate)).
		Str("elapsed", humanize.Duration(now.Elapsed)).Float64(secondsField("elapsed"), now.Elapsed.Seconds())
	if now.ETA == (run.Range{}) {
		event.Str("eta", "estimating")
	} else {
		event.Str("eta", humanize.Range(now.ETA.Min, now.ETA.Max, humanize.Duration)).Float64(secondsField("eta_least"), now.ETA.Min.Seconds()).Float64(secondsField("eta_most"), now.ETA.Max.Seconds())
	}
	event.Int("workers", now.WorkerCount).Int("threads", now.Threads)
	if now.Republished > 0 {
		event.Uint64("repeated", now.Republished)
	}
	if now.Conflicts > 0 {
		event.Int("conflicts", now.Conflicts)
	}
	event.Msg("progress")
}
