package worker

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"
)

// workDone is what the worker has done since the last log line.
type workDone struct {
	tasks int
	runs  map[string]struct{}
}

// noteTask notes a task of so many prefixes that was counted.
func (w *Worker) noteTask(run string, prefixes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work.tasks++
	w.total++
	w.prefixes += uint64(prefixes)
	if w.work.runs == nil {
		w.work.runs = make(map[string]struct{})
	}
	w.work.runs[run] = struct{}{}
}

// noteStored notes that the result of a chunk was stored.
func (w *Worker) noteStored() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored++
}

// Status is what a worker does now.
type Status struct {
	Tasks     uint64   // Tasks counted since the start.
	Prefixes  uint64   // Of these tasks.
	Results   uint64   // Of chunks, stored since the start.
	Busy      int      // Threads that search, of [Config.AllThreads].
	Searching int      // Chunks in search.
	Ready     int      // Chunks that wait for a thread.
	Reporting int      // Chunks whose results are to be stored or acknowledged.
	Runs      []string // Names of the runs of all chunks held, sorted.
	Idle      string   // Why no chunk is held; empty while one is.
	// SearchTime is how long threads have searched since the start, together.
	SearchTime time.Duration
}

// Status returns what the worker does now. It may be called at any time.
func (w *Worker) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{Tasks: w.total, Prefixes: w.prefixes, Results: w.stored, Busy: w.busyThreads(), Ready: len(w.ready), SearchTime: w.searchTime}
	runs := make(map[string]struct{})
	for h := range w.held {
		runs[h.chunk.Run] = struct{}{}
		switch h.stage {
		case searching:
			s.Searching++
			if h.batch == nil {
				s.SearchTime += time.Since(h.begunAt)
			}
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
	return s
}

// busyThreads returns how many threads search. w.mu is held.
func (w *Worker) busyThreads() (threads int) {
	for b := range w.batches {
		threads += b.threads
	}
	for h := range w.held {
		if h.stage == searching && h.batch == nil {
			threads++
		}
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

// logLoop logs what the worker does, until ctx ends.
func (w *Worker) logLoop(ctx context.Context) {
	if w.cfg.ReportEvery == 0 {
		return
	}
	tick := time.NewTicker(w.cfg.ReportEvery)
	defer tick.Stop()
	waiting := time.After(waitingAfter)
	for {
		select {
		case <-waiting:
			if !w.hasWorked() {
				w.logWork()
			}
		case <-tick.C:
			w.logWork()
		case <-ctx.Done():
			return
		}
	}
}

// hasWorked reports whether the worker holds a chunk, or has counted a task since the last log
// line.
func (w *Worker) hasWorked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held) > 0 || w.work.tasks > 0
}

// logWork logs what the worker has done since the last time, or why it did nothing.
func (w *Worker) logWork() {
	w.mu.Lock()
	held := len(w.held)
	work := w.work
	w.work = workDone{}
	reason := w.idleReason()
	if work.runs == nil {
		work.runs = make(map[string]struct{})
	}
	for h := range w.held {
		work.runs[h.chunk.Run] = struct{}{}
	}
	w.mu.Unlock()

	if work.tasks == 0 && held == 0 {
		w.cfg.Log.Info().Str("reason", reason).Msg("idle")
		return
	}
	rate := float64(work.tasks) / w.cfg.ReportEvery.Seconds()
	w.cfg.Log.Info().Int("tasks", work.tasks).Float64("rate", math.Round(rate*10)/10).
		Strs("runs", slices.Sorted(maps.Keys(work.runs))).Int("held", held).Msg("working")
}
