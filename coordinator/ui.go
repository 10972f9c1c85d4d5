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
	"nqueens/pkg/watch"
)

// ui presents a running count: on a terminal as a live display below the log, elsewhere as
// a log line from time to time, and on a signal as one log line. Publishing a snapshot
// never blocks on the terminal.
type ui struct {
	app               *cli.App
	statusRequests    chan os.Signal
	latest            atomic.Pointer[run.Snapshot] // nil before the first
	disconnectedSince atomic.Pointer[time.Time]    // nil while the server is connected

	// From start to stop:
	display      *display.Display // nil without a terminal
	stopLogging  func()           // nil where progress is not logged
	unresponsive bool             // the terminal accepts no output any more
}

// logInterval is how often progress is logged where there is no display.
const logInterval = 10 * time.Second

// newUI subscribes to the status signals at once: requests from before answerSignals are answered
// too. Without a subscription the Go runtime ignores them.
func newUI(app *cli.App) *ui {
	u := &ui{app: app, statusRequests: make(chan os.Signal, 1)}
	if len(statusSignals) > 0 { // no signals would mean all
		signal.Notify(u.statusRequests, statusSignals...)
	}
	return u
}

// answerSignals logs the progress at each status signal until stop is called.
func (u *ui) answerSignals() (stop func()) {
	return goLoop(func(done <-chan struct{}) {
		for {
			select {
			case <-done:
				signal.Stop(u.statusRequests)
				return
			case <-u.statusRequests:
				if p := u.latest.Load(); p != nil {
					report.LogSnapshot(u.app.Log, p)
				} else {
					u.app.Log.Info().Msg("counting has not started yet")
				}
			}
		}
	})
}

// start opens the display, with the log above it, where there is a terminal for it.
// Otherwise it starts to log the progress, unless the person wants none.
func (u *ui) start() {
	if tty := u.app.TTY(); tty != nil {
		u.display = display.New(tty, u.app.Colors())
		u.app.RedirectLog(u.display)
		return
	}
	if u.app.NoProgress {
		return
	}
	u.stopLogging = every(logInterval, func() {
		if p := u.latest.Load(); p != nil {
			report.LogSnapshot(u.app.Log, p)
		}
	})
}

// stop removes the display. An unresponsive terminal keeps both the display and the log,
// so that the process can end.
func (u *ui) stop() {
	if u.stopLogging != nil {
		u.stopLogging()
	}
	if u.display == nil {
		return
	}
	if u.unresponsive = !u.display.Close(); !u.unresponsive {
		u.app.RedirectLog(nil)
	}
}

// every calls f at each interval until stop is called.
func every(interval time.Duration, f func()) (stop func()) {
	return goLoop(func(done <-chan struct{}) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f()
			}
		}
	})
}

// goLoop runs a loop in a goroutine. The function stop closes done and waits for the end.
func goLoop(loop func(done <-chan struct{})) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { loop(done) })
	return func() {
		close(done)
		running.Wait()
	}
}

// show presents a snapshot of the run. Calls must not overlap.
func (u *ui) show(p run.Snapshot) {
	u.latest.Store(&p)
	if u.display != nil {
		u.display.Show(p)
		u.updateStatus()
	}
}

// setDisconnected reports whether the connection to the server is lost.
func (u *ui) setDisconnected(lost bool) {
	if !lost {
		u.disconnectedSince.Store(nil)
	} else {
		now := time.Now()
		u.disconnectedSince.CompareAndSwap(nil, &now)
	}
	u.updateStatus()
}

// updateStatus displays what the snapshot does not tell.
func (u *ui) updateStatus() {
	if u.display == nil {
		return
	}
	text := ""
	if p := u.latest.Load(); p != nil && p.State == run.Running && p.Done == p.Tasks {
		text = "all tasks are counted: verifying the ledger"
	} else if since := u.disconnectedSince.Load(); since != nil {
		text = watch.ServerDownText(*since)
	}
	u.display.SetStatus(text)
}
