package worker

import (
	"context"
	"time"

	"nqueens/pkg/backoff"
)

// reportsPerThread is how many results per thread may be on their way: enough for chunks that are
// shorter than a round trip, and few enough to hold while results can't be stored.
const reportsPerThread = 16

// reportChunk stores the result of a chunk, and only then acknowledges the chunk.
func (w *Worker) reportChunk(h *heldChunk) {
	w.cfg.Counted.add(h.chunk.Run, h.result.Counts) // before the result can be stored
	if err := w.store(h); err != nil {              // the run has ended, or the worker stops
		w.leaves(h)
		w.giveUp(h, context.Cause(h.report))
		return
	}
	w.mu.Lock()
	w.stored++
	w.mu.Unlock()
	if err := h.lease.Ack(h.report); err != nil {
		// The lease lapses, and the second count of the tasks will be a duplicate.
		w.cfg.Log.Debug().Err(err).Uint64("chunk", h.chunk.ID).Msg("can't acknowledge a chunk")
	}
	w.drop(h)
}

// store stores a result. It tries again until the grace is over or the run has ended.
func (w *Worker) store(h *heldChunk) error {
	retry := backoff.Backoff{Least: time.Second / 2, Most: 10 * time.Second}
	for {
		if err := h.report.Err(); err != nil {
			return err
		}
		err := w.results.Publish(h.report, &h.result)
		if err == nil || w.searches.Err() != nil || h.report.Err() != nil {
			return err
		}
		if w.limiter.Allow("") {
			w.cfg.Log.Warn().Err(err).Int("held", w.Status().Reporting).Msg("can't store results, holding them and trying again")
		}
		select {
		case <-w.searches.Done():
			return err
		case <-h.report.Done():
			return err
		case <-time.After(retry.Pause()):
		}
	}
}
