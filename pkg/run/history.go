package run

import (
	"math/big"
	"time"
)

// Sample is what was measured of a run during a time.
type Sample struct {
	From, To  time.Duration // Since a moment that the user of the [History] chooses.
	Solutions float64       // Found in this time, weighted.
	WorkDone  float64       // At its end, 0 to 1.

	// The means of the snapshots. Each says the rate of a while before it, so Rate is smoother than what the
	// Solutions give.
	Rate, Threads, Workers float64

	snapshots float64
}

// MaxHistory is how many samples the history has that the ledger of a run keeps.
const MaxHistory = 200

// History keeps how a run went, in a bounded number of samples, each of the same time, a second at first:
// when they are too many, neighbours are merged, and that time doubles. [NewHistory] makes one. A History is
// not safe for concurrent use.
type History struct {
	most      int
	interval  time.Duration // of a sample, at least
	samples   []Sample
	rest      Sample
	solutions *big.Int // of the latest snapshot; nil before the first
}

// NewHistory returns a history of at most so many samples. The number is even.
func NewHistory(most int) *History { return &History{most: most, interval: time.Second} }

// Observe adds a snapshot of a time. One that is older than the one before is left out.
func (h *History) Observe(at time.Duration, p *Snapshot) {
	s := Sample{
		From: at, To: at, Rate: p.Rate, Threads: float64(p.Threads), Workers: float64(p.Workers),
		WorkDone: float64(p.WorkDone), snapshots: 1,
	}
	if h.solutions != nil {
		if s.From = h.rest.To; s.From > at {
			return
		}
		// Results that are voided reduce the sum.
		found, _ := new(big.Float).SetInt(new(big.Int).Sub((*big.Int)(p.Solutions), h.solutions)).Float64()
		s.Solutions = max(0, found)
	}
	h.solutions = (*big.Int)(p.Solutions)
	h.rest = merge(&h.rest, &s)
	if h.rest.To-h.rest.From < h.interval {
		return
	}
	h.samples = append(h.samples, h.rest)
	h.rest = Sample{From: at, To: at}
	if len(h.samples) == h.most {
		h.halve()
	}
}

// halve merges each two neighbours.
func (h *History) halve() {
	for i := range h.most / 2 {
		h.samples[i] = merge(&h.samples[2*i], &h.samples[2*i+1])
	}
	h.samples = h.samples[:h.most/2]
	h.interval *= 2
}

// merge returns a sample for two that follow each other.
func merge(a, b *Sample) Sample {
	if a.snapshots == 0 {
		return *b
	}
	all := a.snapshots + b.snapshots
	mean := func(x, y float64) float64 { return (x*a.snapshots + y*b.snapshots) / all }
	return Sample{
		From: a.From, To: b.To, Solutions: a.Solutions + b.Solutions, WorkDone: b.WorkDone, snapshots: all,
		Rate: mean(a.Rate, b.Rate), Threads: mean(a.Threads, b.Threads), Workers: mean(a.Workers, b.Workers),
	}
}

// Samples returns the samples that are as long as the others, in order. Each begins where the one before ends.
func (h *History) Samples() []Sample { return h.samples }

// Rest returns what was observed after these samples, and reports whether that is anything.
func (h *History) Rest() (Sample, bool) { return h.rest, h.rest.snapshots > 0 }
