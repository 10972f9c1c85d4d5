package worker

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/kernel"
)

// Device is a kernel that searches many chunks at once, as a GPU does. Its counters should be
// [kernel.BatchCounter]s.
type Device struct {
	Kernel kernel.Kernel
	// Threads is how many threads of a CPU search as fast as the device, at least 1; see
	// [kernel.Equivalent]. The worker takes chunks as for so many threads, says in heartbeats that
	// it has them, and reports search times in the time of one of them.
	Threads int
}

// deviceLoop counts batches of chunks on a device, until the worker stops or the kernel fails.
func (w *Worker) deviceLoop(c kernel.Counter, d Device) error {
	for {
		b := w.beginBatch(d.Threads)
		if b == nil {
			return nil
		}
		w.declineCounted(b)
		w.flushHeartbeat(b.chunks...)
		err := w.countBatch(c, b)
		failed := err != nil && (b.search.Err() == nil || errors.Is(err, kernel.ErrDeviceLost))
		w.endBatch(b, failed)
		if failed {
			return fmt.Errorf("kernel %s: %w: its chunks are returned for other workers", d.Kernel.Name, err)
		}
	}
}

// beginBatch waits for a chunk that is ready, and begins it together with others of its run and board.
// It returns nil when the worker stops. A suspect chunk is a batch of its own: if the worker is lost,
// the coordinator knows by which.
func (w *Worker) beginBatch(threads int) *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitingDevices[threads]++
	first := w.awaitNext()
	w.waitingDevices[threads]--
	if first == nil {
		return nil
	}
	chunks := []*heldChunk{first}
	part := (len(w.ready)*threads + w.threads - 1) / w.threads // the rest is for the others of this worker
	size := min(first.service.share.batchSize(threads), part, w.mostInBatch())
	for _, h := range w.ready {
		if len(chunks) >= size || first.chunk.Suspect {
			break
		}
		if h != first && !h.chunk.Suspect && h.service.share == first.service.share && h.chunk.Board == first.chunk.Board {
			chunks = append(chunks, h)
		}
	}
	b := newBatch(w.searches, threads, chunks)
	w.batches[b] = struct{}{}
	for _, h := range chunks {
		h.batch = b
		w.beginSearch(h, float64(threads)/float64(len(chunks)))
	}
	return b
}

// declineCounted removes the chunks with tasks that this key has counted from a batch.
func (w *Worker) declineCounted(b *batch) {
	var kept []*heldChunk
	for _, h := range b.chunks {
		if w.hasCounted(h) {
			w.endSearch(h, leaving, 0)
			w.decline(h)
		} else {
			kept = append(kept, h)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.chunks = kept
	b.endUnwanted()
}

// countBatch counts the tasks of a batch. Each chunk is reported as soon as all its tasks are counted.
func (w *Worker) countBatch(c kernel.Counter, b *batch) error {
	if len(b.chunks) == 0 {
		return nil
	}
	tasks := b.list()
	return kernel.CountTasks(b.search, c, &b.chunks[0].chunk.Board, tasks, &b.pulse, func(task int, count uint64) {
		b.pulse.Add(1)
		h := b.note(task, count, c.LastKernel())
		w.noteTask(h.chunk.Run, len(tasks[task]))
		if h.uncounted == 0 && h.search.Err() == nil {
			w.finishInBatch(b, h)
		}
	})
}

// finishInBatch ends the search of a chunk whose counts are known, all or the first of them. It does
// not wait: the device would wait too, and the leases of its other chunks lapse.
func (w *Worker) finishInBatch(b *batch, h *heldChunk) {
	took := b.charge(h, w.meanTime(h))
	if w.seal(h) != nil {
		w.endSearch(h, leaving, took)
		w.decline(h)
		return
	}
	w.endSearch(h, reporting, took)
	w.endUnwanted(b)
	select {
	case w.onTheirWay <- struct{}{}:
		w.reportAsync(h)
	default:
		b.unreported = append(b.unreported, h)
	}
}

// endBatch ends the searches of the chunks that are not counted. Where the worker stops, it reports
// the tasks that it has counted of them. If the device has failed, it returns all of them at once.
func (w *Worker) endBatch(b *batch, failed bool) {
	for _, h := range b.chunks {
		if w.stageOf(h) != searching {
			continue
		}
		h.result.Counts = b.leading(h)
		reason := b.endReason(h)
		if !failed && reportsPart(h, reason) {
			w.finishInBatch(b, h)
			continue
		}
		h.result.Counts = nil
		w.endSearch(h, leaving, b.charge(h, 0))
		w.giveUp(h, cmp.Or(reason, errStopping)) // of a failed device: for another worker to take at once
	}
	w.mu.Lock()
	delete(w.batches, b)
	w.searchTime += b.threadTime()
	w.mu.Unlock()
	b.cancel(nil)
	for _, h := range b.unreported {
		w.startReport(h)
	}
}

// endUnwanted ends the search of a batch if none of its chunks is wanted any more.
func (w *Worker) endUnwanted(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.endUnwanted()
}

// meanTime returns the thread time that chunks of the same run took lately.
func (w *Worker) meanTime(h *heldChunk) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.service.share.mean
}
