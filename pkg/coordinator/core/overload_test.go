package core

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A coordinator that gets more messages than it can read does about as much work as with few
// workers. Workers that speak are not taken for silent. When most workers have gone, it is as
// before within 30 s.
func TestOverload(t *testing.T) {
	few := newOverload(300)
	few.run(15 * time.Second)
	before := few.done()
	few.run(45 * time.Second)
	want := few.done() - before
	for _, workers := range []int{3000, 10_000} {
		o := newOverload(workers)
		o.run(15 * time.Second)
		before := o.done()
		o.run(45 * time.Second)
		done := o.done() - before
		t.Logf("%d tasks in 30 s with 300 workers, %d with %d; %d messages dropped", want, done,
			workers, o.mail.Dropped())
		if float64(done) < 0.7*float64(want) {
			t.Errorf("%d tasks with %d workers, %d with 300", done, workers, want)
		}
		if f := o.core.fleet; f.sums.workers < len(f.workers) {
			t.Errorf("%d of %d workers are silent", len(f.workers)-f.sums.workers, len(f.workers))
		}
		o.gone = workers - 30
		o.run(75 * time.Second)
		o.waited = 0
		o.run(80 * time.Second)
		if o.waited > time.Second || o.core.fleet.sums.workers != 30 {
			t.Errorf("30 s after the load, messages wait for %v, and %d workers are present", o.waited,
				o.core.fleet.sums.workers)
		}
	}
}

// overload is a core with a mailbox, and workers that are simple: each has a searcher, which takes
// 0.4 s for a task.
type overload struct {
	core    *Core
	mail    *Mailbox
	now     time.Duration
	events  events
	number  uint64
	random  *rand.Rand
	workers []*simple
	gone    int // the first workers, which have gone
	busy    bool
	waited  time.Duration // the longest wait of a message
}

const (
	// readTime is how long a coordinator at 8% of a core takes for a message: 150 µs of a core.
	readTime = 150 * time.Microsecond * 100 / 8
	taskTime = 400 * time.Millisecond
)

// simple is a worker.
type simple struct {
	o                 *overload
	index             int
	process           queens.Process
	number, delivered uint64 // of the last request and delivery
	asks, delivers    bool   // it waits for a reply
	chunks            []queens.Range
	results           []queens.Range
	searches          bool
	listed            time.Duration
}

func newOverload(workers int) *overload {
	h := &ledger.Header{Format: ledger.Format, Run: "overload", Redundancy: 1,
		Manifest: testManifest(queens.MaxN, []uint64{1e6})}
	o := &overload{mail: NewMailbox(), random: rand.New(rand.NewPCG(1, uint64(workers)))}
	o.core = New(0, ledger.NewState(h), Options{Instance: 1, At: time.Unix(1e9, 0), Version: "v",
		Shares: testShares(&h.Manifest), TaskBytes: []int{700}, ReplyBytes: 1 << 19,
		Machine: "home", Kernels: []string{generic}})
	for i := range workers {
		w := &simple{o: o, index: i,
			process: queens.Process{Machine: testkit.Machine(fmt.Sprint("m", i)), Name: "p"}}
		o.workers = append(o.workers, w)
		o.after(o.within(10*time.Second), w.ask)
	}
	o.tick()
	return o
}

func (o *overload) done() uint64 { return o.core.state.NumberDone() }

// within returns a random time below the given one.
func (o *overload) within(d time.Duration) time.Duration {
	return time.Duration(o.random.Int64N(int64(d)))
}

func (o *overload) after(d time.Duration, do func()) {
	o.number++
	heap.Push(&o.events, event{o.now + d, o.number, do})
}

func (o *overload) run(until time.Duration) {
	for o.events[0].at < until {
		next := heap.Pop(&o.events).(event)
		o.now = next.at
		next.do()
	}
	o.now = until
}

func (o *overload) tick() {
	o.after(time.Second/4, o.tick)
	unread, busy := o.mail.Unread()
	if busy {
		o.core.Busy(o.now)
	}
	for _, p := range unread {
		o.core.Heard(o.now, p)
	}
	o.core.Tick(o.now)
	o.execute()
}

// put puts a message into the mailbox. The function read gives it to the core.
func (o *overload) put(from queens.Process, isDelivery bool, read func()) {
	o.mail.Put(o.now, Message{From: from, IsDelivery: isDelivery, Content: read})
	o.read()
}

// read reads the next message, unless another one is being read.
func (o *overload) read() {
	if o.busy {
		return
	}
	message, waited, found := o.mail.Take(o.now)
	if !found {
		return
	}
	o.busy, o.waited = true, max(o.waited, waited)
	o.after(readTime, func() {
		o.busy = false
		message.Content.(func())()
		o.execute()
		o.read()
	})
}

// execute sends replies and receipts.
func (o *overload) execute() {
	c := o.core.Take()
	for _, r := range c.Replies {
		w := r.Origin.(*simple)
		o.after(time.Millisecond, func() { w.replied(&r) })
	}
	for _, r := range c.OnDisk.Receipts {
		done := r.Origin.(func())
		o.after(time.Millisecond, done)
	}
}

func (w *simple) isGone() bool { return w.index < w.o.gone }

