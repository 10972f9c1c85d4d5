package core

import (
	"cmp"
	"container/list"
	"sort"
	"time"

	"nqueens/pkg/queens"
)

// longestKept is how long a work request is kept without an answer.
const longestKept = 5 * time.Second

// fleet has the worker processes that were heard lately. It keeps lists and sums, so that an input
// takes no longer than the logarithm of the number of workers.
type fleet struct {
	workers map[queens.Process]*worker
	heardOf uint64 // processes that were heard so far
	// all workers, by their numbers
	numbers []*worker
	// heard has the present workers, and away the others. Each list begins with the worker whose last
	// message is the oldest.
	heard, away *list.List
	// kept has the workers whose request is kept, in the order in which they began to wait. wanting
	// has those of them that want work, in the order in which they are served: few while work waits.
	kept, wanting *list.List
	refused       *list.List // present workers from which nothing is accepted
	accepts       func(queens.Machine) bool
	sums          sums
	users         map[string]*userWorkers
	largest       usersBySize // as a heap
	speeds        speeds
	computers     map[computer]*computerFacts
	labels        labels

	last      time.Duration // time of the last input
	grace     time.Duration // before this time, nobody is silent
	busy      time.Duration // before this time, one may be silent for longer
	connected bool
	speed     float64 // of all searchers, as measured last; 0 before the first results
	// of the speeds of a searcher of each present worker; 0 before the first results
	median   float64
	measured time.Duration // when speed was measured
}

// newFleet returns an empty fleet. The function accepts says whether counts of a machine are
// accepted.
func newFleet(now time.Duration, accepts func(queens.Machine) bool) *fleet {
	return &fleet{
		workers: map[queens.Process]*worker{}, heard: list.New(), away: list.New(),
		kept: list.New(), wanting: list.New(), refused: list.New(), accepts: accepts,
		users:     map[string]*userWorkers{},
		sums:      sums{witnesses: map[queens.Witness]int{}},
		computers: map[computer]*computerFacts{}, labels: newLabels(),
		last: now, connected: true, measured: now - measureEvery,
	}
}

// hear notes a message of a process. A late delivery does not bring back a worker that has left.
func (f *fleet) hear(now time.Duration, p queens.Process, request bool) *worker {
	w := f.workers[p]
	if w == nil {
		w = f.add(p)
	}
	f.ofUser(p.Machine.User).workers.MoveToBack(w.inUser)
	w.heard = now
	if request || !w.request.Leaving {
		f.set(w, true)
	}
	if w.present {
		f.heard.MoveToBack(w.inOrder)
	} else {
		f.away.MoveToBack(w.inOrder)
	}
	return w
}

// set notes whether a worker takes part. If it does not, its request is not kept.
func (f *fleet) set(w *worker, present bool) {
	if !present {
		f.keep(w, false)
		w.drops = nil
	}
	if present == w.present {
		return
	}
	from, to, change := f.away, f.heard, 1
	if !present {
		from, to, change = f.heard, f.away, -1
	}
	w.present = present
	from.Remove(w.inOrder)
	w.inOrder = to.PushBack(w)
	on := f.computer(w)
	if on.present == 0 || on.present+change == 0 {
		f.sums.computers += change
	}
	on.present += change
	f.sums.workers += change
	if present {
		f.admit(w)
	} else {
		f.expel(w)
	}
	f.sum(w)
}

// keep notes whether the last request of a worker is kept.
func (f *fleet) keep(w *worker, kept bool) {
	w.kept = kept
	for _, place := range []struct {
		in   **list.Element
		list *list.List
		is   bool
	}{{&w.inKept, f.kept, kept}, {&w.inWanting, f.wanting, w.wants()}} {
		switch {
		case place.is && *place.in == nil:
			*place.in = place.list.PushBack(w)
		case !place.is && *place.in != nil:
			place.list.Remove(*place.in)
			*place.in = nil
		}
	}
}

// ask notes a request of a worker that is present.
func (f *fleet) ask(now time.Duration, w *worker, r *Request) {
	if !w.kept {
		w.waits = now
	}
	w.request, w.asked, w.drops = *r, now, nil
	f.keep(w, true)
	w.request.Held, w.request.Invalid = nil, nil
	if on := f.computer(w); on.host == "" && r.Host != "" {
		f.labels.change(on, r.Host)
	}
	f.sum(w)
}

// after returns the index of the first worker with a higher number than the given one.
func (f *fleet) after(number uint64) int {
	return sort.Search(len(f.numbers), func(i int) bool { return f.numbers[i].number > number })
}

func compareProcesses(a, b queens.Process) int {
	return cmp.Or(a.Machine.Compare(b.Machine), cmp.Compare(a.Name, b.Name))
}

// first returns the first workers of a list, up to the given number.
func (f *fleet) first(of *list.List, most int) (workers []*worker) {
	for e := of.Front(); e != nil && len(workers) < most; e = e.Next() {
		workers = append(workers, e.Value.(*worker))
	}
	return workers
}

// anybody reports whether a worker is present.
func (f *fleet) anybody() bool { return f.sums.workers > 0 }
