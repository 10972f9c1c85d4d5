package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

const (
	// silence is how long a worker may send nothing before the tasks that it holds wait again.
	silence = 20 * time.Second
	// graceTime is how long after a gap no worker can become silent. In a gap, this process did not
	// run or was not connected.
	graceTime = 30 * time.Second
	// longestStep bounds the time between two inputs: more is a gap. Ticks come four times a second.
	longestStep = 2 * time.Second
	// longestKept is how long a work request is kept without an answer.
	longestKept = 5 * time.Second
	// measureEvery is the time between two measurements of the speed of all searchers.
	measureEvery = time.Second
	// remembered is how long after its last message a worker that is not present is remembered: it may
	// come back.
	remembered = 10 * time.Minute
	// mostWorkers bounds the worker processes that are remembered, because a stranger can invent any
	// number of names.
	mostWorkers = 1 << 16
)

// worker is a worker process.
type worker struct {
	process queens.Process
	number  uint64        // of the process in this run, from 1
	present bool          // it takes part: it is neither silent for too long nor has it left
	heard   time.Duration // when its last message came
	asked   time.Duration // when its last request came
	waits   time.Duration // when the first request came of those that have no answer
	request Request       // its last request, without the listed chunks; Number is 0 before the first
	kept    bool          // the request is kept: it has no answer yet
	drops   []queens.Range
	rate    rate
	tasks   uint64 // that it counted since this start
	results uint64 // recorded since this start
}

// wants reports whether a kept request of the worker asks for work.
func (w *worker) wants() bool { return w.kept && w.request.Want > 0 }

func (w *worker) takesPart() bool { return w.present }

// rate measures the mean speed of a worker's searchers over the last results.
type rate struct {
	work      float64 // estimated, as part of the run
	solutions float64 // that it found
	seconds   float64 // in which a searcher did that work
}

// memory is the search time, in seconds, after which a result counts about half as much in a rate.
const memory = 60

// add adds a result.
func (r *rate) add(work, solutions float64, searched time.Duration) {
	seconds := max(searched, time.Microsecond).Seconds()
	keep := memory / (memory + seconds)
	r.work, r.solutions, r.seconds = r.work*keep+work, r.solutions*keep+solutions,
		r.seconds*keep+seconds
}

// speed returns the work that a searcher does in a second; 0 while it is unknown.
func (r *rate) speed() float64 { return r.work / max(r.seconds, 1e-6) }

// fleet has the worker processes that were heard lately.
type fleet struct {
	workers map[queens.Process]*worker
	heardOf uint64 // processes that were heard so far
	// those whose request is kept and asks for work: few, while there is work
	wanting   map[queens.Process]*worker
	last      time.Duration // time of the last input
	grace     time.Duration // before this time, nobody is silent
	connected bool
	searchers int     // of all present workers
	speed     float64 // of all these searchers, as measured last; 0 before the first results
	// of the speeds of a searcher of each present worker; 0 before the first results
	median   float64
	measured time.Duration // when speed was measured
}

func newFleet(now time.Duration) *fleet {
	return &fleet{
		workers: map[queens.Process]*worker{}, wanting: map[queens.Process]*worker{},
		last: now, connected: true, measured: now - measureEvery,
	}
}

// advance lets time pass, and returns how much of it counts as time of the run. A gap does not
// count, and nobody becomes silent during graceTime after it.
func (f *fleet) advance(now time.Duration) time.Duration {
	step := max(now-f.last, 0)
	f.last = max(now, f.last)
	if step > longestStep {
		f.grace = now + graceTime
		return 0
	}
	return step
}

// connect notes whether the coordinator is connected. After a reconnection, nobody becomes silent
// during graceTime.
func (f *fleet) connect(now time.Duration, connected bool) {
	if connected && !f.connected {
		f.grace = now + graceTime
	}
	f.connected = connected
}

// takes reports whether there is room for a process. To make room, it forgets the workers that are
// not present.
func (f *fleet) takes(p queens.Process) bool {
	if f.workers[p] != nil || len(f.workers) < mostWorkers {
		return true
	}
	maps.DeleteFunc(f.workers, func(_ queens.Process, w *worker) bool { return !w.present })
	return len(f.workers) < mostWorkers
}

