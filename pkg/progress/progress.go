// Package progress computes from the snapshots of a run how fast it is and how long it will still
// take. It also keeps the history of a run in a bounded number of points. It has no clock, prints
// nothing and is not safe for concurrent use.
package progress

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"time"

	"nqueens/pkg/queens"
)

const (
	// rateWindow is the time over which the rate is measured.
	rateWindow = 30 * time.Second
	// keptSamples is how long samples are kept; the first one is kept longer.
	keptSamples = 5 * time.Minute
	// firstForecast is how long a run is measured before the first forecast.
	firstForecast = 2 * time.Second
	// sampleInterval is the least time between two stored samples. Only the latest may come sooner.
	sampleInterval = time.Second
)

// Meter measures a run from a start of its coordinator to the end of the run. The zero value is
// ready.
type Meter struct {
	samples  []sample // the first, and those of the last 5 minutes
	counting bool     // a result came after the first sample
	// thread-seconds for all the work of the run, as measured last; 0 before the first measurement
	perWork  float64
	forecast forecast
}

// sample is how far a run was at some time.
type sample struct {
	at        time.Duration // how long coordinators had worked on the run
	done      uint64
	results   uint64
	work      float64
	solutions float64
	threads   float64 // thread-seconds since the meter began, or began again
}

// Measure fills Rate, TimeToGo and Remaining of a snapshot of a running coordinator from its Done,
// Tasks, WorkDone, Solutions, Elapsed, Threads, Recorded and State. It keeps WorkDone below 1
// while a task is left. Call it about once a second. Its clock is Elapsed, in which pauses do not
// count. The measurement begins at the first result after the start of the coordinator, or after
// the last time without threads, and again when the speed of a thread has changed. Remaining uses
// what was measured last, so it stays known while there are no threads.
func (m *Meter) Measure(s *queens.Snapshot) {
	s.Rate, s.TimeToGo, s.Remaining = nil, nil, nil
	// WorkDone is a sum of many shares, and inexact
	s.WorkDone = max(0, min(s.WorkDone, 1))
	if s.Done < s.Tasks {
		s.WorkDone = min(s.WorkDone, queens.Fraction(math.Nextafter(1, 0)))
	}
	latest := m.keep(s)
	if s.State.Ended() || s.Done == s.Tasks {
		m.forecast, s.Remaining = forecast{}, new(queens.Remaining)
		return
	}
	recent := m.sampleBefore(latest.at - rateWindow)
	s.Rate = rate(m.samples[recent], latest)
	if work := latest.work - m.samples[0].work; work > 0 {
		m.perWork = (latest.threads - m.samples[0].threads) / work
	}
	if m.perWork > 0 {
		s.Remaining = &queens.Remaining{ThreadSeconds: m.perWork * (1 - latest.work)}
	}
	left := span{}
	if latest.at-m.samples[0].at >= firstForecast && latest.done > m.samples[recent].done {
		left = m.timeLeft(s.Threads)
	}
	s.TimeToGo = m.forecast.follow(latest.at, left)
}

// timeLeft returns the seconds that are left at the speed of the whole measurement. If the last
// quarter of the measured time (at least 30 s, at most 5 minutes) contradicts it, the speed has
// changed, and the measurement begins again with that quarter.
func (m *Meter) timeLeft(threads int) span {
	latest := &m.samples[len(m.samples)-1]
	whole := timeLeft(&m.samples[0], latest, threads)
	quarter := min(max((latest.at-m.samples[0].at)/4, rateWindow), keptSamples)
	changed := m.sampleBefore(latest.at - quarter)
	lately := timeLeft(&m.samples[changed], latest, threads)
	if lately.high > 0 && lately.contradicts(whole) {
		m.samples = m.samples[changed:]
		return lately
	}
	return whole
}

// keep adds and returns the sample of a snapshot, and drops samples that are too old.
func (m *Meter) keep(s *queens.Snapshot) sample {
	solutions := 0.0
	if n := len(m.samples); n > 0 { // a number without a claim is left out
		solutions = m.samples[n-1].solutions
	}
	if s.Solutions != nil {
		solutions, _ = new(big.Float).SetInt((*big.Int)(s.Solutions)).Float64()
	}
	latest := sample{at: s.Elapsed.Duration, done: s.Done, work: float64(s.WorkDone),
		solutions: solutions}
	if s.Checks != nil {
		latest.results = s.Recorded
	}
	n := len(m.samples)
	// a ban voids counts
	if n == 0 || s.Threads == 0 || latest.work < m.samples[n-1].work || latest.at < m.samples[n-1].at {
		m.samples, m.counting, m.forecast = []sample{latest}, false, forecast{}
		return latest
	}
	latest.threads = m.samples[n-1].threads +
		float64(s.Threads)*(latest.at-m.samples[n-1].at).Seconds()
	if !m.counting { // only after the first results do results arrive as fast as they are counted
		m.counting = latest.work > m.samples[0].work
		m.samples[0] = latest
		return latest
	}
	if n > 1 && latest.at-m.samples[n-2].at < sampleInterval {
		m.samples[n-1] = latest
	} else {
		m.samples = append(m.samples, latest)
	}
	for len(m.samples) > 2 && latest.at-m.samples[2].at >= keptSamples {
		m.samples = slices.Delete(m.samples, 1, 2)
	}
	return latest
}

// sampleBefore returns the index of the latest sample that is not after the given time, or 0 if all
// are after it.
func (m *Meter) sampleBefore(at time.Duration) int {
	later := sort.Search(len(m.samples), func(i int) bool { return m.samples[i].at > at })
	return max(0, later-1)
}

// rate returns the rate between two samples; nil if no time has passed.
func rate(from, to sample) *queens.Rate {
	if to.at <= from.at {
		return nil
	}
	return &queens.Rate{PerSecond: max(0, to.solutions-from.solutions) / (to.at - from.at).Seconds()}
}
