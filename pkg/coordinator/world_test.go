package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// world is a run in one process, on a fake clock: coordinators with real ledgers, and models of the queue, of
// the stream of results, of the record of the run, and of workers, some of which lie. A seed determines all that
// happens. First there are faults; then they stop, and the run must come to its end.
type world struct {
	t           *testing.T
	rng         *rand.Rand
	setup       setup
	folder      string // of the ledgers
	queue       queue
	stream      stream
	record      record
	hosts       []*host // the last one has the newest claim
	workers     []*worker
	lies        lies
	trace       trace
	faults      faults
	quiet       bool   // no more faults
	left        uint64 // tasks that were not done when the faults stopped
	deadLetters bool   // a task was dead-lettered
	ended       bool
	err         error  // with which the last coordinator ended
	ids         uint64 // given to chunks, folders and processes
	current     string // folder of the ledger of the newest coordinator
	backup      string // folder of an older copy; empty if there is none
	// disturb, unless nil, is called before each step of a named scenario, and last when a coordinator ends.
	disturb func()
	last    func(*host, *ledger.Ledger)
	gives   func(error) bool // unless nil, reports whether a run may end with an error that wraps run.ErrIncomplete
}

// faults counts what went wrong in a life.
type faults struct {
	intensity float64 // factor of all chances
	count     int
	kinds     map[string]int
}

// life is what a life of a world came to.
type life struct {
	seed   uint64
	hash   uint64 // of the trace
	faults faults
	steps  int
	took   time.Duration // simulated
}

// maxQuiet is the simulated time within which a run must end after the last fault.
const maxQuiet = 6 * time.Hour

// playLife plays a life in a bubble of synctest. It stops the test if a property does not hold.
func playLife(t *testing.T, seed uint64, change func(*world)) (l life) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		if change != nil {
			change(w)
		}
		begun := time.Now()
		defer func() {
			l = life{seed: seed, hash: w.trace.sum(), faults: w.faults, steps: w.trace.steps, took: time.Since(begun)}
			if p := recover(); p != nil {
				w.fatalf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		w.begin()
		w.play()
	})
	return l
}

// fatalf ends the life: a property does not hold.
func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s\nThe last events:\n%s", fmt.Sprintf(format, args...), w.describe(), w.trace.last())
}

// describe returns what a reader needs to understand a failure.
func (w *world) describe() string {
	text := fmt.Sprintf("The setup: %+v\n", w.setup)
	for _, p := range w.workers {
		text += fmt.Sprintf("%s, key %s, admission %v, gone %v, %s\n", p.name, p.key, p.admission, p.gone, p.traits)
	}
	if len(w.hosts) > 0 {
		h := w.hosts[len(w.hosts)-1]
		for _, q := range h.ledger.Quarantined() {
			text += fmt.Sprintf("quarantined %s: %s\n", q.Key, q.Reason)
		}
		text += fmt.Sprintf("messages %d; results %d, read up to %d; commands %d, outcomes %d, counts %d, unrecorded deliveries %d\n%s",
			len(w.queue.messages), len(w.stream.entries), h.reader.at.Sequence, len(h.commands), len(h.outcomes), len(h.counting), len(h.inbox),
			h.state())
	}
	return text
}

// newID returns a number that was not given before.
func (w *world) newID() uint64 {
	w.ids++
	return w.ids
}

// play takes the run to its end.
func (w *world) play() {
	for range w.setup.steps {
		w.step()
		if w.ended {
			return
		}
	}
	if !w.quiet {
		w.calm()
	}
	for begun := time.Now(); !w.ended; w.round() {
		if time.Since(begun) > maxQuiet {
			if w.mayWait() {
				w.abandon()
				return
			}
			w.fatalf("the run has not ended %v after the last fault", maxQuiet)
		}
	}
}

// step lets one thing happen, or a fault.
func (w *world) step() {
	w.trace.steps++
	if w.disturb != nil {
		w.disturb()
	}
	w.inject()
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	switch w.rng.IntN(12) {
	case 0, 1, 2, 3:
		w.workers[w.rng.IntN(len(w.workers))].act()
	case 4, 5:
		h.execute()
	case 6, 7:
		h.complete()
	case 8:
		h.read(1 + w.rng.IntN(4))
	case 9:
		h.deliver(1 + w.rng.IntN(4))
	case 10:
		h.endCount()
	case 11:
		w.pass(w.pause())
		h.tick()
	}
	w.endStep()
}

// pause is a time that passes between two events: mostly short.
func (w *world) pause() time.Duration {
	longest := []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second}[w.rng.IntN(4)]
	return time.Duration(w.rng.Int64N(int64(longest)))
}

// round lets everybody do all that there is to do.
func (w *world) round() {
	w.trace.steps++
	if w.disturb != nil {
		w.disturb()
	}
	for _, i := range w.rng.Perm(len(w.workers)) {
		w.workers[i].act()
	}
	busy := len(w.queue.messages) > 0
	for _, h := range w.hosts {
		for len(h.commands)+len(h.outcomes)+len(h.inbox) > 0 && !h.stopped {
			h.execute()
			h.complete()
			h.deliver(8)
			busy = true
		}
		h.read(64)
		h.endCount()
		h.tick()
	}
	if busy {
		w.pass(250 * time.Millisecond)
	} else {
		w.pass(2 * time.Second)
	}
	w.endStep()
}

// endStep removes the coordinators that have stopped, and starts another one if there is none.
func (w *world) endStep() {
	if w.ended {
		return
	}
	alive := w.hosts[:0]
	for _, h := range w.hosts {
		if !h.stopped {
			alive = append(alive, h)
		}
	}
	w.hosts = alive
	if len(w.hosts) == 0 {
		w.resume()
	}
	if w.trace.steps%64 == 0 {
		for _, h := range w.hosts {
			h.dump()
		}
	}
}

// pass lets time pass. Workers send heartbeats.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	for _, p := range w.workers {
		p.sendHeartbeat()
	}
}

// finish takes up that a coordinator has ended with a total or an error.
func (w *world) finish(h *host, err error) {
	w.note("epoch %d ends: %v", h.epoch, err)
	w.err = err
	w.checkLedger(h, err == nil)
	if w.last != nil {
		w.last(h, h.ledger)
	}
	switch {
	case err == nil:
		w.checkTotal(h)
		w.ended = true
	case errors.Is(err, run.ErrContradiction) && w.hasWrong(h.ledger):
		w.ended = true
	case errors.Is(err, run.ErrIncomplete) && (!w.quiet || h != w.newest()): // another coordinator goes on
		w.faults.note("incomplete")
	case errors.Is(err, run.ErrIncomplete) && w.mayFail(h, err):
		w.ended = true
	default:
		w.fatalf("the run ends with: %v", err)
	}
	h.stop()
	if w.ended {
		w.abandon()
	}
}

// abandon stops all coordinators.
func (w *world) abandon() {
	w.ended = true
	for _, h := range w.hosts {
		h.stop()
	}
}
