package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Device searches chunks: a thread of the CPU one at a time, a device such as a GPU many, with a
// [kernel.BatchCounter].
type Device struct {
	Kernel kernel.Kernel
	// Threads is how many threads of a CPU search as fast as the device, at least 1; see
	// [kernel.Equivalent]. The worker takes chunks as for that many threads, says in heartbeats that
	// it has them, and reports search times in the time of one of them.
	Threads int
}

// batch is the chunks of one run and board that a device searches at once: one, of a thread of the CPU.
//
// Times are thread times: a second of the device is as many as it counts for threads. All of it is
// charged to the chunks, so that shares, rates and the core time of a run add up as on a CPU.
type batch struct {
	threads int
	chunks  []*heldChunk // changed only with Worker.mu held
	begunAt time.Time
	pulse   atomic.Uint64 // grows while the search advances

	// search ends when nothing of the batch is wanted any more, or the worker stops.
	search context.Context
	cancel context.CancelCauseFunc

	lastPulse uint64 // guarded by Worker.mu
}

// batchTime is the work of a batch, at most, if it has more than one chunk. A worker keeps a
// second of work ready, so most batches take about that.
const batchTime = 2 * time.Second

// batchSize returns how many chunks of a run make a batch of a device. Until one was searched it is
// one, since nothing is known of them.
func (sh *share) batchSize(d *Device) int {
	if sh.mean == 0 || d.Kernel.AtOnce <= 1 {
		return 1
	}
	return int(min(max(1, float64(batchTime)*float64(d.Threads)/float64(sh.mean)), float64(d.Kernel.AtOnce)))
}

// mostInBatch returns the most chunks of a batch with which a heartbeat names all that the worker
// searches.
func (w *Worker) mostInBatch() int {
	return max(1, (run.MaxHeld-w.cfg.Threads)/max(1, len(w.cfg.Devices)))
}

// searchLoop counts batches of chunks until the worker stops or the kernel fails.
func (w *Worker) searchLoop(c kernel.Counter, d *Device) error {
	for b := w.beginBatch(d); b != nil; b = w.beginBatch(d) {
		w.declineCounted(b)
		w.flushHeartbeat(b.chunks...)
		counts, err := b.count(c)
		for i := range counts {
			counts[i].Kernel = d.Kernel.Name
		}
		w.endBatch(b, counts)
		if err != nil && (b.search.Err() == nil || errors.Is(err, kernel.ErrDeviceLost)) {
			return fmt.Errorf("kernel %s: %w: its chunks are returned for other workers", d.Kernel.Name, err)
		}
		b.cancel(nil)
	}
	return nil
}

// beginBatch waits for a chunk that is ready, of the run whose turn it is, and begins it, together with
// others of its run and board if a device searches many. It returns nil when the worker stops. A suspect
// chunk is a batch of its own: if the worker is lost, the coordinator knows by which.
func (w *Worker) beginBatch(d *Device) *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[d]++
	first := w.nextReady()
	for ; first == nil && !w.stopping; first = w.nextReady() {
		wake(w.wakeFetch)
		w.begin.Wait()
	}
	w.waiting[d]--
	if w.stopping {
		return nil
	}
	chunks := []*heldChunk{first}
	part := (len(w.ready)*d.Threads + w.threads - 1) / w.threads // the rest is for the others of this worker
	size := min(first.service.share.batchSize(d), part, w.mostInBatch())
	for _, h := range w.ready {
		if len(chunks) >= size || first.chunk.Suspect {
			break
		}
		if h != first && !h.chunk.Suspect && h.service.share == first.service.share && h.chunk.Board == first.chunk.Board {
			chunks = append(chunks, h)
		}
	}
	b := &batch{threads: d.Threads, chunks: chunks, begunAt: time.Now()}
	b.search, b.cancel = context.WithCancelCause(w.searches)
	w.batches[b] = struct{}{}
	w.suspect = w.suspect || first.chunk.Suspect
	for _, h := range chunks {
		w.takeBack(h)
		h.stage, h.batch = searching, b
		h.service.begin(b.begunAt, float64(d.Threads)/float64(len(chunks)))
	}
	wake(w.wakeFetch)
	return b
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

const (
	// declineDelay is how long a chunk that this worker declines is kept for others.
	declineDelay = time.Second
	// maxDeclines is how many deliveries of a chunk a worker declines. A result that was lost
	// must be counted again, even by the only worker that there is.
	maxDeclines = 3
)

