package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// The stages of a chunk in a worker.
const (
	ready     = iota // to be searched
	searching        // by a thread or a device
	reporting        // its result
	leaving          // without a result
)

// heldChunk is a chunk that the worker holds. Its searcher and then its reporter use result and
// hashes.
type heldChunk struct {
	chunk  queens.Chunk
	lease  run.Lease
	pulse  atomic.Uint64 // grows while the search advances
	hashes []uint64      // of the tasks
	result queens.ChunkResult
	// uncounted is the number of tasks of a chunk in a batch that have no count yet.
	uncounted int

	// The contexts of the search and the report. Each ends for one of the reasons of runs.go, or
	// because the worker stops.
	search, report             context.Context
	cancelSearch, cancelReport context.CancelCauseFunc

	// Guarded by Worker.mu.
	stage     int
	service   *service
	batch     *batch        // nil if a thread searches the chunk
	begunAt   time.Time     // of the search
	searched  time.Duration // how long the search took, once it has ended
	lastPulse uint64
}

// silentDelay keeps a chunk of a run that is not alive away from all workers for a while.
const silentDelay = 10 * time.Second

// accept makes chunks that were lent ready, all at once: a device searches them together. It returns
// at once those that must not be searched: the pull that brought them may be older than the end of
// their run.
func (w *Worker) accept(loans ...run.Loan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, loan := range loans {
		if err := w.keep(loan); err != nil {
			w.cfg.Log.Debug().Err(err).Uint64("chunk", loan.Chunk.ID).Msg("can't return a chunk: its lease will lapse")
		}
	}
}

// keep makes a chunk ready, or returns it; the error is that of returning it. w.mu is held.
func (w *Worker) keep(loan run.Loan) error {
	k := w.runs[loan.Chunk.Run]
	if w.stopping || k != nil && !k.refusedAt.IsZero() {
		return loan.Lease.Release()
	}
	if k == nil || !k.alive {
		return loan.Lease.Postpone(silentDelay)
	}
	k.queued = loan.Queued
	h := w.hold(loan)
	h.service = w.shares.hold(loan.Chunk.Run, time.Now())
	w.ready = append(w.ready, h)
	w.begin.Signal()
	return nil
}

// hold registers a chunk. w.mu is held.
func (w *Worker) hold(loan run.Loan) *heldChunk {
	h := &heldChunk{chunk: loan.Chunk, lease: loan.Lease}
	h.result = queens.ChunkResult{
		Run: h.chunk.Run, Manifest: h.chunk.Manifest, Chunk: h.chunk.ID, First: h.chunk.First, Worker: w.cfg.Name,
		Admission: w.cfg.Admission,
	}
	h.search, h.cancelSearch = context.WithCancelCause(w.searches)
	h.report, h.cancelReport = context.WithCancelCause(w.reports)
	w.held[h] = struct{}{}
	if len(w.held) == 1 {
		wake(w.wakeBeat)
	}
	return h
}

// takeBack removes a chunk from those that are ready. w.mu is held.
func (w *Worker) takeBack(h *heldChunk) {
	w.ready = slices.DeleteFunc(w.ready, func(other *heldChunk) bool { return other == h })
}

// releaseReady returns the chunks that are not begun, and ends the threads that wait for one.
func (w *Worker) releaseReady() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	for _, h := range slices.Clone(w.ready) {
		w.recall(h, errStopping)
	}
	w.begin.Broadcast()
}

// removeTimeout bounds the time for the removal of a chunk that nobody needs. If it fails the
// lease lapses, and the next worker removes it.
const removeTimeout = time.Second

// giveUp removes a chunk from its queue if the reason says that nobody needs it, and else returns
// it for another worker to take at once. It does not wait.
func (w *Worker) giveUp(h *heldChunk, reason error) {
	w.cleanups.Go(func() {
		var err error
		if removes(reason) {
			ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
			defer cancel()
			err = h.lease.Ack(ctx)
		} else {
			err = h.lease.Release()
		}
		if err != nil {
			w.cfg.Log.Debug().Err(err).Uint64("chunk", h.chunk.ID).Msg("can't return a chunk: its lease will lapse")
		}
		w.drop(h)
	})
}

// decline returns a chunk to its queue, where it stays for declineDelay.
func (w *Worker) decline(h *heldChunk) {
	if err := h.lease.Postpone(declineDelay); err != nil {
		w.cfg.Log.Debug().Err(err).Uint64("chunk", h.chunk.ID).Msg("can't postpone a chunk: its lease will lapse")
	}
	w.drop(h)
}

// drop forgets a chunk that the worker does not hold any more.
func (w *Worker) drop(h *heldChunk) {
	h.cancelSearch(nil)
	h.cancelReport(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	h.service.finish(time.Since(h.begunAt), false)
	delete(w.held, h)
	w.idleSince = time.Now()
	if len(w.held) == 0 {
		wake(w.wakeBeat)
	}
}

func (w *Worker) stageOf(h *heldChunk) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.stage
}

func (w *Worker) setStage(h *heldChunk, stage int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.stage = stage
}

// idle returns how long the worker has held no chunk.
func (w *Worker) idle() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idleTime()
}

// idleTime is idle for callers that hold w.mu.
func (w *Worker) idleTime() time.Duration {
	if len(w.held) > 0 {
		return 0
	}
	return time.Since(w.idleSince)
}

func (w *Worker) list() []*heldChunk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.held))
}

// renewLoop extends the leases of the chunks held, three times per lease, while the worker
// makes progress: it lets the leases of stalled searches lapse, and those of chunks that
// wait behind them.
func (w *Worker) renewLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, h := range w.renewable() {
			if err := h.lease.Extend(); err != nil {
				w.cfg.Log.Debug().Err(err).Uint64("chunk", h.chunk.ID).Msg("can't extend a lease")
			}
		}
	}
}

// Live returns nil while the worker extends its leases and all its searches advance, and
// before [Worker.Run].
func (w *Worker) Live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch since := time.Since(w.renewedAt); {
	case w.renewedAt.IsZero():
		return nil
	case since > w.cfg.Lease:
		return fmt.Errorf("leases were not extended for %v", since.Round(time.Second))
	case w.stalled > 0:
		return fmt.Errorf("%d searches do not advance", w.stalled)
	}
	return nil
}

// progress grows while the search of the chunk advances. Worker.mu is held.
func (h *heldChunk) progress() uint64 {
	if h.batch == nil {
		return h.pulse.Load()
	}
	return h.pulse.Load() + h.batch.pulse.Load()
}

// progressGrace is how soon a search must show that it advances.
const progressGrace = time.Second

// renewable returns the chunks whose leases are to be extended, and counts the stalled
// searches. It remembers how far each search is.
func (w *Worker) renewable() (renew []*heldChunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewedAt, w.stalled = time.Now(), 0
	searches, advanced := 0, 0
	for h := range w.held {
		switch h.stage {
		case searching:
			searches++
			if pulse := h.progress(); pulse != h.lastPulse {
				h.lastPulse = pulse
				advanced++
				renew = append(renew, h)
			} else if time.Since(h.begunAt) > progressGrace {
				w.stalled++
			}
		case reporting:
			renew = append(renew, h)
		case ready, leaving:
		}
	}
	if advanced > 0 || searches == 0 {
		renew = append(renew, w.ready...)
	}
	return renew
}
