package coordinator

import (
	"iter"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// The window's size is enough that every thread finds its next task in the queue, and
// little enough for memory and server, for a run of any size.
const (
	windowPerThread = 10
	minWindow       = 64
	maxWindow       = 8192
)

// A task's timeout is at least minTimeoutSearches times the longest search so far, and
// doubles with each attempt, at most maxDoublings times.
const (
	minTimeoutSearches = 20
	maxDoublings       = 10
)

// maxLosses is the number of workers lost while searching a task after which it is
// quarantined.
const maxLosses = 3

// maxFill is the number of tasks that one call of fill considers: those that have a
// result need no publishing.
const maxFill = 1 << 12

// window holds the tasks in flight: published, or about to be, and without an accepted
// result or with a disputed one. Tasks enter in order of id and leave when they are
// accepted.
type window struct {
	cfg         *Config
	size        int // as resize left it
	inflight    map[uint64]*inflightTask
	retryQueue  []request     // checks, republications and deletions, which take turns with next
	retryTurn   bool          // the request from nextRequest is the first of retryQueue
	next        *inflightTask // in flight, and not yet with the dispatcher
	exhausted   bool          // all tasks have been pulled
	pull        func() (queens.Task, bool)
	close       func()
	run         string
	has         func(id uint64) bool // reports whether the ledger has a result of the task
	pending     pending
	longest     time.Duration // of the searches so far
	quarantined int           // tasks in flight that are quarantined
	disputed    int           // tasks in flight that are disputed
	republished uint64
}

// inflightTask is a task in the window.
type inflightTask struct {
	task         queens.Task // Attempt is that of the last message published
	hash         uint64
	streamSeq    uint64 // of that message; 0 before the first
	busy         bool   // a request for it is queued or being executed
	checkAt      time.Time
	expiresAt    time.Time // when it is republished even if the queue still has it
	missing      bool      // its message was not in the queue at the last check
	recountLater bool      // republish it as disputed when it is no longer busy
	lostWorkers  []string  // that searched it when they were lost
	quarantined  bool
	disputed     bool
}

func newWindow(cfg *Config, run string, m *queens.Manifest, has func(id uint64) bool) *window {
	w := &window{
		cfg: cfg, run: run, has: has, inflight: make(map[uint64]*inflightTask),
		pending: pending{results: make(map[uint64][]delivery), names: make(map[string]string)},
	}
	w.pull, w.close = iter.Pull(split.Tasks(m))
	w.resize(0)
	return w
}

// resize fits the window to the number of threads connected.
func (w *window) resize(threads int) {
	w.size = min(max(windowPerThread*threads, minWindow), maxWindow)
}

// fill pulls the next task to publish if the window has room for it. It skips tasks that
// have a result, and does not publish those with pending results: it returns these
// results, to be recorded now, and whether to call fill again at once.
func (w *window) fill() (ready []delivery, more bool) {
	for range maxFill {
		if w.next != nil || w.exhausted || len(w.inflight)-w.quarantined-w.disputed >= w.size {
			return ready, len(ready) > 0
		}
		task, ok := w.pull()
		if !ok {
			w.exhausted = true
			continue
		}
		if w.has(task.ID) || w.inflight[task.ID] != nil {
			continue
		}
		f := w.add(&task)
		if results := w.pending.take(task.ID); len(results) > 0 {
			ready = append(ready, results...)
			continue
		}
		f.task.Attempt, f.busy = 1, true
		w.next = f
	}
	return ready, true
}

// add puts a task in flight, unless it is. If its results arrived before this coordinator
// published it, and are rejected, sweep publishes it.
func (w *window) add(task *queens.Task) *inflightTask {
	f := w.inflight[task.ID]
	if f == nil {
		f = &inflightTask{task: *task, hash: task.Hash()}
		f.task.Run = w.run
		w.inflight[task.ID] = f
	}
	return f
}

// nextRequest returns the next request for the dispatcher, and whether there is one.
func (w *window) nextRequest() (request, bool) {
	for len(w.retryQueue) > 0 && w.inflight[w.retryQueue[0].task.ID] == nil {
		w.retryQueue = w.retryQueue[1:] // accepted in the meantime
	}
	w.retryTurn = len(w.retryQueue) > 0 && (w.retryTurn || w.next == nil)
	switch {
	case w.retryTurn:
		return w.retryQueue[0], true
	case w.next != nil:
		return request{task: w.next.task}, true
	}
	return request{}, false
}

// sent notes that the dispatcher has taken the request that nextRequest returned last.
func (w *window) sent() {
	if w.retryTurn {
		w.retryQueue = w.retryQueue[1:]
	} else {
		w.next = nil
	}
	w.retryTurn = !w.retryTurn
}

// completed takes back a request that the dispatcher has executed.
func (w *window) completed(r request) {
	if r.published && r.task.Attempt > 1 {
		w.republished++
	}
	f := w.inflight[r.task.ID]
	if f == nil {
		return
	}
	now := time.Now()
	f.task.Attempt, f.streamSeq, f.missing, f.busy = r.task.Attempt, r.streamSeq, r.missing, false
	f.checkAt = now.Add(w.cfg.CheckAfter)
	if f.missing {
		// Its result may be on the way: a worker stores the result, then acknowledges.
		f.checkAt = now.Add(w.sweepInterval() / 2) // for the next sweep, unless that is too soon
	}
	if r.published {
		f.expiresAt = now.Add(w.timeout() << min(r.task.Attempt-1, maxDoublings))
	}
	switch {
	case f.quarantined && r.op != opDelete:
		w.enqueue(f, opDelete)
	case f.recountLater:
		f.recountLater = false
		w.enqueue(f, opPublish)
	}
}

// timeout returns how long to wait for the result of a first attempt before the task is
// republished although the queue has it.
func (w *window) timeout() time.Duration {
	return max(w.cfg.RepublishAfter, minTimeoutSearches*w.longest)
}

// sweepInterval is the time between calls of sweep.
func (w *window) sweepInterval() time.Duration { return w.cfg.CheckAfter / 4 }

// enqueue queues a request for a task. Publishing uses the next attempt.
func (w *window) enqueue(f *inflightTask, what op) {
	r := request{op: what, task: f.task, streamSeq: f.streamSeq}
	if what == opPublish {
		r.task.Attempt++
	}
	f.busy = true
	w.retryQueue = append(w.retryQueue, r)
}

// sweep finds tasks that are in flight for too long. It has the queue checked for them,
// and republishes those that were missing at the last check, which it returns as lost,
// and those past their timeout, which it returns as expired.
func (w *window) sweep() (lost, expired []*inflightTask) {
	now := time.Now()
	for _, f := range w.inflight {
		switch {
		case f.busy || f.quarantined || now.Before(f.checkAt):
			continue
		case f.missing:
			lost = append(lost, f)
		case f.streamSeq == 0: // not published: its results were rejected
		case now.Before(f.expiresAt):
			w.enqueue(f, opCheck)
			continue
		default:
			expired = append(expired, f)
		}
		w.enqueue(f, opPublish)
	}
	return lost, expired
}

// recount republishes a task whose results contradict each other, for workers other than
// those excluded. Its attempt will be beyond the given one.
func (w *window) recount(task *queens.Task, attempt uint32, excluded []string) {
	f := w.add(task)
	if f.quarantined {
		return
	}
	if !f.disputed {
		f.disputed = true
		w.disputed++
	}
	f.task.Attempt = max(f.task.Attempt, attempt)
	f.task.ExcludedWorkers = excluded[max(0, len(excluded)-queens.MaxExcludedWorkers):]
	if f.busy {
		f.recountLater = true
		return
	}
	w.enqueue(f, opPublish)
}

// noteLost notes that a worker was lost while searching a task. If it was one too many,
// noteLost quarantines the task and returns all workers lost so; otherwise nil.
func (w *window) noteLost(id uint64, worker string) []string {
	f := w.inflight[id]
	if f == nil || f.quarantined || slices.Contains(f.lostWorkers, worker) {
		return nil
	}
	f.lostWorkers = append(f.lostWorkers, worker)
	if len(f.lostWorkers) < maxLosses {
		return nil
	}
	f.quarantined, f.recountLater = true, false
	w.quarantined++
	if f.disputed { // count it once
		f.disputed = false
		w.disputed--
	}
	if !f.busy {
		w.enqueue(f, opDelete)
	}
	return f.lostWorkers
}

// hasWork reports whether a task is not yet in flight, or is in flight and neither
// quarantined nor disputed.
func (w *window) hasWork() bool {
	if !w.exhausted {
		return true
	}
	for _, f := range w.inflight {
		if !f.disputed && (!f.quarantined || f.busy) {
			return true
		}
	}
	return false
}

// accepted removes a task that has an accepted result, and notes how long its search took.
func (w *window) accepted(id uint64, search time.Duration) {
	w.longest = max(w.longest, search)
	f := w.inflight[id]
	if f == nil {
		return
	}
	if f.quarantined {
		w.quarantined--
	}
	if f.disputed {
		w.disputed--
	}
	if f == w.next {
		w.next = nil
	}
	delete(w.inflight, id)
}
