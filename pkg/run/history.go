package run

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
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

// Clone returns a copy that keeps at most that number of samples, an even number and not less than this history keeps.
func (h *History) Clone(most int) *History {
	c := *h
	c.most, c.samples = most, slices.Clone(h.samples)
	return &c
}

// maxPause is the greatest time between two snapshots of one coordinator.
const maxPause = 5 * time.Second

// NewHistory returns a history of at most that number of samples, which is even.
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
		if gap := at - s.From; gap > maxPause { // what a coordinator that was killed had not stored
			last := h.rest
			if last.snapshots == 0 && len(h.samples) > 0 {
				last = h.samples[len(h.samples)-1]
			}
			s.Rate, s.Threads, s.Workers = s.Solutions/gap.Seconds(), last.Threads, last.Workers
		}
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

// End returns the time of the latest snapshot; 0 before the first.
func (h *History) End() time.Duration { return h.rest.To }

// Rest returns what was observed after these samples, and reports whether that is anything.
func (h *History) Rest() (Sample, bool) { return h.rest, h.rest.snapshots > 0 }

// historyJSON is a stored [History].
type historyJSON struct {
	Interval  time.Duration `json:"interval"`
	Samples   []sampleJSON  `json:"samples"`
	Rest      sampleJSON    `json:"rest"`
	Solutions *big.Int      `json:"solutions,omitempty"`
}

// sampleJSON is a [Sample]: from and to in nanoseconds, solutions, work done, rate, threads, workers, and the number of
// snapshots.
type sampleJSON [8]float64

// MarshalJSON encodes the history with all that Observe needs to go on. That of 200 samples takes at most 40 KiB.
func (h *History) MarshalJSON() ([]byte, error) {
	j := historyJSON{Interval: h.interval, Samples: make([]sampleJSON, len(h.samples)), Rest: encodeSample(&h.rest), Solutions: h.solutions}
	for i := range h.samples {
		j.Samples[i] = encodeSample(&h.samples[i])
	}
	return json.Marshal(j)
}

// UnmarshalJSON replaces what was observed by a history from outside, of at most as many samples.
func (h *History) UnmarshalJSON(text []byte) error {
	var j historyJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	all := slices.Concat(j.Samples, []sampleJSON{j.Rest})
	if j.Interval < time.Second || len(all) > h.most || j.Solutions != nil && (j.Solutions.Sign() < 0 || j.Solutions.BitLen() > maxBits) || slices.ContainsFunc(all, isNoSample) {
		return errors.New("a number of a history is out of range")
	}
	read := History{most: h.most, interval: j.Interval, solutions: j.Solutions}
	end := time.Duration(0)
	for i := range all {
		s := all[i].decode()
		if s.From < end || s.To < s.From {
			return errors.New("the samples of a history do not follow each other")
		}
		read.samples, end = append(read.samples, s), s.To
	}
	last := len(read.samples) - 1
	read.samples, read.rest = read.samples[:last], read.samples[last]
	*h = read
	return nil
}

// isNoSample reports whether a number of a sample from outside is out of range.
func isNoSample(j sampleJSON) bool {
	const longest = 1 << 62 // Nanoseconds.
	return j[0] > longest || j[1] > longest || slices.ContainsFunc(j[:], func(x float64) bool { return !isRate(x) })
}

func encodeSample(s *Sample) sampleJSON {
	j := sampleJSON{float64(s.From), float64(s.To), s.Solutions, s.WorkDone, s.Rate, s.Threads, s.Workers, s.snapshots}
	for i, x := range j {
		if math.IsNaN(x) || math.IsInf(x, 0) { // for which JSON has no number
			j[i] = 0
		}
	}
	return j
}

func (j *sampleJSON) decode() Sample {
	return Sample{
		From: time.Duration(j[0]), To: time.Duration(j[1]), Solutions: j[2], WorkDone: j[3],
		Rate: j[4], Threads: j[5], Workers: j[6], snapshots: j[7],
	}
}