// declineCounted computes the hashes of all tasks. It leaves the chunks with a task that this key has
// counted to other keys. The coordinator can't name the workers that it excludes: a chunk has tasks with
// different histories.
func (w *Worker) declineCounted(b *batch) {
	var kept []*heldChunk
	for _, h := range b.chunks {
		h.result.Counts = make([]run.TaskCount, len(h.chunk.Tasks))
		for i := range h.result.Counts {
			task := h.chunk.Task(i)
			h.result.Counts[i].Hash = task.Hash()
			b.pulse.Add(1)
		}
		if h.lease.Redelivered() < maxDeclines && w.cfg.Counted.hasAny(h.chunk.Run, h.result.Counts) {
			w.mu.Lock()
			w.endSearch(h, leaving, 0)
			w.mu.Unlock()
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

// count counts the tasks of the batch. It returns the counts of the first tasks, of all without an error.
func (b *batch) count(c kernel.Counter) ([]run.TaskCount, error) {
	if len(b.chunks) == 0 {
		return nil, nil
	}
	var tasks [][]queens.Prefix
	for _, h := range b.chunks {
		tasks = append(tasks, h.chunk.Tasks...)
	}
	return kernel.CountTasks(b.search, c, &b.chunks[0].chunk.Board, tasks, &b.pulse)
}

// endBatch reports the chunks whose tasks are counted, if they are still wanted, and gives up the others.
// Where the search ended early, it reports the tasks of a chunk that are counted: the coordinator publishes
// the rest again.
func (w *Worker) endBatch(b *batch, counts []run.TaskCount) {
	w.mu.Lock()
	took, tasks := b.threadTime(), 0
	for _, h := range b.chunks {
		tasks += len(h.chunk.Tasks)
		w.worked[h.chunk.Run] = struct{}{}
	}
	reports := make([]*heldChunk, 0, len(b.chunks))
	for _, h := range b.chunks {
		all := len(h.chunk.Tasks)
		counted := min(len(counts), all)
		h.result.Counts = h.result.Counts[:counted]
		for i, c := range counts[:counted] {
			c.Hash, c.Elapsed = h.result.Counts[i].Hash, c.Elapsed*time.Duration(b.threads)
			h.result.Counts[i] = c
			w.prefixes += uint64(len(h.chunk.Tasks[i]))
		}
		w.total += uint64(counted)
		counts = counts[counted:]
		stage := leaving
		if h.unwanted == nil && counted > 0 {
			stage = reporting
			reports = append(reports, h)
		}
		w.endSearch(h, stage, time.Duration(float64(took)*float64(all)/float64(tasks)))
		if stage == leaving {
			w.giveUp(h, cmp.Or(h.unwanted, errStopping)) // of a kernel that failed: for another worker to take at once
		}
	}
	delete(w.batches, b)
	w.searchTime += took
	w.mu.Unlock()
	for _, h := range reports {
		w.seal(h)
	}
}

// seal signs the counts of a chunk, before anything else handles them, so that nobody can change them
// unnoticed, and begins to report them.
func (w *Worker) seal(h *heldChunk) {
	h.result.Counted = time.Now()
	if err := h.result.Seal(w.cfg.Identity); err != nil {
		if w.limiter.Allow("sign") {
			w.cfg.Log.Error().Err(err).Str("run", h.chunk.Run).Msg("can't sign a result, leaving its tasks to other workers")
		}
		w.leaves(h)
		w.decline(h)
		return
	}
	w.onTheirWay <- struct{}{} // waits while too many results are on their way
	w.reporting.Go(func() {
		defer func() { <-w.onTheirWay }()
		w.reportChunk(h)
	})
}

// endSearch notes that a chunk is not searched any more, and how much thread time that took. w.mu is held.
func (w *Worker) endSearch(h *heldChunk, stage int, took time.Duration) {
	h.stage, h.searched = stage, time.Since(h.batch.begunAt)
	if h.chunk.Suspect {
		w.suspect = false
		w.begin.Broadcast()
	}
	h.service.finish(took, len(h.result.Counts) == len(h.chunk.Tasks))
}

// threadTime returns for how long the batch is searched, in thread time.
func (b *batch) threadTime() time.Duration {
	return time.Duration(min(float64(time.Since(b.begunAt))*float64(b.threads), math.MaxInt64/2))
}

// endUnwanted ends the search if none of its chunks is wanted any more. Worker.mu is held.
func (b *batch) endUnwanted() {
	for _, h := range b.chunks {
		if h.unwanted == nil {
			return
		}
	}
	b.cancel(errUnwanted)
}
