package worker

import (
	"context"
	"errors"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// searchLoop counts the tasks of chunks, on one thread, until the worker stops.
func (w *Worker) searchLoop(c kernel.Counter) {
	for {
		h := w.beginNext()
		if h == nil {
			return
		}
		if w.hasCounted(h) {
			w.endSearch(h, leaving, time.Since(h.begunAt))
			w.decline(h)
			continue
		}
		w.flushHeartbeat(h)
		err := w.countTasks(c, h)
		if err == nil || reportsPart(h, context.Cause(h.search)) {
			err = w.seal(h)
		}
		if err != nil {
			w.abandon(h)
			continue
		}
		w.endSearch(h, reporting, time.Since(h.begunAt))
		w.startReport(h)
	}
}

// beginNext waits for a chunk that is ready, and begins one of the run whose turn it is. It
// returns nil when the worker stops.
func (w *Worker) beginNext() *heldChunk {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
	h := w.awaitNext()
	w.waiting--
	if h != nil {
		w.beginSearch(h, 1)
	}
	return h
}

// awaitNext waits for a chunk that is ready, and returns one of the run whose turn it is, or nil when
// the worker stops. w.mu is held, except while it waits.
func (w *Worker) awaitNext() *heldChunk {
	h := w.nextReady()
	for ; h == nil && !w.stopping; h = w.nextReady() {
		wake(w.wakeFetch)
		w.begin.Wait()
	}
	if w.stopping {
		return nil
	}
	return h
}

// beginSearch begins a chunk, which that many threads search. w.mu is held.
func (w *Worker) beginSearch(h *heldChunk, threads float64) {
	w.takeBack(h)
	w.suspect = w.suspect || h.chunk.Suspect
	h.stage, h.begunAt = searching, time.Now()
	h.service.begin(h.begunAt, threads)
	wake(w.wakeFetch)
}

// nextReady returns the chunk to begin, or nil if there is none. A worker searches one suspect
// chunk at a time: if it is lost meanwhile, the coordinator knows by which. w.mu is held.
func (w *Worker) nextReady() (next *heldChunk) {
	now := time.Now()
	for _, h := range w.ready {
		if h.chunk.Suspect && w.suspect {
			continue
		}
		if next == nil || h.service.share.compareTurn(next.service.share, now) < 0 {
			next = h
		}
	}
	return next
}

// countTasks counts the tasks of a chunk in their order. It stops at the first error; the counts
// until then are right. The pulse grows with every task too, for the search of a small one may
// end before it shows.
func (w *Worker) countTasks(c kernel.Counter, h *heldChunk) error {
	for i, prefixes := range h.chunk.Tasks {
		if h.search.Err() != nil {
			return context.Cause(h.search)
		}
		start := time.Now()
		n, err := c.Count(h.search, &h.chunk.Board, prefixes, &h.pulse)
		if err != nil {
			return err
		}
		h.pulse.Add(1)
		h.result.Counts = append(h.result.Counts, queens.TaskCount{
			Hash: h.hashes[i], Count: n, Kernel: c.LastKernel(), Elapsed: time.Since(start),
		})
		w.noteTask(h.chunk.Run, len(prefixes))
	}
	return nil
}

// seal signs the counts of a chunk, before anything else handles them: nobody can change them
// unnoticed from here on.
func (w *Worker) seal(h *heldChunk) error {
	h.result.Counted = time.Now()
	err := h.result.Seal(w.cfg.Identity)
	if err != nil && w.limiter.Allow("sign") {
		w.cfg.Log.Error().Err(err).Str("run", h.chunk.Run).Msg("can't sign a result, leaving its tasks to other workers")
	}
	return err
}

// reportsPart reports whether a search that ended early, for that reason, has counts to report: the
// worker stops, and the coordinator will publish the rest of the chunk again.
func reportsPart(h *heldChunk, reason error) bool {
	return errors.Is(reason, errStopping) && len(h.result.Counts) > 0
}

// abandon gives up a chunk whose search was ended, or failed.
func (w *Worker) abandon(h *heldChunk) {
	w.endSearch(h, leaving, time.Since(h.begunAt))
	if reason := context.Cause(h.search); reason != nil {
		w.giveUp(h, reason)
	} else {
		w.decline(h) // the kernel failed: perhaps another worker's does not
	}
}

// endSearch notes that a chunk is not searched any more, and how much thread time that took.
func (w *Worker) endSearch(h *heldChunk, stage int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.stage, h.searched = stage, time.Since(h.begunAt)
	if h.batch == nil { // the time of a batch is added in its end
		w.searchTime += h.searched // not took, which may be less than a status has said since
	}
	if h.chunk.Suspect {
		w.suspect = false
		w.begin.Broadcast()
	}
	h.service.finish(took, len(h.result.Counts) == len(h.chunk.Tasks))
}

const (
	// declineDelay is how long a chunk that this worker declines is kept for others.
	declineDelay = time.Second
	// maxDeclines is how many deliveries of a chunk a worker declines. A result that was lost
	// must be counted again, even by the only worker that there is.
	maxDeclines = 3
)

// hasCounted computes the hashes of a chunk's tasks. It reports whether to leave the chunk to
// another key, because this one has counted one of them. The coordinator can't name the
// workers that it excludes: a chunk has tasks with different histories.
func (w *Worker) hasCounted(h *heldChunk) (decline bool) {
	h.hashes = make([]uint64, len(h.chunk.Tasks))
	for i := range h.hashes {
		task := h.chunk.Task(i)
		h.hashes[i] = task.Hash()
		h.pulse.Add(1)
	}
	return h.lease.Redelivered() < maxDeclines && w.cfg.Counted.hasAny(h.chunk.Run, h.hashes)
}
