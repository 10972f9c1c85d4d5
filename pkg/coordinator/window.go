package coordinator

import (
	"iter"
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

// maxDoublings bounds how far patience grows.
const maxDoublings = 10

// window holds the tasks that are out: published, or about to be, and without an
// accepted result. Tasks come in by order of id and leave when they are accepted.
type window struct {
	overdue, patience time.Duration

	size     int // of the window, as resize left it
	out      map[uint64]*flight
	again    []job // looks and repetitions to be sent, in turn with fresh tasks
	turn     bool  // that of again
	fresh    *queens.Task
	pull     func() (queens.Task, bool)
	close    func()
	run      string
	repeated uint64
}

// flight is a task that is out.
type flight struct {
	task    queens.Task // Attempt is that of the last message published
	hash    uint64
	place   uint64 // of that message in the queue
	busy    bool   // with the mail
	overdue time.Time
	expires time.Time
}

// job is an errand for the mail.
type job struct {
	task  queens.Task
	place uint64
	// look says to look first whether the task lies at its place, and to publish
	// it with the next attempt only if it does not.
	look bool
}

func newWindow(cfg *Config) *window {
	w := &window{overdue: cfg.Overdue, patience: cfg.Patience, run: cfg.Run, out: make(map[uint64]*flight)}
	w.pull, w.close = iter.Pull(split.Tasks(&cfg.Manifest))
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
	w.fill()
	w.turn = len(w.again) > 0 && (w.turn || w.fresh == nil)
	switch {
	case w.turn:
		return w.again[0], true
	case w.fresh != nil:
		return job{task: *w.fresh}, true
	}
	return job{}, false
}

// fill brings the next fresh task where the window has room for it.
func (w *window) fill() {
	if w.fresh != nil || len(w.out) >= w.size {
		return
	}
	if task, ok := w.pull(); ok {
		task.Run, task.Attempt = w.run, 1
		w.fresh = &task
	}
}

// sent notes that the mail has taken the errand that next returned.
func (w *window) sent(j job) {
	if w.turn {
		w.again = w.again[1:]
	} else {
		w.out[j.task.ID] = &flight{task: j.task, hash: j.task.Hash(), busy: true}
		w.fresh = nil
	}
	w.turn = !w.turn
}

// placed notes where the mail has left a task.
func (w *window) placed(j job) {
	f, out := w.out[j.task.ID]
	if !out {
		return
	}
	now := time.Now()
	if repeated := j.task.Attempt > f.task.Attempt; repeated || f.expires.IsZero() {
		f.expires = now.Add(w.patience << min(j.task.Attempt-1, maxDoublings))
		if repeated {
			w.repeated++
		}
	}
	f.task, f.place, f.busy = j.task, j.place, false
	f.overdue = now.Add(w.overdue)
}

// sweep finds what is out for too long: expected, and not accepted. The queue is
// asked about it; past all patience it is published again without asking.
func (w *window) sweep() {
	now := time.Now()
	for _, f := range w.out {
		switch {
		case f.busy || now.Before(f.overdue):
			continue
		case now.Before(f.expires):
			w.again = append(w.again, job{task: f.task, place: f.place, look: true})
		default:
			again := f.task
			again.Attempt++
			w.again = append(w.again, job{task: again})
		}
		f.busy = true
	}
}

// accepted notes that a task needs no more care.
func (w *window) accepted(id uint64) {
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
