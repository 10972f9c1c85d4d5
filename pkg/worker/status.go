package worker

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// Status returns what the worker does now. It may be called at any time.
func (w *Worker) Status() run.Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := run.Work{
		Threads: w.threads, Tasks: w.total, Prefixes: w.prefixes, Results: w.stored, Busy: w.busyThreads(), Ready: len(w.ready), SearchTime: w.searchTime,
	}
	runs := make(map[string]struct{})
	for h := range w.held {
		runs[h.chunk.Run] = struct{}{}
		switch h.stage {
		case searching:
			s.Searching++
		case reporting:
			s.Reporting++
		}
	}
	for b := range w.batches {
		s.SearchTime += b.threadTime()
	}
	s.Runs = slices.Sorted(maps.Keys(runs))
	if len(w.held) == 0 {
		s.Idle = w.idleReason()
	}
	s.Paused = w.paused
	return s
}

// busyThreads returns how many threads search. w.mu is held.
func (w *Worker) busyThreads() (threads int) {
	for b := range w.batches {
		threads += b.threads
	}
	return threads
}

// idleReason returns why the worker has no chunk. w.mu is held.
func (w *Worker) idleReason() string {
	switch {
	case !w.connected:
		return "no connection to the server"
	case len(w.shares) > 0:
		return "no chunk is waiting"
	}
	for _, k := range w.runs {
		if !k.refusedAt.IsZero() {
			return "this worker's key is not admitted"
		}
	}
	return "no run is alive"
}

// waitingAfter is how long after its start a worker that has found no work says why.
const waitingAfter = 5 * time.Second

// logLoop logs what the worker has done since the last time, or why it did nothing, until ctx ends.
func (w *Worker) logLoop(ctx context.Context) {
	if w.cfg.ReportEvery == 0 {
		return
	}
	tick := time.NewTicker(w.cfg.ReportEvery)
	defer tick.Stop()
	first := time.After(waitingAfter)
	logged := uint64(0) // tasks in earlier lines
	for {
		early := false
		select {
		case <-first:
			early = true
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s := w.Status()
		switch tasks := s.Tasks - logged; {
		case tasks == 0 && s.Paused != "": // setPaused has logged it
		case tasks == 0 && s.Idle != "":
			w.cfg.Log.Info().Str("reason", s.Idle).Msg("idle")
		case !early:
			rate, runs := float64(tasks)/w.cfg.ReportEvery.Seconds(), w.takeWorked(s.Runs)
			w.cfg.Log.Info().Uint64("tasks", tasks).Float64("rate", math.Round(rate*10)/10).
				Strs("runs", runs).Int("held", s.Ready+s.Searching+s.Reporting).Msg("working")
			logged = s.Tasks
		}
	}
}

// takeWorked returns the runs for which the worker has worked since the last call, with those held now.
func (w *Worker) takeWorked(held []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range held {
		w.worked[run] = struct{}{}
	}
	defer clear(w.worked)
	return slices.Sorted(maps.Keys(w.worked))
}
