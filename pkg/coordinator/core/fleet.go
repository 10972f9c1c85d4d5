package core

import (
	"cmp"
	"container/heap"
	"container/list"
	"slices"
	"sort"
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
	// number of names. While they are as many, a user with fewer of them pushes out those of others.
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
	chunks  int    // that it held when it was counted last: see Core.refresh

	// its places in the lists of the fleet; nil if it is in none
	inOrder, inUser, inKept, inWanting, inRefused *list.Element

	summed part       // what it adds to the sums of the fleet
	speed  *speedNode // nil unless it is present and its speed is known
}

// wants reports whether a kept request of the worker asks for work.
func (w *worker) wants() bool { return w.kept && w.request.Want > 0 }

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

// fleet has the worker processes that were heard lately. It keeps lists and sums, so that an input
// takes no longer than the logarithm of the number of workers.
type fleet struct {
	workers map[queens.Process]*worker
	heardOf uint64 // processes that were heard so far
	// all workers, by their numbers
	numbers []*worker
	// the present workers, and those that are not. Each list begins with the worker that was heard
	// first.
	heard, away *list.List
	// those whose request is kept, in the order in which they began to wait. Those that want work are
	// few while there is work; their order is that in which they are served.
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
	connected bool
	speed     float64 // of all searchers, as measured last; 0 before the first results
	// of the speeds of a searcher of each present worker; 0 before the first results
	median   float64
	measured time.Duration // when speed was measured
}

// part is what a present worker adds to the sums.
type part struct{ searchers, threads, idle int }

// sums are sums of all present workers.
type sums struct {
	part
	workers   int
	accepted  int // workers from which counts are accepted
	computers int
	witnesses map[queens.Witness]int // for each witness, accepted
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

// userWorkers is a user with the workers that are remembered, in the order in which they were last
// heard.
type userWorkers struct {
	user    string
	workers *list.List
	place   int // in the heap of usersBySize
}

// usersBySize is a heap of users. The largest comes first.
type usersBySize []*userWorkers

func (c usersBySize) Len() int           { return len(c) }
func (c usersBySize) Less(i, j int) bool { return c[i].workers.Len() > c[j].workers.Len() }
func (c usersBySize) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].place, c[j].place = i, j
}
func (c *usersBySize) Push(x any) {
	x.(*userWorkers).place = len(*c)
	*c = append(*c, x.(*userWorkers))
}
func (c *usersBySize) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// takes reports whether there is room for a process. To make room, it forgets a worker that is not
// present. If there is none, but another user has more workers than the process's user would have,
// takes returns the one of them that was heard first: see Core.takes.
func (f *fleet) takes(p queens.Process) (isRoom bool, goes *worker) {
	if f.workers[p] != nil || len(f.workers) < mostWorkers {
		return true, nil
	}
	if f.away.Len() > 0 {
		f.remove(f.away.Front().Value.(*worker))
		return true, nil
	}
	mine := 1
	if c := f.users[p.Machine.User]; c != nil {
		mine += c.workers.Len()
	}
	if most := f.largest[0].workers; most.Len() > mine {
		return false, most.Front().Value.(*worker)
	}
	return false, nil
}

// ofUser returns the workers of a user.
func (f *fleet) ofUser(user string) *userWorkers {
	c := f.users[user]
	if c == nil {
		c = &userWorkers{user: user, workers: list.New()}
		f.users[user] = c
		heap.Push(&f.largest, c)
	}
	return c
}

