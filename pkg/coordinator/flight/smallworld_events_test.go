package flight_test

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/run"
)

// event is something that can happen next.
type event struct {
	what   string
	number uint64 // of a chunk or task
	play   func()
}

func (e event) String() string { return fmt.Sprint(e.what, " ", e.number) }

// events returns all that can happen next, in an order that depends on the state only.
func (w *world) events() (all []event) {
	all = make([]event, 0, 16)
	add := func(play func(), what string, number uint64) { all = append(all, event{what, number, play}) }
	for i, o := range w.outstanding {
		add(func() { w.learn(i) }, "the coordinator learns what became of chunk", o.Chunk)
	}
	if len(w.stream) > 0 {
		add(w.read, "the coordinator reads the result of chunk", w.stream[0].chunk)
	}
	for i, o := range w.own {
		add(func() { w.endOwn(i, agreement.NotTried) }, "the coordinator has counted task", o.Task)
	}
	if w.l.IsRevoking() {
		add(w.void, "results become void", 0)
	}
	for i := range 2 {
		w.workerEvents(i, add)
	}
	add(w.pass, "time passes", 0)
	if w.faults > 0 {
		w.faultEvents(add)
	}
	if w.deaths > 0 {
		add(func() { w.deaths--; w.start() }, "the coordinator dies, another starts", 0)
	}
	return all
}

// What the two workers do.
var (
	whoTakes      = [2]string{"a takes chunk", "b takes chunk"}
	whoReports    = [2]string{"a reports chunk", "b reports chunk"}
	whoReportsOne = [2]string{"a reports the first task of chunk", "b reports the first task of chunk"}
	whoIsLost     = [2]string{"a is lost and starts again, with chunk", "b is lost and starts again, with chunk"}
)

func (w *world) workerEvents(i int, add func(func(), string, uint64)) {
	v := &w.workers[i]
	if v.holds == nil {
		for k, m := range w.queue {
			if !m.taken {
				add(func() { w.take(i, k) }, whoTakes[i], m.Chunk)
			}
		}
		return
	}
	add(func() { w.report(i, v.holds.Tasks, 0) }, whoReports[i], v.holds.Chunk)
	if v.liar {
		add(func() { w.report(i, v.holds.Tasks, 7) }, "b lies about chunk", v.holds.Chunk)
	}
	if v.holds.Tasks > 1 {
		add(func() { w.report(i, 1, 0) }, whoReportsOne[i], v.holds.Chunk)
	}
}

// faultEvents adds what may go wrong.
func (w *world) faultEvents(add func(func(), string, uint64)) {
	fault := func(play func(), what string, number uint64) { add(func() { w.faults--; play() }, what, number) }
	for k, m := range w.queue {
		fault(func() { w.queue = slices.Delete(w.queue, k, k+1) }, "the queue loses chunk", m.Chunk)
	}
	if n := len(w.stream); n > 0 {
		fault(func() { w.stream, w.unread = w.stream[:n-1], min(w.unread, n-1) }, "the stream loses the result of chunk", w.stream[n-1].chunk)
		fault(func() { w.stream = append(w.stream, w.stream[n-1]) }, "the stream repeats the result of chunk", w.stream[n-1].chunk)
	}
	for i := range 2 {
		if h := w.workers[i].holds; h != nil {
			fault(func() { w.lose(i) }, whoIsLost[i], h.Chunk)
		}
	}
	for i, o := range w.own {
		failure := agreement.Failed
		if o.Op == agreement.Referee && !o.Unlimited {
			failure = agreement.TooLong
		}
		fault(func() { w.endOwn(i, failure) }, "the coordinator can't count task", o.Task)
	}
}

// learn tells flight the outcome of a command.
func (w *world) learn(i int) {
	o := w.outstanding[i]
	w.outstanding = slices.Delete(w.outstanding, i, i+1)
	switch o.Op {
	case flight.Publish:
		w.f.Published(w.now, o.Chunk, o.Chunk)
	case flight.Check:
		w.f.Checked(w.now, o.Chunk, o.asOf, o.queued, o.taken)
	case flight.Delete:
		w.f.Deleted(w.now, o.Chunk)
	}
}