// hear notes a message of a process. A late delivery does not bring back a worker that has left.
func (f *fleet) hear(now time.Duration, p queens.Process, request bool) *worker {
	w := f.workers[p]
	if w == nil {
		f.heardOf++
		w = &worker{process: p, number: f.heardOf}
		f.workers[p] = w
	}
	w.heard = now
	if request || !w.request.Leaving {
		f.set(w, true)
	}
	return w
}

// set notes whether a worker takes part. If it does not, its request is not kept.
func (f *fleet) set(w *worker, present bool) {
	if w.present {
		f.searchers -= w.request.Searchers
	}
	w.present = present
	if present {
		f.searchers += w.request.Searchers
	} else {
		f.keep(w, false)
		w.drops = nil
	}
}

// keep notes whether the last request of a worker is kept.
func (f *fleet) keep(w *worker, kept bool) {
	w.kept = kept
	if w.wants() {
		f.wanting[w.process] = w
	} else {
		delete(f.wanting, w.process)
	}
}

// ask notes a request of a worker that is present.
func (f *fleet) ask(now time.Duration, w *worker, r *Request) {
	f.searchers += r.Searchers - w.request.Searchers
	if !w.kept {
		w.waits = now
	}
	w.request, w.asked, w.drops = *r, now, nil
	f.keep(w, true)
	w.request.Held, w.request.Invalid = nil, nil
}

// isSilent reports whether a worker has been silent for too long.
func (f *fleet) isSilent(now time.Duration, w *worker) bool {
	return w.present && f.connected && now >= f.grace && now-w.heard >= silence
}

// forget removes workers that have been away for long.
func (f *fleet) forget(now time.Duration) {
	maps.DeleteFunc(f.workers, func(_ queens.Process, w *worker) bool {
		return !w.present && now-w.heard >= remembered
	})
}

// sorted returns the workers for which wanted(w) is true, in the order of their processes.
func (f *fleet) sorted(wanted func(*worker) bool) (list []*worker) {
	for _, w := range f.workers {
		if wanted(w) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *worker) int { return compareProcesses(a.process, b.process) })
	return list
}

func compareProcesses(a, b queens.Process) int {
	return cmp.Or(a.Machine.Compare(b.Machine), cmp.Compare(a.Name, b.Name))
}

// waiting returns the workers with a kept request for work, in the order in which they began to
// wait.
func (f *fleet) waiting() []*worker {
	return slices.SortedFunc(maps.Values(f.wanting), func(a, b *worker) int {
		return cmp.Or(cmp.Compare(a.waits, b.waits), compareProcesses(a.process, b.process))
	})
}

// anybody reports whether a worker is present.
func (f *fleet) anybody() bool {
	for _, w := range f.workers {
		if w.present {
			return true
		}
	}
	return false
}

// numberOfMachines returns how many machines have a worker that is present. The machine of the
// coordinator's own worker may have other workers too.
func (f *fleet) numberOfMachines() int {
	different := make(map[computer]bool)
	for _, m := range f.machines() {
		different[computerOf(m)] = true
	}
	return len(different)
}

// machines returns the machines of present workers, in order.
func (f *fleet) machines() (machines []queens.Machine) {
	for _, w := range f.sorted((*worker).takesPart) {
		machines = append(machines, w.process.Machine)
	}
	return slices.Compact(machines)
}

// measure measures the speed of all searchers together, and the median speed, at most once a
// second. Searchers without a result count as fast as the others.
func (f *fleet) measure(now time.Duration) {
	if now-f.measured < measureEvery {
		return
	}
	speed, known := 0.0, 0
	var speeds []float64
	for _, w := range f.sorted((*worker).takesPart) { // sorted: the order changes a sum of floats
		if w.rate.speed() > 0 {
			speed += w.rate.speed() * float64(w.request.Searchers)
			known += w.request.Searchers
			speeds = append(speeds, w.rate.speed())
		}
	}
	f.median = 0
	if len(speeds) > 0 {
		slices.Sort(speeds)
		f.median = speeds[len(speeds)/2]
	}
	f.speed, f.measured = speed/float64(max(known, 1))*float64(f.searchers), now
}
