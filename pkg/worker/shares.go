package worker

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// shares says from which run to take the next chunk, so that runs get thread time in proportion
// to their weights whatever their chunks take. It is stride scheduling: every run has a pass,
// the thread time that it was served divided by its weight, and the run with the least pass is
// next. Chunks that are held and not finished count too, or a run with long chunks would be
// served again before it has paid for the first.
//
// Runs of weight 0 are a class of their own, which comes after all others.
//
// Reference: C. A. Waldspurger and W. E. Weihl, "Stride scheduling: deterministic
// proportional-share resource management", MIT/LCS/TM-528 (1995).
type shares map[string]*share

// share is what one run was served.
type share struct {
	weight int
	pass   float64       // seconds of finished searches over weight, since a common start
	mean   time.Duration // of the run's latest chunks, 0 if none is finished
	whole  int           // chunks that were searched to their end
	empty  bool          // nothing was waiting when the worker asked last
	tie    uint64        // decides between equal passes: not all workers begin with the same run
	ready  int           // chunks that the worker holds and has not begun
	begun  map[*service]struct{}
}

// service is one chunk that the worker holds and has not finished.
type service struct {
	share   *share
	begun   time.Time // zero while the chunk waits for a thread
	threads float64   // that search it: of a device its part
	ended   bool
}

const (
	// guessedMean stands for the time of a run's chunks until one is finished.
	guessedMean = time.Second
	// meanWeight is the weight of the last chunk in the mean: it forgets chunks of another
	// size, for chunks get smaller towards the end of a run.
	meanWeight = 1.0 / 8
	// maxCredit bounds what a run is given back, in seconds of pass, after its queue was empty.
	maxCredit = 10.0
)

// set adds a run or changes its weight. A run that is new to its class starts at the least pass
// there: it does not catch up with what others got before.
func (s shares) set(run string, weight int, now time.Time) {
	sh, known := s[run]
	if !known {
		sh = &share{weight: -1, tie: rand.Uint64(), begun: make(map[*service]struct{})}
		s[run] = sh
	}
	if !known || (sh.weight == 0) != (weight == 0) {
		sh.pass = 0
		if least, ok := s.least(sh, weight == 0, now); ok {
			sh.pass = least
		}
	}
	sh.weight = weight
}

// order returns the runs of weight over 0, and then those of weight 0, each by their passes; of
// equal ones those first that have finished nothing yet.
func (s shares) order(now time.Time) (normal, low []string) {
	passes := make(map[string]float64, len(s))
	for run, sh := range s {
		passes[run] = sh.total(now)
		if sh.weight > 0 {
			normal = append(normal, run)
		} else {
			low = append(low, run)
		}
	}
	byPass := func(a, b string) int {
		return cmp.Or(cmp.Compare(passes[a], passes[b]), cmp.Compare(min(s[a].mean, 1), min(s[b].mean, 1)), cmp.Compare(s[a].tie, s[b].tie))
	}
	slices.SortFunc(normal, byPass)
	slices.SortFunc(low, byPass)
	return normal, low
}

// hold notes that the worker has taken a chunk of a run, which is in s. A run whose queue was
// empty has saved little: others could use that time.
func (s shares) hold(run string, now time.Time) *service {
	sh := s[run]
	if sh.empty {
		sh.empty = false
		if least, ok := s.least(sh, sh.weight == 0, now); ok {
			sh.pass += max(0, least-maxCredit-sh.total(now))
		}
	}
	sh.ready++
	return &service{share: sh}
}

// begin notes that the search begins, on that number of threads.
func (sv *service) begin(now time.Time, threads float64) {
	sv.begun, sv.threads = now, threads
	sv.share.ready--
	sv.share.begun[sv] = struct{}{}
}

// finish notes that the worker searches the chunk no more, and the thread time that it took; a second
// call does nothing. The mean covers only whole searches.
func (sv *service) finish(took time.Duration, whole bool) {
	sh := sv.share
	if sv.ended {
		return
	}
	sv.ended = true
	if sv.begun.IsZero() {
		sh.ready--
		return
	}
	delete(sh.begun, sv)
	sh.pass += took.Seconds() / sh.divisor()
	if !whole {
		return
	}
	sh.whole++
	if sh.mean != 0 {
		took = sh.mean + time.Duration(meanWeight*float64(took-sh.mean))
	}
	sh.mean = max(took, 1)
}

// least returns the least pass of the other runs of a class, without the chunks that are only
// ready, of those that had chunks waiting if there are any. ok is false if there is no other run.
func (s shares) least(except *share, low bool, now time.Time) (least float64, ok bool) {
	busy := false
	for _, sh := range s {
		if sh == except || (sh.weight == 0) != low || busy && sh.empty {
			continue
		}
		pass := sh.served(now)
		if !ok || pass < least || !busy && !sh.empty {
			least, ok = pass, true
		}
		busy = busy || !sh.empty
	}
	return least, ok
}

// total returns the pass with the chunks held.
func (sh *share) total(now time.Time) float64 {
	mean := cmp.Or(sh.mean, guessedMean)
	return sh.served(now) + float64(sh.ready)*mean.Seconds()/sh.divisor()
}

// served returns the pass with the chunks in search, and without those that are ready.
func (sh *share) served(now time.Time) float64 {
	var searching float64
	for sv := range sh.begun {
		searching += max(cmp.Or(sh.mean, guessedMean).Seconds(), now.Sub(sv.begun).Seconds()*sv.threads)
	}
	return sh.pass + searching/sh.divisor()
}

// compareTurn orders runs that have ready chunks by whose turn it is: a new run need not wait for
// chunks taken before it came.
func (sh *share) compareTurn(other *share, now time.Time) int {
	if sh == other {
		return 0
	}
	return cmp.Or(cmp.Compare(min(other.weight, 1), min(sh.weight, 1)), cmp.Compare(sh.served(now), other.served(now)))
}

func (sh *share) divisor() float64 { return float64(max(1, sh.weight)) }

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
