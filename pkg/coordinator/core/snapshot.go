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
	c.refresh()
	sums := &c.fleet.sums
	s := c.state.Snapshot(c.workDone())
	s.State, s.At, s.Elapsed.Duration = queens.Running, c.at(now), c.clock.wall
	s.Live = &queens.Live{
		Waiting: c.queue.waits(), Held: uint64(len(c.queue.holders)),
		Machines: sums.computers, Workers: sums.workers, Threads: sums.threads, IdleThreads: sums.idle,
		Repeated: c.numbers.repeated, Refused: c.numbers.refused, Lost: c.numbers.lost,
	}
	if c.wait.Reason != "" && c.over == nil {
		wait := c.wait
		s.Waits = &wait
	}
	if c.over != nil {
		s.State, s.Total = c.over.State, (*queens.Decimal)(c.over.Total)
	}
	for _, w := range c.shown() {
		s.WorkerList = append(s.WorkerList, c.snapshotOf(now, w))
	}
	slices.SortStableFunc(s.WorkerList, func(a, b queens.Worker) int {
		return cmp.Or(isFirst(b)-isFirst(a), cmp.Compare(b.Longest.Duration, a.Longest.Duration))
	})
	return s
}

// isFirst returns 1 for a worker that comes before others, or else 0.
func isFirst(w queens.Worker) int {
	if w.IsSilent() || w.Banned {
		return 1
	}
	return 0
}

// shown returns the present workers that a snapshot lists: all, or else those that matter most. A
// fifth each are banned, the slowest and the fastest, if there are as many. The others were heard
// longest ago: silent ones, if there are any. All are in the order of their processes.
func (c *Core) shown() (list []*worker) {
	const part = queens.MaxWorkers / 5
	f, chosen := c.fleet, make(map[*worker]bool)
	choose := func(w *worker) {
		if !chosen[w] && len(list) < queens.MaxWorkers {
			chosen[w], list = true, append(list, w)
		}
	}
	for _, w := range f.first(f.refused, part) {
		choose(w)
	}
	for i := range min(part, f.speeds.len()) {
		choose(f.speeds.at(i).worker)
		choose(f.speeds.at(f.speeds.len() - 1 - i).worker)
	}
	for _, w := range f.first(f.heard, queens.MaxWorkers) {
		choose(w)
	}
	slices.SortFunc(list, func(a, b *worker) int { return compareProcesses(a.process, b.process) })
	return list
}

// Workers returns the facts of the present workers with higher numbers than the given one, in the
// order of their numbers, at most queens.MaxPage. It also says from which number to go on; 0 at the
// end.
func (c *Core) Workers(now time.Duration, number uint64) (page []queens.Worker, next uint64) {
	for _, w := range c.fleet.numbers[c.fleet.after(number):] {
		switch {
		case len(page) == queens.MaxPage:
			return page, next
		case w.present:
			page, next = append(page, c.snapshotOf(now, w)), w.number
		}
	}
	return page, 0
}

// snapshotOf returns the facts of a worker.
func (c *Core) snapshotOf(now time.Duration, w *worker) queens.Worker {
	s := queens.Worker{
		Machine: w.process.Machine, Label: c.fleet.labelOf(w), Banned: w.inRefused != nil,
		Process: strconv.FormatUint(w.number, 10), Kernel: w.request.Kernel,
		Version: w.request.Version,
		Threads: w.request.Threads, Tasks: w.tasks, Held: c.queue.tasksOf(w.process),
		// the last message may be younger than now
		LastSeen: queens.Seconds{Duration: max(now-w.heard, 0)},
	}
	if w.rate.seconds > 0 {
		s.Rate = &queens.Rate{
			PerSecond: w.rate.solutions / w.rate.seconds * float64(w.request.Searchers)}
	}
	for _, h := range c.queue.holds[w.process] {
		if h.begun {
			s.Longest.Duration = max(s.Longest.Duration, now-h.began)
		}
	}
	return s
}