// hear notes a message of a process. A late delivery does not bring back a worker that has left.
func (f *fleet) hear(now time.Duration, p queens.Process, request bool) *worker {
	w := f.workers[p]
	if w == nil {
		f.heardOf++
		w = &worker{process: p, number: f.heardOf}
		f.workers[p], f.numbers = w, append(f.numbers, w)
		f.computer(w).processes++
		w.inOrder = f.away.PushBack(w)
		c := f.ofUser(p.Machine.User)
		w.inUser = c.workers.PushBack(w)
		heap.Fix(&f.largest, c.place)
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

// admit adds a present worker to the accepted or to the refused ones.
func (f *fleet) admit(w *worker) {
	if !f.accepts(w.process.Machine) {
		w.inRefused = f.refused.PushBack(w)
		return
	}
	f.sums.accepted++
	f.sums.witnesses[w.process.Machine.Witness()]++
}

// expel removes a worker from the accepted or the refused ones.
func (f *fleet) expel(w *worker) {
	if w.inRefused != nil {
		f.refused.Remove(w.inRefused)
		w.inRefused = nil
		return
	}
	f.sums.accepted--
	witness := w.process.Machine.Witness()
	f.sums.witnesses[witness]--
	if f.sums.witnesses[witness] == 0 {
		delete(f.sums.witnesses, witness)
	}
}

// refuse notes the present workers from which nothing is accepted any more, after a ban, and returns
// them.
func (f *fleet) refuse() (refused []*worker) {
	for _, w := range f.numbers {
		if w.present && w.inRefused == nil && !f.accepts(w.process.Machine) {
			f.expel(w)
			f.admit(w)
			refused = append(refused, w)
		}
	}
	return refused
}

// sum corrects what a worker adds to the sums.
func (f *fleet) sum(w *worker) {
	p := part{}
	if w.present {
		r := &w.request
		idle := max(r.Searchers-w.chunks, 0)
		p = part{r.Searchers, r.Threads, idle * r.Threads / max(r.Searchers, 1)}
	}
	f.sums.searchers += p.searchers - w.summed.searchers
	f.sums.threads += p.threads - w.summed.threads
	f.sums.idle += p.idle - w.summed.idle
	w.summed = p
	speed := w.rate.speed()
	if n := w.speed; n != nil {
		if w.present && n.speed == speed && n.searchers == p.searchers {
			return
		}
		f.speeds.remove(n)
		w.speed = nil
	}
	if w.present && speed > 0 {
		w.speed = f.speeds.add(w, speed)
	}
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

// silent returns the present worker that was heard first, if it has been silent for too long, or
// else nil.
func (f *fleet) silent(now time.Duration) *worker {
	if f.heard.Len() == 0 || !f.connected || now < f.grace {
		return nil
	}
	if w := f.heard.Front().Value.(*worker); now-w.heard >= silence {
		return w
	}
	return nil
}

// forget removes workers that have been away for long.
func (f *fleet) forget(now time.Duration) {
	for f.away.Len() > 0 {
		w := f.away.Front().Value.(*worker)
		if now-w.heard < remembered {
			return
		}
		f.remove(w)
	}
}

// remove forgets a worker that is not present.
func (f *fleet) remove(w *worker) {
	f.away.Remove(w.inOrder)
	delete(f.workers, w.process)
	i := f.after(w.number - 1)
	f.numbers = slices.Delete(f.numbers, i, i+1)
	c := f.ofUser(w.process.Machine.User)
	c.workers.Remove(w.inUser)
	heap.Fix(&f.largest, c.place)
	if c.workers.Len() == 0 {
		heap.Remove(&f.largest, c.place)
		delete(f.users, c.user)
	}
	on := f.computer(w)
	on.processes--
	if on.processes == 0 {
		f.labels.remove(on)
		delete(f.computers, on.computer)
	}
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

// measure measures the speed of all searchers together, and the median speed, at most once a
// second. Searchers without a result count as fast as the others.
func (f *fleet) measure(now time.Duration) {
	if now-f.measured < measureEvery {
		return
	}
	f.median = 0
	if n := f.speeds.len(); n > 0 {
		f.median = f.speeds.at(n / 2).speed
	}
	work, known := f.speeds.sum()
	f.speed, f.measured = work/float64(max(known, 1))*float64(f.sums.searchers), now
}
