// Package progress computes from what services observe of a run how fast it is, how far it
// is, how long it will still take, and which workers it has. It prints nothing.
package progress

import (
	"math"
	"math/big"
	"sort"
	"time"

	"nqueens/pkg/run"
)

// Rates are measured over two windows: a short one, which soon shows that a worker joined,
// and a long one, in which easy and hard tasks average out. The forecast is the range
// between the two, smoothed.
const (
	shortWindow = 30 * time.Second
	longWindow  = 5 * time.Minute
)

const (
	// firstForecast is how long a run is measured before the first forecast.
	firstForecast = 5 * time.Second
	// etaMargin widens the forecast at both ends, because the work is an estimate.
	etaMargin = 0.05
	// smoothing is the time constant of the forecast: after it, the forecast has covered
	// some two thirds of the distance to what the rates say. No single task makes it jump.
	smoothing = 5 * time.Second
	// maxETA is the longest forecast. A [time.Duration] holds almost three times as much.
	maxETA = 100 * 365 * 24 * time.Hour
)

// Meter measures the rates of one run. A Meter is not safe for concurrent use.
type Meter struct {
	tasks        uint64
	start        sample
	workingSince time.Time // since when there are workers; or the start
	samples      []sample  // The first is the last before the long window, or the first since workingSince.
	forecast     forecast
}

// sampleInterval is the least time between two stored samples, except the latest.
const sampleInterval = time.Second

type sample struct {
	at        time.Time
	work      float64
	solutions float64
}

func newSample(work float64, solutions *big.Int) sample {
	f, _ := new(big.Float).SetInt(solutions).Float64()
	return sample{at: time.Now(), work: work, solutions: f}
}

// rate returns the solutions a second between two samples.
func rate(from, to sample) float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return max(0, to.solutions-from.solutions) / seconds
}

// NewMeter returns a meter for a run of so many tasks that starts now, or resumes now with
// that share of its work done (0 to 1) and those solutions found.
func NewMeter(tasks uint64, work float64, solutions *big.Int) *Meter {
	start := newSample(work, solutions)
	return &Meter{tasks: tasks, start: start, workingSince: start.at, samples: []sample{start}}
}

// Measure records what is done by now, and whether the run has workers, and returns the
// snapshot, without the workers. Time without workers says nothing about the remaining
// time: the windows start after it.
func (m *Meter) Measure(done uint64, work float64, solutions *big.Int, working bool) run.Snapshot {
	latest := newSample(work, solutions)
	now := latest.at
	s := run.Snapshot{
		At: now, Done: done, Tasks: m.tasks, WorkDone: 1, Solutions: (*run.Decimal)(solutions), Elapsed: run.Seconds{Duration: now.Sub(m.start.at)},
	}
	if done < m.tasks {
		s.WorkDone = run.Fraction(max(0, min(work, math.Nextafter(1, 0)))) // the sum of many shares is inexact
	}
	if !working {
		m.workingSince, m.samples, m.forecast = now, []sample{latest}, forecast{}
		return s
	}
	m.keep(latest)
	before := m.sampleBefore(now.Add(-shortWindow))
	s.Rate = rate(before, latest)
	if now.Sub(m.workingSince) >= firstForecast {
		low, high := remaining(1-float64(s.WorkDone), m.speed(before, latest), m.speed(m.samples[0], latest))
		s.ETA = m.forecast.follow(now, s.Elapsed.Duration, low, high)
	}
	return s
}

// keep adds a sample and drops those that are too old.
func (m *Meter) keep(latest sample) {
	if last := len(m.samples) - 1; last > 0 && latest.at.Sub(m.samples[last-1].at) < sampleInterval {
		m.samples[last] = latest
	} else {
		m.samples = append(m.samples, latest)
	}
	for latest.at.Sub(m.samples[1].at) >= longWindow {
		m.samples = m.samples[1:]
	}
}

// MeanRate returns the solutions a second from the start to the latest measurement.
func (m *Meter) MeanRate() float64 {
	return rate(m.start, m.samples[len(m.samples)-1])
}

// sampleBefore returns the latest sample taken by that time, or else the oldest.
func (m *Meter) sampleBefore(at time.Time) sample {
	later := sort.Search(len(m.samples), func(i int) bool { return m.samples[i].at.After(at) })
	return m.samples[max(0, later-1)]
}

// speed is a range for the share of the work done a second; zero where nothing was done.
type speed struct{ low, high float64 }

// speed returns the speed between two samples. Tasks differ, and only finished ones are
// seen: the standard deviation of a number k of tasks of the mean size is its square root.
func (m *Meter) speed(from, to sample) speed {
	work := to.work - from.work
	if work <= 0 {
		return speed{}
	}
	mean := work / to.at.Sub(from.at).Seconds()
	chance := 1 + 1/math.Sqrt(work*float64(m.tasks))
	return speed{low: mean / chance, high: mean * chance}
}

// remaining returns the time for a share of the work at two speeds, in seconds; zero where
// nothing remains, or the time is unknown.
func remaining(work float64, one, other speed) (low, high float64) {
	slow, fast := min(one.low, other.low), max(one.high, other.high)
	if work <= 0 || slow <= 0 {
		return 0, 0
	}
	return min(work/fast*(1-etaMargin), maxETA.Seconds()), min(work/slow*(1+etaMargin), maxETA.Seconds())
}

// forecast is the time at which a run will end, in seconds from its start; zero while that
// is unknown. Exponential smoothing delays it. It smooths the time of the end, which is
// constant while the rates are, and not the remaining time, which would always lag.
type forecast struct {
	low, high float64
	updatedAt time.Time
}

// follow updates the forecast with the remaining time by the present rates, and returns the
// remaining time that it forecasts.
func (f *forecast) follow(now time.Time, elapsed time.Duration, low, high float64) *run.ETA {
	weight := 1.0
	switch {
	case high == 0:
		*f = forecast{}
		return nil
	case f.high > 0:
		weight = 1 - math.Exp(-now.Sub(f.updatedAt).Seconds()/smoothing.Seconds())
	}
	f.low += weight * (elapsed.Seconds() + low - f.low)
	f.high += weight * (elapsed.Seconds() + high - f.high)
	if f.high <= elapsed.Seconds() { // the run should have ended by now, but is stuck
		f.low, f.high = elapsed.Seconds()+low, elapsed.Seconds()+high
	}
	f.updatedAt = now
	return &run.ETA{Min: seconds(f.low - elapsed.Seconds()), Max: seconds(f.high - elapsed.Seconds())}
}

func seconds(s float64) run.Seconds {
	return run.Seconds{Duration: time.Duration(max(0, min(s, maxETA.Seconds())) * float64(time.Second))}
}
