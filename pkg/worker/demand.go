package worker

import (
	"math"
	"time"
)

// candidate is a live run.
type candidate struct {
	name    string
	missing int       // chunks to take from it now, if it is its turn
	waiting int       // chunks in its queue, says the last beat
	heardAt time.Time // that beat
	// consumer is the number of the consumer that has the chunks, says the last beat.
	consumer int
}

// candidates returns the live runs of weight over 0, and those of weight 0, each in their turn.
// There are none while there is no connection.
func (w *Worker) candidates() (normal, low []candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.connected || w.stopping {
		return nil, nil
	}
	list := func(names []string) (runs []candidate) {
		for _, name := range names {
			k := w.runs[name]
			runs = append(runs, candidate{name: name, missing: w.missing(name, k), waiting: k.beat.Waiting, heardAt: k.heardAt, consumer: k.beat.Consumer})
		}
		return runs
	}
	names, lowNames := w.shares.order(time.Now())
	return list(names), list(lowNames)
}

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
	mean := w.shares.mean(name)
	if mean == 0 {
		return 1
	}
	threads := float64(w.threads)
	searched := float64(w.shares[name].whole)
	return max(1, math.Floor(min(threads/mean.Seconds(), w.shareOf(k, threads)/2, searched)))
}

// wanted returns how many chunks of a run the threads and devices that wait could begin now. A device
// gets no more than its share of what is queued, or one. w.mu is held.
func (w *Worker) wanted(name string, k *knownRun) float64 {
	chunks := float64(w.waiting)
	for threads, devices := range w.waitingDevices {
		batch := float64(w.shares[name].batchSize(threads))
		chunks += float64(devices) * max(1, min(batch, math.Ceil(w.shareOf(k, float64(threads)))))
	}
	return chunks
}

// shareOf returns the share of so many threads of this worker in the chunks that are queued for a run.
func (w *Worker) shareOf(k *knownRun, threads float64) float64 {
	return float64(k.queued) * threads / float64(max(k.beat.Threads, w.threads))
}

// noneWaiting notes that a run's queue is empty.
func (w *Worker) noneWaiting(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shares.noneWaiting(name)
	if k := w.runs[name]; k != nil {
		k.queued = 0
	}
}
