package coordinator

import (
	"iter"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// The window is the number of tasks that are out at once: enough for every thread
// to have its next, few enough for memory and server, whatever the run's size.
const (
	windowPerThread = 10
	minWindow       = 64
	maxWindow       = 8192
)

// Bounds on patience: how often it may double, and how many times the longest search
// so far it must at least be.
const (
	maxDoublings       = 10
	minTimeoutSearches = 20
)

// maxLosses is how many workers that vanish with a task in their hands are enough for it
// to be set aside.
const maxLosses = 3

// maxFill is how many tasks are drawn in one go: many may need no publishing.
const maxFill = 1 << 12

// window holds the tasks that are out: published, or about to be, and without an
// acceptedBefore result or with one in dispute. Tasks come in by order of id and leave when
// they are accepted.
type window struct {
	checkAfter, republishAfter time.Duration

	size        int // of the window, as resize left it
	inflight    map[uint64]*inflightTask
	retryQueue  []request     // looks, repetitions and withdrawals to be sent, in turn with fresh tasks
	retryTurn   bool          // that of again
	next        *inflightTask // drawn, and not sent yet
	exhausted   bool          // all tasks
	pull        func() (queens.Task, bool)
	close       func()
	run         string
	has         func(id uint64) bool // whether the ledger has it
	pending     *pending
	longest     time.Duration // of the searches so far
	quarantined int           // flights that are set aside
	disputed    int           // flights of tasks in dispute
	republished uint64
}

// inflightTask is a task that is out.
type inflightTask struct {
	task         queens.Task // Attempt is that of the last message published
	hash         uint64
	streamSeq    uint64 // of that message in the queue
	busy         bool   // with the mail
	recountLater bool   // it is to be published again, kept from others than before
	checkAt      time.Time
	expiresAt    time.Time
	lostWorkers  []string // workers that vanished with it in their hands
	quarantined  bool     // for good: it was one of theirs too often
	disputed     bool     // it has results, which contradict each other
}

func newWindow(cfg *Config, run string, m *queens.Manifest, has func(id uint64) bool) *window {
	w := &window{checkAfter: cfg.CheckAfter, republishAfter: cfg.RepublishAfter, run: run, has: has, inflight: make(map[uint64]*inflightTask), pending: newPending()}
	w.pull, w.close = iter.Pull(split.Tasks(m))
	w.resize(0)
	return w
}

// resize fits the window to the number of threads at work.
func (w *window) resize(threads int) {
	w.size = min(max(windowPerThread*threads, minWindow), maxWindow)
}

// nextRequest returns the next errand, and whether there is one.
func (w *window) nextRequest() (request, bool) {
	for len(w.retryQueue) > 0 && w.inflight[w.retryQueue[0].task.ID] == nil {
		w.retryQueue = w.retryQueue[1:] // accepted meanwhile
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

// fill brings the next fresh task where the window has room for it. Tasks that have
// a result are passed over, and those whose result came early are not published. It
// returns such results, to be entered now, and whether to draw again at once.
func (w *window) fill() (ripe []delivery, more bool) {
	for range maxFill {
		if w.next != nil || w.exhausted || len(w.inflight)-w.quarantined-w.disputed >= w.size {
			return ripe, len(ripe) > 0
		}
		task, ok := w.pull()
		if !ok {
			w.exhausted = true
			continue
		}
		if w.has(task.ID) || w.inflight[task.ID] != nil {
			continue
		}
		if came := w.pending.take(task.ID); len(came) > 0 {
			w.track(&task)
			ripe = append(ripe, came...)
			continue
		}
		w.next = w.add(&task)
		w.next.task.Attempt, w.next.busy = 1, true
	}
	return ripe, true
}

// add makes a flight of a task.
func (w *window) add(task *queens.Task) *inflightTask {
	f := &inflightTask{task: *task, hash: task.Hash()}
	f.task.Run = w.run
	w.inflight[task.ID] = f
	return f
}

// track takes up a task whose results have come without it being given out. Where they
// rejectReason, the sweeper publishes it.
func (w *window) track(task *queens.Task) {
	if w.inflight[task.ID] == nil && !w.has(task.ID) {
		w.add(task)
	}
}

// sent notes that the mail has taken the errand that next returned.
func (w *window) sent(request) {
	if w.retryTurn {
		w.retryQueue = w.retryQueue[1:]
	} else {
		w.next = nil
	}
	w.retryTurn = !w.retryTurn
}

// completed notes where the mail has left a task.
func (w *window) completed(j request) {
	if j.published && j.task.Attempt > 1 {
		w.republished++
	}
	f, out := w.inflight[j.task.ID]
	if !out {
		return
	}
	now := time.Now()
	if j.published {
		f.expiresAt = now.Add(w.timeout() << min(j.task.Attempt-1, maxDoublings))
	}
	f.task.Attempt, f.streamSeq, f.busy = j.task.Attempt, j.streamSeq, false
	f.checkAt = now.Add(w.checkAfter)
	switch {
	case f.quarantined && j.op != opDelete:
		w.enqueue(f, opDelete)
	case f.recountLater:
		f.recountLater = false
		w.enqueue(f, opPublish)
	}
}

// timeout is how long to wait for a result before the task is published again,
// whatever the queue says: long beside the longest search so far.
func (w *window) timeout() time.Duration {
	return max(w.republishAfter, minTimeoutSearches*w.longest)
}

// enqueue has the mail run an errand for a flight. What is published again has another
// attempt.
func (w *window) enqueue(f *inflightTask, e op) {
	j := request{op: e, task: f.task, streamSeq: f.streamSeq}
	if e == opPublish {
		j.task.Attempt++
	}
	f.busy = true
	w.retryQueue = append(w.retryQueue, j)
}

// sweep finds what is out for too long: expected, and not accepted. The queue is
// asked about it; past all patience it is published again without asking, and
// returned, so that it can be told.
func (w *window) sweep() (given []*inflightTask) {
	now := time.Now()
	for _, f := range w.inflight {
		switch {
		case f.busy || f.quarantined || now.Before(f.checkAt):
		case f.streamSeq == 0:
			w.enqueue(f, opPublish)
		case now.Before(f.expiresAt):
			w.enqueue(f, opCheck)
		default:
			given = append(given, f)
			w.enqueue(f, opPublish)
		}
	}
	return given
}

// recountLater has a task counted again whose results contradict each other, by others
// than those that have counted it.
func (w *window) recount(task *queens.Task, attempt uint32, notBy []string) {
	f, out := w.inflight[task.ID]
	if !out {
		f = w.add(task)
	}
	if f.quarantined {
		return
	}
	if !f.disputed {
		f.disputed = true
		w.disputed++
	}
	f.task.Attempt = max(f.task.Attempt, attempt)
	f.task.ExcludedWorkers = notBy[max(0, len(notBy)-queens.MaxExcludedWorkers):]
	if f.busy {
		f.recountLater = true
		return
	}
	w.enqueue(f, opPublish)
}

// noteLost notes that a worker has vanished with a task in its hands, and reports whether
// it was one too many: then the task is set aside.
func (w *window) noteLost(id uint64, worker string) (f *inflightTask, setAside bool) {
	f, out := w.inflight[id]
	if !out || f.quarantined || slices.Contains(f.lostWorkers, worker) {
		return f, false
	}
	f.lostWorkers = append(f.lostWorkers, worker)
	if len(f.lostWorkers) < maxLosses {
		return f, false
	}
	f.quarantined = true
	w.quarantined++
	if f.disputed { // it is counted once
		f.disputed = false
		w.disputed--
	}
	if !f.busy {
		w.enqueue(f, opDelete)
	}
	return f, true
}

// hasWork reports whether there is a task that is not drawn yet, or out and neither set
// quarantined nor in dispute.
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

// acceptedBefore notes that a task needs no more care, and how long its search took.
func (w *window) accepted(id uint64, search time.Duration) {
	w.longest = max(w.longest, search)
	f, out := w.inflight[id]
	if !out {
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

// expected returns the hash that a result of a task that is out must carry.
func (w *window) expected(id uint64) (hash uint64, out bool) {
	f, out := w.inflight[id]
	if !out {
		return 0, false
	}
	return f.hash, true
}
