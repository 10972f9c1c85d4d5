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
	maxDoublings    = 10
	longestSearches = 20
)

// deadly is how many workers that vanish with a task in their hands are enough for it
// to be set aside.
const deadly = 3

// maxDrawn is how many tasks are drawn in one go: many may need no publishing.
const maxDrawn = 1 << 12

// window holds the tasks that are out: published, or about to be, and without an
// accepted result or with one in dispute. Tasks come in by order of id and leave when
// they are accepted.
type window struct {
	overdue, patience time.Duration

	size     int // of the window, as resize left it
	out      map[uint64]*flight
	again    []job   // looks, repetitions and withdrawals to be sent, in turn with fresh tasks
	turn     bool    // that of again
	fresh    *flight // drawn, and not sent yet
	drawn    bool    // all tasks
	pull     func() (queens.Task, bool)
	close    func()
	run      string
	has      func(id uint64) bool // whether the ledger has it
	early    *early
	longest  time.Duration // of the searches so far
	aside    int           // flights that are set aside
	disputed int           // flights of tasks in dispute
	repeated uint64
}

// flight is a task that is out.
type flight struct {
	task    queens.Task // Attempt is that of the last message published
	hash    uint64
	place   uint64 // of that message in the queue
	busy    bool   // with the mail
	recount bool   // it is to be published again, kept from others than before
	overdue time.Time
	expires time.Time
	widowed []string // workers that vanished with it in their hands
	aside   bool     // for good: it was one of theirs too often
	dispute bool     // it has results, which contradict each other
}

func newWindow(cfg *Config, run string, m *queens.Manifest, has func(id uint64) bool) *window {
	w := &window{overdue: cfg.CheckAfter, patience: cfg.RepublishAfter, run: run, has: has, out: make(map[uint64]*flight), early: newEarly()}
	w.pull, w.close = iter.Pull(split.Tasks(m))
	w.resize(0)
	return w
}

// resize fits the window to the number of threads at work.
func (w *window) resize(threads int) {
	w.size = min(max(windowPerThread*threads, minWindow), maxWindow)
}

// next returns the next errand, and whether there is one.
func (w *window) next() (job, bool) {
	for len(w.again) > 0 && w.out[w.again[0].task.ID] == nil {
		w.again = w.again[1:] // accepted meanwhile
	}
	w.turn = len(w.again) > 0 && (w.turn || w.fresh == nil)
	switch {
	case w.turn:
		return w.again[0], true
	case w.fresh != nil:
		return job{task: w.fresh.task}, true
	}
	return job{}, false
}

// draw brings the next fresh task where the window has room for it. Tasks that have
// a result are passed over, and those whose result came early are not published. It
// returns such results, to be entered now, and whether to draw again at once.
func (w *window) draw() (ripe []arrival, more bool) {
	for range maxDrawn {
		if w.fresh != nil || w.drawn || len(w.out)-w.aside-w.disputed >= w.size {
			return ripe, len(ripe) > 0
		}
		task, ok := w.pull()
		if !ok {
			w.drawn = true
			continue
		}
		if w.has(task.ID) || w.out[task.ID] != nil {
			continue
		}
		if came := w.early.take(task.ID); len(came) > 0 {
			w.known(&task)
			ripe = append(ripe, came...)
			continue
		}
		w.fresh = w.add(&task)
		w.fresh.task.Attempt, w.fresh.busy = 1, true
	}
	return ripe, true
}

// add makes a flight of a task.
func (w *window) add(task *queens.Task) *flight {
	f := &flight{task: *task, hash: task.Hash()}
	f.task.Run = w.run
	w.out[task.ID] = f
	return f
}

// known takes up a task whose results have come without it being given out. Where they
// misfit, the sweeper publishes it.
func (w *window) known(task *queens.Task) {
	if w.out[task.ID] == nil && !w.has(task.ID) {
		w.add(task)
	}
}

