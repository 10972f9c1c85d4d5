package coordinator

import (
	"context"
	"iter"
	"time"

	"github.com/rs/zerolog"

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

	out      map[uint64]*flight
	again    []job // looks and repetitions to be sent, before any fresh task
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
	return w
}

// next returns the next errand, and whether there is one.
func (w *window) next(threads int) (job, bool) {
	for len(w.again) > 0 {
		if _, out := w.out[w.again[0].task.ID]; out {
			return w.again[0], true
		}
		w.again = w.again[1:] // accepted meanwhile
	}
	if len(w.out) >= min(max(windowPerThread*threads, minWindow), maxWindow) {
		return job{}, false
	}
	if w.fresh == nil {
		task, ok := w.pull()
		if !ok {
			return job{}, false
		}
		task.Run, task.Attempt = w.run, 1
		w.fresh = &task
	}
	return job{task: *w.fresh}, true
}

// sent notes that the mail has taken the errand that next returned.
func (w *window) sent(j job) {
	if len(w.again) > 0 {
		w.again = w.again[1:]
		return
	}
	w.out[j.task.ID] = &flight{task: j.task, hash: j.task.Hash(), busy: true}
	w.fresh = nil
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

// mail runs the window's errands, one at a time, and tells where each task lies.
type mail struct {
	bus    Bus
	log    zerolog.Logger
	jobs   chan job
	placed chan job
	said   time.Time
}

func newMail(bus Bus, log zerolog.Logger) *mail {
	return &mail{bus: bus, log: log, jobs: make(chan job), placed: make(chan job)}
}

// deliver runs errands until ctx ends.
func (m *mail) deliver(ctx context.Context) {
	for {
		select {
		case j := <-m.jobs:
			j = m.run(ctx, j)
			select {
			case m.placed <- j:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Faults of the queue: how often to try again, and how often to say so.
const (
	retryEvery = time.Second
	sayEvery   = 30 * time.Second
)

func (m *mail) run(ctx context.Context, j job) job {
	if j.look {
		queued, err := m.bus.Queued(ctx, &j.task, j.place)
		if queued || err != nil {
			return j // it is there, or there is no telling: ask again later
		}
		j.task.Attempt++
		m.log.Info().Uint64("task", j.task.ID).Uint32("attempt", j.task.Attempt).
			Msg("task left the queue without a result, publishing it again")
	}
	for {
		place, err := m.bus.PublishTask(ctx, &j.task)
		if err == nil {
			j.place = place
			return j
		}
		if ctx.Err() != nil {
			return j
		}
		if time.Since(m.said) > sayEvery {
			m.said = time.Now()
			m.log.Warn().Err(err).Uint64("task", j.task.ID).Msg("can't publish tasks, trying again")
		}
		select {
		case <-ctx.Done():
			return j
		case <-time.After(retryEvery):
		}
	}
}
