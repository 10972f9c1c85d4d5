package worker

import (
	"math"
	"time"
)

// missing returns how many chunks to take from a run now, so that every thread has one and the
// target is ready. Chunks of other runs count by their time if their turn is before: a small run
// does not wait for the chunks of a large one that came before. w.mu is held.
func (w *Worker) missing(name string, k *knownRun) int {
	target, ahead, now := w.target(name, k), -w.wanted(name, k), time.Now()
	own := w.shares[name]
	for _, h := range w.ready {
		switch sh := h.service.share; {
		case sh == own, sh.compareTurn(own, now) < 0 && own.mean == 0:
			ahead++
		case sh.compareTurn(own, now) < 0:
			ahead += float64(sh.mean) / float64(own.mean)
		}
	}
	if ahead >= target/2 {
		return 0
	}
	return min(int(math.Ceil(target-ahead)), maxTake)
}

// target returns how many chunks of a run should be ready: those that the worker finishes in a
// second, but at most half of its share of what is queued, so that towards the end of a run no
// worker holds what others could search; no more than it has searched, since the first chunks say
// little of the others; and one at least. w.mu is held.
func (w *Worker) target(name string, k *knownRun) float64 {
	sh, threads := w.shares[name], float64(w.threads)
	if sh.mean == 0 {
		return 1
	}
	return max(1, math.Floor(min(threads/sh.mean.Seconds(), w.shareOf(k, threads)/2, float64(sh.whole))))
}

// wanted returns how many chunks of a run the threads and devices that wait could begin now. A device
// gets no more than its share of what is queued, or one. w.mu is held.
func (w *Worker) wanted(name string, k *knownRun) (chunks float64) {
	for d, waiting := range w.waiting {
		batch := float64(w.shares[name].batchSize(d))
		chunks += float64(waiting) * max(1, min(batch, math.Ceil(w.shareOf(k, float64(d.Threads)))))
	}
	return chunks
}

// shareOf returns the share of some threads of this worker in the chunks that are queued for a run.
func (w *Worker) shareOf(k *knownRun, threads float64) float64 {
	return float64(k.queued) * threads / float64(max(k.announcement.Threads, w.threads))
}