// sent notes that the mail has taken the errand that next returned.
func (w *window) sent(job) {
	if w.turn {
		w.again = w.again[1:]
	} else {
		w.fresh = nil
	}
	w.turn = !w.turn
}

// placed notes where the mail has left a task.
func (w *window) placed(j job) {
	if j.published && j.task.Attempt > 1 {
		w.repeated++
	}
	f, out := w.out[j.task.ID]
	if !out {
		return
	}
	now := time.Now()
	if j.published {
		f.expires = now.Add(w.patient() << min(j.task.Attempt-1, maxDoublings))
	}
	f.task.Attempt, f.place, f.busy = j.task.Attempt, j.place, false
	f.overdue = now.Add(w.overdue)
	switch {
	case f.aside && j.errand != withdraw:
		w.send(f, withdraw)
	case f.recount:
		f.recount = false
		w.send(f, publish)
	}
}

// patient is how long to wait for a result before the task is published again,
// whatever the queue says: long beside the longest search so far.
func (w *window) patient() time.Duration {
	return max(w.patience, longestSearches*w.longest)
}

// send has the mail run an errand for a flight. What is published again has another
// attempt.
func (w *window) send(f *flight, e errand) {
	j := job{errand: e, task: f.task, place: f.place}
	if e == publish {
		j.task.Attempt++
	}
	f.busy = true
	w.again = append(w.again, j)
}

// sweep finds what is out for too long: expected, and not accepted. The queue is
// asked about it; past all patience it is published again without asking, and
// returned, so that it can be told.
func (w *window) sweep() (given []*flight) {
	now := time.Now()
	for _, f := range w.out {
		switch {
		case f.busy || f.aside || now.Before(f.overdue):
		case f.place == 0:
			w.send(f, publish)
		case now.Before(f.expires):
			w.send(f, look)
		default:
			given = append(given, f)
			w.send(f, publish)
		}
	}
	return given
}

// recount has a task counted again whose results contradict each other, by others
// than those that have counted it.
func (w *window) recount(task *queens.Task, attempt uint32, notBy []string) {
	f, out := w.out[task.ID]
	if !out {
		f = w.add(task)
	}
	if f.aside {
		return
	}
	if !f.dispute {
		f.dispute = true
		w.disputed++
	}
	f.task.Attempt = max(f.task.Attempt, attempt)
	f.task.ExcludedWorkers = notBy[max(0, len(notBy)-queens.MaxExcludedWorkers):]
	if f.busy {
		f.recount = true
		return
	}
	w.send(f, publish)
}

// widow notes that a worker has vanished with a task in its hands, and reports whether
// it was one too many: then the task is set aside.
func (w *window) widow(id uint64, worker string) (f *flight, setAside bool) {
	f, out := w.out[id]
	if !out || f.aside || slices.Contains(f.widowed, worker) {
		return f, false
	}
	f.widowed = append(f.widowed, worker)
	if len(f.widowed) < deadly {
		return f, false
	}
	f.aside = true
	w.aside++
	if f.dispute { // it is counted once
		f.dispute = false
		w.disputed--
	}
	if !f.busy {
		w.send(f, withdraw)
	}
	return f, true
}

// waits reports whether there is a task that is not drawn yet, or out and neither set
// aside nor in dispute.
func (w *window) waits() bool {
	if !w.drawn {
		return true
	}
	for _, f := range w.out {
		if !f.dispute && (!f.aside || f.busy) {
			return true
		}
	}
	return false
}

// accepted notes that a task needs no more care, and how long its search took.
func (w *window) accepted(id uint64, search time.Duration) {
	w.longest = max(w.longest, search)
	f, out := w.out[id]
	if !out {
		return
	}
	if f.aside {
		w.aside--
	}
	if f.dispute {
		w.disputed--
	}
	if f == w.fresh {
		w.fresh = nil
	}
	delete(w.out, id)
}

// expected returns the hash that a result of a task that is out must carry.
func (w *window) expected(id uint64) (hash uint64, out bool) {
	f, out := w.out[id]
	if !out {
		return 0, false
	}
	return f.hash, true
}
