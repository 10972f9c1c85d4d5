package core

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"nqueens/pkg/queens"
)

// Snapshot returns the facts of the run. It leaves out Rate, TimeToGo and Remaining, which a
// [progress.Meter] measures, and what confirms the total, because that takes a pass over all tasks.
func (c *Core) Snapshot(now time.Duration) queens.Snapshot {
	s := c.state.Snapshot(c.workDone())
	s.State, s.At, s.Elapsed.Duration = queens.Running, c.at(now), c.clock.wall
	s.Live = &queens.Live{
		Waiting: c.queue.waits(), Held: uint64(len(c.queue.holders)),
		Machines: c.fleet.numberOfMachines(),
		Repeated: c.numbers.repeated, Refused: c.numbers.refused, Lost: c.numbers.lost,
	}
	if c.wait.Reason != "" && c.over == nil {
		wait := c.wait
		s.Waits = &wait
	}
	if c.over != nil {
		s.State, s.Total = c.over.State, (*queens.Decimal)(c.over.Total)
	}
	labels, processes := c.fleet.labels(), c.fleet.processes()
	for _, w := range c.fleet.sorted((*worker).takesPart) {
		shown := c.snapshotOf(now, w)
		on := computerOf(w.process.Machine)
		shown.Label = labels[on]
		if processes[on] > 1 {
			shown.Label += "/" + shown.Process
		}
		s.Workers++
		s.Threads += shown.Threads
		s.IdleThreads += c.idle(w) * shown.Threads / max(w.request.Searchers, 1)
		s.WorkerList = append(s.WorkerList, shown)
	}
	slices.SortStableFunc(s.WorkerList, func(a, b queens.Worker) int {
		return cmp.Compare(b.Longest.Duration, a.Longest.Duration)
	})
	s.WorkerList = s.WorkerList[:min(len(s.WorkerList), queens.MaxWorkers)]
	return s
}

// snapshotOf returns the facts of a worker.
func (c *Core) snapshotOf(now time.Duration, w *worker) queens.Worker {
	s := queens.Worker{
		Machine: w.process.Machine, Process: strconv.FormatUint(w.number, 10), Kernel: w.request.Kernel,
		Version: w.request.Version,
		Threads: w.request.Threads, Tasks: w.tasks, Held: c.queue.tasksOf(w.process),
		Rate: w.rate.solutions / max(w.rate.seconds, 1e-6) * float64(w.request.Searchers),
		// the last message may be younger than now
		LastSeen: queens.Seconds{Duration: max(now-w.heard, 0)},
	}
	for _, h := range c.queue.holds[w.process] {
		if h.begun {
			s.Longest.Duration = max(s.Longest.Duration, now-h.began)
		}
	}
	return s
}
