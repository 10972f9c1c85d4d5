package progress

import (
	"math/big"
	"time"

	"nqueens/pkg/run"
)

// History keeps how fast a run was from its begin to its end. It holds at most maxHistory samples, each of
// the same time, a second at first: when they are more, neighbours are merged. The zero value is empty. A
// History is not safe for concurrent use.
type History struct {
	samples   []run.Sample
	interval  time.Duration // of a sample, at least
	started   bool
	last      run.Sample // From is unused
	solutions float64    // at the end of last
}

// maxHistory bounds the samples of a [History]. It is even.
const maxHistory = 200

// Observe adds a snapshot. Snapshots come in order of their Elapsed.
func (h *History) Observe(p *run.Progress) {
	solutions, _ := new(big.Float).SetInt(p.Solutions).Float64()
	if !h.started {
		h.started, h.interval = true, time.Second
		h.last.To, h.solutions = p.Elapsed, solutions
		return
	}
	passed := p.Elapsed - h.last.To
	if passed < h.interval {
		return
	}
	// Results that are voided reduce the sum: no rate is negative.
	rate := max(0, solutions-h.solutions) / passed.Seconds()
	h.last = run.Sample{From: h.last.To, To: p.Elapsed, Rate: rate, Threads: p.Threads}
	h.solutions = solutions
	h.samples = append(h.samples, h.last)
	if len(h.samples) == maxHistory {
		h.merge()
	}
}

// merge halves the number of samples.
func (h *History) merge() {
	for i := range maxHistory / 2 {
		a, b := h.samples[2*i], h.samples[2*i+1]
		share := float64(a.To-a.From) / float64(b.To-a.From)
		h.samples[i] = run.Sample{From: a.From, To: b.To, Rate: share*a.Rate + (1-share)*b.Rate, Threads: b.Threads}
	}
	h.samples = h.samples[:maxHistory/2]
	h.interval *= 2
}

// Samples returns what was observed, without the last part of an interval.
func (h *History) Samples() []run.Sample { return h.samples }
