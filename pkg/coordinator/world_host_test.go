package coordinator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// host plays the goroutines of a coordinator around its core.
type host struct {
	w        *world
	core     *core
	cfg      Config
	ledger   *ledger.Ledger
	folder   string
	epoch    uint64
	revision uint64 // of the record, as the coordinator knows it
	reader   reader
	commands []flight.Command // that are to be carried out
	outcomes []outcome        // that the event loop has yet to take up
	counting []ownCount       // that the coordinator counts
	ends     []time.Time      // of these counts
	inbox    []delivery
	checked  time.Duration // spent on spot checks while tasks were left
	searched float64       // seconds, of the results delivered
	tickAt   time.Time
	renewAt  time.Time
	cutOff   time.Time // until when it cannot renew its claim
	lifted   chan error
	stopped  bool
}

// record is a model of the record of the run, which is replaced by compare-and-set.
type record struct {
	revision, epoch uint64
	done, lost      uint64
	renewed         time.Time
}

// start starts a coordinator with the ledger in a folder. Chunks of the last one may stay in the queue.
func (w *world) start(folder string) {
	l, err := ledger.Open(context.Background(), folder, nil)
	if err != nil {
		w.fatalf("the ledger can't be opened: %v", err)
	}
	w.startWith(l, folder)
}

func (w *world) startWith(l *ledger.Ledger, folder string) {
	w.record = record{revision: w.record.revision + 1, epoch: w.record.epoch + 1, done: l.Len(), lost: l.Lost(), renewed: time.Now()}
	h := &host{w: w, ledger: l, folder: folder, epoch: w.record.epoch, revision: w.record.revision, lifted: make(chan error, 16)}
	h.cfg = w.setup.config(w)
	h.cfg.Epoch = h.epoch
	w.note("epoch %d begins with %d tasks, %d lost, at %d", h.epoch, l.Len(), l.Lost(), l.Position().Sequence)
	w.hosts = append(w.hosts, h)
	h.reader.at = l.Position()
	if !w.fault("queue is not purged", 0.2) {
		w.queue.messages = nil
	}
	var err error
	h.core, err = newCore(context.Background(), time.Now(), &h.cfg, l)
	if err != nil {
		w.finish(h, err)
		return
	}
	h.core.greet = func() {}
	for _, p := range w.workers {
		p.greet(h)
	}
	h.settle()
}

// config returns the configuration of a coordinator. The functions that count are not called: see endCount.
func (s *setup) config(w *world) Config {
	count := func(context.Context, *queens.Task, ...string) (run.TaskCount, error) { panic("see endCount") }
	c := Config{
		Roster: progress.NewRoster(), CheckAfter: s.checkAfter, RepublishAfter: s.republishAfter, DisputeTimeout: s.patience,
		CheckThreads: s.checkThreads, OnSnapshot: func(run.Snapshot) {}, ReportEvery: time.Second, Log: zerolog.Nop(),
		Admits: func(_ string, admission []byte) (admitted, byToken bool) { return len(admission) > 0, true },
		newID:  func() uint64 { return w.newID()<<16 | w.rng.Uint64N(1<<16) },
	}
	for _, p := range w.workers {
		if p.own {
			c.OwnKeys = append(c.OwnKeys, p.key)
		}
	}
	if s.known {
		c.Known = s.board.total
	}
	if s.referee != absent {
		c.Referee = count
	}
	if s.check != absent {
		c.Check = count
	}
	if s.alone != absent {
		c.Alone = func(context.Context, *queens.Task) (run.TaskCount, error) { panic("see endCount") }
	}
	return c
}

// stop ends the coordinator between two events. What was on its way to it is lost.
func (h *host) stop() {
	if h.stopped {
		return
	}
	h.stopped = true
	if err := h.ledger.Close(); err != nil {
		h.w.fatalf("the ledger can't be closed: %v", err)
	}
}

// check takes up the error of an event, and then does what the event loop does between two events.
func (h *host) check(err error) {
	if err != nil {
		h.w.finish(h, err)
		return
	}
	h.settle()
}

// settle does what the event loop does between two events.
func (h *host) settle() {
	if h.stopped {
		return
	}
	if h.core.isComplete() {
		h.w.finish(h, nil)
		return
	}
	if _, err := h.core.advance(time.Now()); err != nil {
		h.w.finish(h, err)
		return
	}
	for len(h.commands)+len(h.outcomes) < dispatchers {
		c, ok := h.core.flight.Next()
		if !ok {
			break
		}
		h.commands = append(h.commands, c)
	}
	for i := range h.core.own {
		h.startCount(&h.core.own[i])
	}
	h.core.own = h.core.own[:0]
	if h.core.isComplete() {
		h.w.finish(h, nil)
	}
}

