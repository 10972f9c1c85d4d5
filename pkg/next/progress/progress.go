// Package progress computes from the snapshots of a run how fast it is and how long it will still take, and keeps the
// history of a run in a bounded number of points. It has no clock, prints nothing and is not safe for concurrent use.
package progress

import (
	"math"
	"math/big"
	"sort"
	"time"

	"nqueens/pkg/queens"
)

// Rates are measured over two windows: a short one, which soon shows a change, and a long one, in which easy and hard
// tasks average out.
const (
	shortWindow = 30 * time.Second
	longWindow  = 5 * time.Minute
)

const (
	// longestGap is the longest time between two measurements that counts as time of the run. After a longer one the
	// process was stopped, or its machine slept.
	longestGap = 5 * time.Second
	// firstForecast is how long a run is measured before the first forecast.
	firstForecast = 2 * time.Second
	// sampleInterval is the least time between two stored samples, except the latest.
	sampleInterval = time.Second
)

// Meter measures one run from one start of its coordinator to its end. [NewMeter] makes one.
type Meter struct {
	elapsed  time.Duration // of the run, pauses left out: the clock of the samples
	last     time.Duration // when Measure was called last, by the clock of its caller
	started  bool          // Measure was called
	samples  []sample      // the first is the last one before the long window, or the first since the start or a pause
	counting bool          // a result came since the first sample
	perWork  float64       // thread-seconds that all the work of the run takes, as measured last; 0 before
	forecast forecast
}

// sample is how far a run is at a time of the meter's clock.
type sample struct {
	at        time.Duration
	done      uint64
	work      float64
	solutions float64
	threads   float64 // thread-seconds since the first sample of the meter
}

// NewMeter returns a meter for a run on which coordinators have worked that long before.
func NewMeter(elapsed time.Duration) *Meter { return &Meter{elapsed: elapsed} }

// Measure fills Rate, TimeToGo, Remaining and Elapsed of a snapshot from its Done, Tasks, WorkDone, Solutions, Threads and
// State, and keeps WorkDone below 1 while a task is left. The time is a monotonic clock of the caller, who calls about once
// a second: a gap of more than 5 s counts as a pause. Time without threads, and before the first result, says nothing
// about the rates: the windows begin after it. Remaining keeps to what was measured last, so that it is known without
// threads.
func (m *Meter) Measure(now time.Duration, s *queens.Snapshot) {
	gap := max(0, now-m.last)
	if !m.started {
		gap, m.started = 0, true
	}
	m.last = now
	if gap > longestGap {
		gap, m.samples = 0, nil
	}
	m.elapsed += gap
	s.Elapsed = queens.Seconds{Duration: m.elapsed}
	s.Rate, s.TimeToGo, s.Remaining = 0, nil, 0
	if s.WorkDone = max(0, min(s.WorkDone, 1)); s.Done < s.Tasks { // the sum of many shares is inexact
		s.WorkDone = min(s.WorkDone, queens.Fraction(math.Nextafter(1, 0)))
	}
	latest := m.keep(gap, s)
	if s.State.Ended() || s.Done == s.Tasks {
		m.forecast = forecast{}
		return
	}
	recent := m.sampleBefore(m.elapsed - shortWindow)
	s.Rate = rate(recent, latest)
	if work := latest.work - m.samples[0].work; work > 0 {
		m.perWork = (latest.threads - m.samples[0].threads) / work
	}
	s.Remaining = m.perWork * (1 - latest.work)
	low, high := 0.0, 0.0
	if m.elapsed-m.samples[0].at >= firstForecast {
		low, high = timeLeft(&recent, &m.samples[0], &latest, s.Threads)
	}
	s.TimeToGo = m.forecast.follow(m.elapsed, low, high)
}

// keep adds the sample of a snapshot, drops those that are too old, and returns it.
func (m *Meter) keep(gap time.Duration, s *queens.Snapshot) sample {
	solutions := 0.0
	if s.Solutions != nil {
		solutions, _ = new(big.Float).SetInt((*big.Int)(s.Solutions)).Float64()
	}
	latest := sample{at: m.elapsed, done: s.Done, work: float64(s.WorkDone), solutions: solutions}
	n := len(m.samples)
	if n == 0 || s.Threads == 0 || latest.work < m.samples[n-1].work { // a ban voids counts
		m.samples, m.counting, m.forecast = []sample{latest}, false, forecast{}
		return latest
	}
	latest.threads = m.samples[n-1].threads + float64(s.Threads)*gap.Seconds()
	if !m.counting { // from the first results on, what arrives in a time is what is counted in such a time
		m.counting = latest.work > m.samples[0].work
		m.samples[0] = latest
		return latest
	}
	if n > 1 && latest.at-m.samples[n-2].at < sampleInterval {
		m.samples[n-1] = latest
	} else {
		m.samples = append(m.samples, latest)
	}
	for len(m.samples) > 2 && latest.at-m.samples[1].at >= longWindow {
		m.samples = m.samples[1:]
	}
	return latest
}

// sampleBefore returns the latest sample that is not after a time, or else the oldest.
func (m *Meter) sampleBefore(at time.Duration) sample {
	later := sort.Search(len(m.samples), func(i int) bool { return m.samples[i].at > at })
	return m.samples[max(0, later-1)]
}

// rate returns the solutions per second between two samples.
func rate(from, to sample) float64 {
	if to.at <= from.at {
		return 0
	}
	return max(0, to.solutions-from.solutions) / (to.at - from.at).Seconds()
}
