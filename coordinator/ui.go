package main

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/cli"
	"nqueens/pkg/display"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// ui presents a running count: on a terminal as a live display below the log, elsewhere as
// a log line from time to time, and on a signal as one log line. Publishing a snapshot
// never blocks on the terminal.
type ui struct {
	app            *cli.App
	notifier       *notifier // nil where nobody is to be notified
	statusRequests chan os.Signal
	latest         atomic.Pointer[run.Snapshot] // nil before the first

	// From start to stop:
	display      *display.Display // nil without a terminal
	begun        chan struct{}    // a message says that logging begins
	logging      atomic.Bool      // the progress is logged from time to time
	unresponsive bool             // the terminal accepts no output any more
}

// firstLogAfter is how long after the start of a run its progress is logged where there is no display;
// [report.ProgressInterval] has the times after that.
const firstLogAfter = 2 * time.Second

// newUI subscribes to the status signals at once: requests from before logProgress are answered too. Without a subscription the Go runtime ignores them.
func newUI(app *cli.App) *ui {
	u := &ui{app: app, statusRequests: make(chan os.Signal, 1), begun: make(chan struct{}, 1)}
	if len(statusSignals) > 0 { // no signals would mean all
		signal.Notify(u.statusRequests, statusSignals...)
	}
	return u
}

// logProgress logs the progress at each status signal, and from start to stop from time to time where there is no
// display, until the function that it returns is called.
func (u *ui) logProgress() (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		var due <-chan time.Time
		var started time.Time
		for {
			select {
			case <-done:
				return
			case <-u.begun:
				started, due = time.Now(), time.After(firstLogAfter)
			case <-due:
				due = time.After(report.ProgressInterval(time.Since(started)))
				if p := u.latest.Load(); p != nil && u.logging.Load() {
					report.LogSnapshot(u.app.Log, p)
				}
			case <-u.statusRequests:
				if p := u.latest.Load(); p != nil {
					report.LogSnapshot(u.app.Log, p)
				} else {
					u.app.Log.Info().Msg("counting has not started yet")
				}
			}
		}
	})
	return func() {
		signal.Stop(u.statusRequests)
		close(done)
		running.Wait()
	}
}

// start opens the display, with the log above it, where there is a terminal for it.
// Otherwise it starts to log the progress, unless the person wants none.
func (u *ui) start() {
	if tty := u.app.TTY(); tty != nil {
		u.display = display.New(tty, u.app.Colors())
		u.app.RedirectLog(u.display)
		return
	}
	if !u.app.NoProgress {
		u.logging.Store(true)
		u.begun <- struct{}{}
	}
}

// stop removes the display. An unresponsive terminal keeps both the display and the log,
// so that the process can end.
func (u *ui) stop() {
	u.logging.Store(false)
	if u.display == nil {
		return
	}
	if u.unresponsive = !u.display.Close(); !u.unresponsive {
		u.app.RedirectLog(nil)
	}
}

// show presents a snapshot of the run. Calls must not overlap.
func (u *ui) show(p run.Snapshot) {
	u.latest.Store(&p)
	if u.display != nil {
		u.display.Show(p)
	}
}

// setStatus displays what the snapshots do not tell.
func (u *ui) setStatus(text string) {
	if u.display != nil {
		u.display.SetStatus(text)
	}
}
