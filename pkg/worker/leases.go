package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// The stages of a chunk in a worker.
const (
	ready = iota // to be searched
	searching
	reporting // its result
	leaving   // without a result
)

// heldChunk is a chunk that the worker holds. Its searcher and then its reporter use result.
type heldChunk struct {
	chunk  run.Chunk
	lease  run.Lease
	result run.ChunkResult

	// The context of the report ends for one of the reasons of runs.go, or because the worker stops.
	report       context.Context
	cancelReport context.CancelCauseFunc

	// Guarded by Worker.mu.
	stage    int
	service  *service
	batch    *batch        // nil before the search
	unwanted error         // why the worker gave it up during the search, or nil
	searched time.Duration // how long the search took, once it has ended
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
	if w.stopping || w.paused != "" || k != nil && !k.refusedAt.IsZero() {
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
	h.result = run.ChunkResult{
		Run: h.chunk.Run, Manifest: h.chunk.Manifest, Chunk: h.chunk.ID, First: h.chunk.First, Worker: w.cfg.Name,
		Admission: w.cfg.Admission,
	}
	h.report, h.cancelReport = context.WithCancelCause(w.reports)
	w.held[h] = struct{}{}
	if len(w.held) == 1 {
		wake(w.wakeAnnouncement)
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
	h.cancelReport(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	h.service.finish(0, false) // unless it was searched
	delete(w.held, h)
	w.idleSince = time.Now()
	if len(w.held) == 0 {
		wake(w.wakeAnnouncement)
	}
}

// leaves notes that a chunk is given up without a result.
func (w *Worker) leaves(h *heldChunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.stage = leaving
}

// idle returns how long the worker has held no chunk. w.mu is held.
func (w *Worker) idle() time.Duration {
	if len(w.held) > 0 {
		return 0
	}
	return time.Since(w.idleSince)
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

// progressGrace is how soon a search must show that it advances.
const progressGrace = time.Second

// renewable returns the chunks whose leases are to be extended, and counts the stalled
// searches. It remembers how far each search is.
func (w *Worker) renewable() (renew []*heldChunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewedAt, w.stalled = time.Now(), 0
	for b := range w.batches {
		if pulse := b.pulse.Load(); pulse != b.lastPulse {
			b.lastPulse = pulse
			renew = append(renew, b.chunks...)
		} else if time.Since(b.begunAt) > progressGrace {
			w.stalled += len(b.chunks)
		}
	}
	if len(renew) > 0 || len(w.batches) == 0 {
		renew = append(renew, w.ready...)
	}
	for h := range w.held {
		if h.stage == reporting {
			renew = append(renew, h)
		}
	}
	return renew
}