// read has the coordinator record the next result.
func (w *world) read() {
	r := w.stream[0]
	w.stream, w.unread = w.stream[1:], max(w.unread-1, 0)
	v := &w.workers[r.worker]
	if w.refuses(r.worker) {
		w.f.Returned(w.now, r.chunk, r.first, 0)
		return
	}
	for i, count := range r.counts {
		w.accept(&run.Result{
			Task: r.first + uint64(i), Count: count, Worker: v.key, Key: v.key, Admitted: v.admitted, Kernel: "k", Elapsed: time.Millisecond,
		})
	}
	w.f.Returned(w.now, r.chunk, r.first, len(r.counts))
}

func (w *world) accept(r *run.Result) {
	c := w.l.Accept(r)
	w.a.Counted(w.now, &c)
}

// endOwn ends a count of the coordinator.
func (w *world) endOwn(i int, f agreement.Failure) {
	o := w.own[i]
	w.own = slices.Delete(w.own, i, i+1)
	r := &run.Result{Task: o.Task, Count: right(o.Task), Kernel: "own", Worker: run.Referee}
	if o.Op == agreement.Check {
		r.Worker = run.Checker
		w.a.CheckEnded(o.Task, time.Millisecond, f != agreement.NotTried)
	} else {
		w.a.RefereeEnded(w.now, o.Task, o.Unlimited, f)
	}
	if f == agreement.NotTried {
		w.accept(r)
	}
	if o.Op == agreement.Check {
		w.a.Tick(w.now, w.now.Sub(time.Unix(0, 0)), w.f.LongestSearch(), w.l.IsRevoking())
	}
}

func (w *world) void() {
	for _, id := range w.l.Revoke() {
		w.a.Voided(w.now, id, w.l.Standing(id), w.l.Dispute(id))
	}
}

// take has a worker take a message.
func (w *world) take(i, k int) {
	w.queue[k].taken = true
	c := w.queue[k].Command
	w.workers[i].holds = &c
}

// report has a worker report the first tasks of its chunk, each count too great by wrong, and acknowledge the
// message.
func (w *world) report(i, first int, wrong uint64) {
	c := w.workers[i].holds
	r := report{chunk: c.Chunk, first: c.First, worker: i}
	for id := c.First; id < c.First+uint64(first); id++ {
		r.counts = append(r.counts, right(id)+wrong)
	}
	w.stream = append(w.stream, r)
	w.workers[i].holds = nil
	if k := w.find(c.Chunk); k >= 0 {
		w.queue = slices.Delete(w.queue, k, k+1)
	}
}

// lose has a worker lost. The queue delivers its chunk again.
func (w *world) lose(i int) {
	c := w.workers[i].holds
	w.workers[i].holds = nil
	if k := w.find(c.Chunk); k >= 0 {
		w.queue[k].taken = false
	}
	for _, dead := range w.f.Lost(w.now, c.Chunk, flight.Loss{Key: w.workers[i].key, Worker: w.workers[i].key, Known: true}) {
		w.a.Withdrawn(w.now, dead.Task)
	}
}

// pass lets time pass: workers send heartbeats, and the coordinator looks at what is overdue.
func (w *world) pass() {
	w.now = w.now.Add(step)
	w.a.Tick(w.now, w.now.Sub(time.Unix(0, 0)), w.f.LongestSearch(), w.l.IsRevoking())
	w.carryOut()
	held, workers := make(map[uint64]time.Time), flight.Nobody
	for i, v := range w.workers {
		switch {
		case !v.connected || w.refuses(i):
		case v.holds == nil:
			workers = flight.Idle
		default:
			held[v.holds.Chunk] = w.now
			workers = max(workers, flight.Busy)
		}
	}
	caughtUp := time.Time{}
	if len(w.stream) == 0 {
		caughtUp = w.now
	}
	w.f.Sweep(w.now, held, workers, caughtUp)
}