// ask sends a request, unless a reply is awaited. If none comes within 7 s, it asks again.
func (w *simple) ask() {
	o := w.o
	if w.asks || w.isGone() {
		return
	}
	w.asks, w.listed = true, o.now
	w.number++
	r := &Request{From: w.process, Origin: w, WorkRequest: queens.WorkRequest{Number: w.number,
		Version: "v", Kernel: "avx2", Threads: 1, Searchers: 1, Want: max(0, 2-len(w.chunks))}}
	for _, chunk := range slices.Concat(w.chunks, w.results) {
		r.Held = append(r.Held, queens.Held{Range: chunk})
	}
	number := w.number
	o.put(w.process, false, func() { o.core.WorkRequested(o.now, r) })
	o.after(7*time.Second, func() {
		if w.number == number && w.asks {
			w.asks = false
			o.after(o.within(time.Second/2), w.ask)
		}
	})
}

// replied takes a reply.
func (w *simple) replied(r *Reply) {
	if !w.asks || r.Number != w.number {
		return // the reply comes too late
	}
	w.asks = false
	w.chunks = append(w.chunks, r.Chunks...)
	w.chunks = slices.DeleteFunc(w.chunks, func(c queens.Range) bool {
		return slices.Contains(r.Drop, c)
	})
	w.search()
	if len(w.chunks) == 0 {
		w.o.after(w.o.within(time.Second), w.ask)
	} else {
		w.refresh()
	}
}

// refresh lists what the worker holds if it has sent no request for 7 s.
func (w *simple) refresh() {
	listed := w.listed
	w.o.after(7*time.Second, func() {
		if w.listed == listed {
			w.ask()
		}
	})
}

// search searches the next chunk, if no other one.
func (w *simple) search() {
	if w.searches || len(w.chunks) == 0 {
		return
	}
	w.searches = true
	chunk := w.chunks[0]
	w.o.after(taskTime*time.Duration(chunk.Tasks), func() {
		w.searches = false
		if i := slices.Index(w.chunks, chunk); i >= 0 {
			w.chunks = slices.Delete(w.chunks, i, i+1)
			w.results = append(w.results, chunk)
			w.deliver()
		}
		w.search()
		w.ask()
	})
}

// deliver delivers all results, unless receipts are awaited. If none come within 7 s, it delivers
// again.
func (w *simple) deliver() {
	o := w.o
	if w.delivers || len(w.results) == 0 || w.isGone() {
		return
	}
	w.delivers = true
	w.delivered++
	number, sent := w.delivered, slices.Clone(w.results)
	d := &Delivery{From: w.process}
	for _, r := range sent {
		d.Results = append(d.Results, CheckedResult{Result: queens.Result{Range: r, Counted: r,
			Counts: make([]uint64, r.Tasks), Kernel: "avx2",
			Searched: taskTime * time.Duration(r.Tasks)}})
	}
	d.Origin = func() {
		if !w.delivers || w.delivered != number {
			return
		}
		w.delivers = false
		w.results = slices.DeleteFunc(w.results, func(r queens.Range) bool {
			return slices.Contains(sent, r)
		})
		w.deliver()
	}
	o.put(w.process, true, func() { o.core.Delivered(o.now, d) })
	o.after(7*time.Second, func() {
		if w.delivered == number && w.delivers {
			w.delivers = false
			o.after(o.within(time.Second/2), w.deliver)
		}
	})
}

// A coordinator announces itself every 2 s, but every 10 s while it has too many messages. What
// changes is announced at once.
func TestBusyAnnouncesLess(t *testing.T) {
	c := coordinatorWith(t, 1, 0)
	var at []time.Duration
	for now := time.Duration(0); now < 20*time.Second; now += time.Second / 4 {
		if now >= 6*time.Second && now < 12*time.Second {
			c.Busy(now)
		}
		c.Tick(now)
		if c.Take().Announce {
			at = append(at, now/time.Second)
		}
	}
	if want := []time.Duration{3, 5, 15, 17, 19}; !slices.Equal(at, want) {
		t.Errorf("announced at %d s, want %d s", at, want)
	}
	c.Busy(20 * time.Second)
	c.Stop(20*time.Second, nil)
	if !c.Take().Announce {
		t.Error("the end is not announced at once")
	}
}

// While there are too many messages, a worker is silent after a minute, and from 5 s later on after
// 20 s.
func TestBusySilence(t *testing.T) {
	from := process("a/1")
	const begin = 4 * time.Second
	for busy, want := range map[time.Duration]time.Duration{
		0: silence, 2 * silence: 2*silence + busyTime, 2 * silenceBusy: silenceBusy,
	} {
		c := coordinatorWith(t, 1, 0)
		tickTo(c, begin)
		c.WorkRequested(begin, &Request{From: from, WorkRequest: queens.WorkRequest{Number: 1,
			Threads: 1, Searchers: 1}})
		now := begin
		for ; c.fleet.workers[from].present; now += time.Second {
			if now <= begin+busy && busy > 0 {
				c.Busy(now)
			}
			c.Tick(now)
		}
		if got := now - time.Second - begin; got != want {
			t.Errorf("busy for %v: silent after %v, want %v", busy, got, want)
		}
	}
}