// tick does what happens a few times a second.
func (h *host) tick() {
	now := time.Now()
	if h.stopped || now.Before(h.tickAt) {
		return
	}
	h.tickAt = now.Add(h.w.setup.checkAfter / sweeps / 2)
	for len(h.inbox) > 0 && !h.stopped { // a task whose result is here is not overdue
		h.deliver(len(h.inbox))
	}
	if h.stopped {
		return
	}
	if s := h.core.measure(now); s.Validate() != nil {
		h.w.fatalf("a snapshot is refused: %v", s.Validate())
	}
	h.check(h.core.tick(now))
	h.w.deadLetters = h.w.deadLetters || len(h.core.flight.DeadLettered()) > 0
	if h.stopped || now.Before(h.renewAt) {
		return
	}
	h.renewAt = now.Add(renewInterval)
	announcement := h.core.announcement()
	slices.Sort(announcement.Obsolete)
	for _, p := range h.w.workers {
		p.hear(h, &announcement)
	}
	h.renew(now)
}

// renew renews the claim and trims the stream, unless another coordinator has claimed the run.
func (h *host) renew(now time.Time) {
	w := h.w
	if now.Before(h.cutOff) || w.fault("record not reached", 0.1) {
		return
	}
	if w.record.epoch != h.epoch {
		w.note("epoch %d has lost its claim", h.epoch)
		h.stop()
		return
	}
	if w.record.revision != h.revision { // its own renewal of which the reply was lost
		h.revision = w.record.revision
	}
	w.record.revision++
	w.record.done, w.record.lost, w.record.renewed = h.ledger.Len(), h.ledger.Lost(), now
	if !w.fault("reply of the record lost", 0.1) {
		h.revision = w.record.revision
	}
	if len(w.stream.entries) > maxEntries/2 {
		w.stream.trim(h.ledger.Position())
		w.stream.full = w.stream.full && len(w.stream.entries) > maxEntries
	}
}

// resume starts a coordinator, after the last one has stopped, with its ledger.
func (w *world) resume() { w.start(w.current) }

// fork starts another coordinator with a copy of the ledger of one that goes on, and does not know that yet.
func (w *world) fork(h *host) {
	folder := w.copyOf(h)
	h.cutOff = time.Now().Add(w.pause() * 10)
	w.current = folder
	w.start(folder)
}

// copyOf copies the ledger of a coordinator to a new folder.
func (w *world) copyOf(h *host) string {
	folder := filepath.Join(w.folder, fmt.Sprint(w.newID()))
	if _, err := h.ledger.CopyTo(folder); err != nil {
		w.fatalf("the ledger can't be copied: %v", err)
	}
	return folder
}

// restore stops a coordinator and starts one with an older copy of its ledger, if that may be.
func (w *world) restore(h *host) {
	backup := w.backup
	w.backup = ""
	if backup == "" || len(w.hosts) > 1 {
		return
	}
	h.stop()
	l, err := ledger.Open(context.Background(), backup, nil)
	if err != nil {
		w.fatalf("the backup can't be opened: %v", err)
	}
	// Without a takeover, a session refuses an older ledger while the record is active.
	if w.record.done+w.record.lost > l.Len()+l.Lost() && w.rng.IntN(2) == 0 {
		if err := l.Close(); err != nil {
			w.fatalf("the backup can't be closed: %v", err)
		}
		w.start(w.current)
		return
	}
	w.current = backup
	w.startWith(l, backup)
}

// state describes what is in flight, and where the tasks stand.
func (h *host) state() string {
	f, a := h.core.flight, h.core.agreement
	due, missed := a.Checks()
	open, stuck := a.Disputes()
	text := fmt.Sprintf("%d chunks with %d bytes; tasks in flight %v, dead-lettered %v, republished %d\n"+
		"%d checks due, %d missed; %d disputes, %d stuck; %d tasks lack voters\n",
		f.Chunks(), f.Bytes(), f.InFlightByClass(), f.DeadLettered(), f.Republished(), due, missed, open, stuck, a.Lacking())
	for id := range h.core.manifest.Tasks {
		text += a.State(id).String() + " "
	}
	return text
}

// dump adds the state of a coordinator to the trace.
func (h *host) dump() {
	_, _ = h.w.trace.hash.Write([]byte(h.state())) // it never fails
}

var errCount = errors.New("the count failed")
