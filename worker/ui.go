package main

import (
	"os"
	"sync"
	"time"

	"nqueens/pkg/cli"
	"nqueens/pkg/display"
	"nqueens/pkg/worker"
)

// The live display of a worker on a terminal, and the rate that it shows.

// The display looks at the worker every lookInterval, and its rate is that of the last rateSpan.
const (
	lookInterval = 500 * time.Millisecond
	rateSpan     = 10 * time.Second
)

// showWork shows what a worker does on a terminal, with the log above it, until stop is called.
func showWork(app *cli.App, tty *os.File, w *worker.Worker, about display.Worker) (stop func()) {
	d := display.New(tty, app.Colors())
	app.RedirectLog(d)
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(lookInterval)
		defer tick.Stop()
		started, rates := time.Now(), rateMeter{}
		for {
			s := w.Status()
			about.Tasks, about.Searching, about.Ready, about.Runs, about.Idle = s.Tasks, s.Busy, s.Ready, s.Runs, s.Idle
			about.Elapsed, about.Rate = time.Since(started), rates.measure(time.Now(), s.Tasks)
			d.ShowWorker(about)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		showing.Wait()
		if d.Close() { // an unresponsive terminal keeps the display and the log
			app.RedirectLog(nil)
		}
	}
}

// rateMeter measures the tasks a second of the last rateSpan.
type rateMeter []rateSample

type rateSample struct {
	at    time.Time
	tasks uint64
}

// measure notes how many tasks are counted at a time, and returns the rate.
func (m *rateMeter) measure(now time.Time, tasks uint64) float64 {
	*m = append(*m, rateSample{now, tasks})
	for len(*m) > 2 && now.Sub((*m)[1].at) >= rateSpan {
		*m = (*m)[1:]
	}
	first := (*m)[0]
	seconds := now.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(tasks-first.tasks) / seconds
}
