package worker

import (
	"cmp"
	"context"
	"math"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// batch is the chunks of one run and board that a device searches at once.
//
// Times are thread times: a second of the device is as many as it counts for threads. All of it is
// charged to the chunks, so that shares, rates and the core time of a run add up as on a CPU.
type batch struct {
	threads int
	begunAt time.Time
	pulse   atomic.Uint64 // grows while the search advances

	// search ends when nothing of the batch is wanted any more, or the worker stops.
	search context.Context
	cancel context.CancelCauseFunc

	chunks     []*heldChunk // changed only with Worker.mu held
	places     []place      // of the tasks
	uncharged  int          // tasks
	charged    time.Duration
	unreported []*heldChunk // counted, while too many results are on their way
}

// place is where a task of a batch is.
type place struct {
	chunk *heldChunk
	index int
}

const (
	// batchTime is the work of a batch, at most, if it has more than one chunk. A worker keeps a
	// second of work ready, so most batches take about that.
	batchTime = 2 * time.Second
	// maxBatch bounds the chunks of a batch; see also [Worker.mostInBatch].
	maxBatch = 1 << 10
)

// batchSize returns how many chunks of a run make a batch of a device. Until one was searched it is
// one, since nothing is known of them.
func (sh *share) batchSize(threads int) int {
	if sh.mean == 0 {
		return 1
	}
	return int(min(max(1, float64(batchTime)*float64(threads)/float64(sh.mean)), maxBatch))
}

// mostInBatch returns the most chunks of a batch with which a heartbeat names all that the worker
// searches.
func (w *Worker) mostInBatch() int {
	return max(1, (run.MaxHeld-w.cfg.Threads)/len(w.cfg.Devices))
}

func newBatch(ctx context.Context, threads int, chunks []*heldChunk) *batch {
	b := &batch{threads: threads, begunAt: time.Now(), chunks: chunks}
	b.search, b.cancel = context.WithCancelCause(ctx)
	return b
}

// list returns the prefixes of all tasks, and prepares the results of the chunks.
func (b *batch) list() (tasks [][]queens.Prefix) {
	for _, h := range b.chunks {
		h.uncounted = len(h.chunk.Tasks)
		h.result.Counts = make([]queens.TaskCount, len(h.chunk.Tasks))
		for i := range h.chunk.Tasks {
			b.places = append(b.places, place{h, i})
		}
		tasks = append(tasks, h.chunk.Tasks...)
	}
	b.uncharged = len(tasks)
	return tasks
}

// note notes the count of a task, and returns its chunk.
func (b *batch) note(task int, count uint64, kernel string) *heldChunk {
	p := b.places[task]
	h := p.chunk
	h.result.Counts[p.index] = queens.TaskCount{Hash: h.hashes[p.index], Count: count, Kernel: kernel}
	h.uncounted--
	return h
}

// leading returns the counts of a chunk's first tasks, up to one that has none.
func (b *batch) leading(h *heldChunk) []queens.TaskCount {
	for i := range h.result.Counts {
		if h.result.Counts[i].Kernel == "" {
			return h.result.Counts[:i]
		}
	}
	return h.result.Counts
}

// charge returns the thread time of a chunk that is searched no more, and divides it among its
// counts. The device does not tell the times of tasks, and may count them one by one or all in the
// end. So a chunk is charged what chunks of its run took before, but never more than the time that no
// chunk was charged yet, nor less than its part of that, by its tasks: the chunks of a batch are
// charged all of its time, and none of them most of it.
func (b *batch) charge(h *heldChunk, mean time.Duration) time.Duration {
	tasks := len(h.chunk.Tasks)
	due := b.threadTime() - b.charged
	part := time.Duration(float64(due) * float64(tasks) / float64(max(b.uncharged, tasks)))
	took := min(due, max(mean, part))
	b.charged += took
	b.uncharged -= tasks
	for i := range h.result.Counts {
		h.result.Counts[i].Elapsed = took / time.Duration(tasks)
	}
	return took
}

// threadTime returns for how long the batch is searched, in thread time.
func (b *batch) threadTime() time.Duration {
	return time.Duration(min(float64(time.Since(b.begunAt))*float64(b.threads), math.MaxInt64/2))
}

// endUnwanted ends the search if none of its chunks is wanted any more. Worker.mu is held.
func (b *batch) endUnwanted() {
	var reason error
	for _, h := range b.chunks {
		if h.stage != searching {
			continue
		}
		if reason = context.Cause(h.search); reason == nil {
			return
		}
	}
	if reason != nil {
		b.cancel(reason)
	}
}

// endReason returns why the search of a chunk ended early, or nil. Contexts end one after the other: that
// of the batch may have ended before that of the chunk.
func (b *batch) endReason(h *heldChunk) error {
	return cmp.Or(context.Cause(h.search), context.Cause(b.search))
}
