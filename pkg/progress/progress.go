// Package progress computes from what services observe of a run how fast it is, how far it
// is, how long it will still take, and which workers it has. It prints nothing.
package progress

import (
	"math"
	"math/big"
	"slices"
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

// Observation is how far a run is at a time.
type Observation struct {
	At        time.Time
	Elapsed   time.Duration // for which coordinators have worked on the run
	Done      uint64        // tasks
	WorkDone  float64       // 0 to 1
	Solutions *big.Int
	Threads   int // of the workers present
}

// Meter measures the rates of one run. A Meter is not safe for concurrent use.
type Meter struct {
	tasks        uint64
	threadSpeed  float64   // part of the work that a thread did in a second before; 0 if unknown
	workingSince time.Time // since when there are workers; or the start
	samples      []sample  // The first is the last before the long window, or the first since workingSince.
	forecast     forecast
	measured     bool // the forecast is by what was measured since workingSince
}

// sampleInterval is the least time between two stored samples, except the latest.
const sampleInterval = time.Second

type sample struct {
	at        time.Time
	work      float64
	solutions float64
}

func (o *Observation) sample() sample {
	f, _ := new(big.Float).SetInt(o.Solutions).Float64()
	return sample{at: o.At, work: o.WorkDone, solutions: f}
}

// rate returns the solutions a second between two samples.
func rate(from, to sample) float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return max(0, to.solutions-from.solutions) / seconds
}

// NewMeter returns a meter for a run of that number of tasks that begins, or resumes, with an observation. Until something is
// measured, it forecasts by the part of the work that a thread did in a second before, see [ThreadSpeed]; 0 if that
// is not known.
func NewMeter(tasks uint64, start *Observation, threadSpeed float64) *Meter {
	return &Meter{tasks: tasks, threadSpeed: threadSpeed, workingSince: start.At, samples: []sample{start.sample()}}
}

// Measure records an observation, and returns the snapshot, without the workers. Time without workers says nothing
// about the remaining time: the windows start after it.
func (m *Meter) Measure(o *Observation) run.Snapshot {
	latest, now := o.sample(), o.At
	s := run.Snapshot{
		At: now, Done: o.Done, Tasks: m.tasks, WorkDone: 1, Solutions: (*run.Decimal)(o.Solutions), Elapsed: run.Seconds{Duration: o.Elapsed},
	}
	if o.Done < m.tasks {
		s.WorkDone = run.Fraction(max(0, min(o.WorkDone, math.Nextafter(1, 0)))) // the sum of many shares is inexact
	}
	if o.Threads == 0 {
		m.workingSince, m.samples, m.forecast, m.measured = now, []sample{latest}, forecast{}, false
		return s
	}
	m.keep(latest)
	before := m.sampleBefore(now.Add(-shortWindow))
	s.Rate = rate(before, latest)
	left, low, high := 1-float64(s.WorkDone), 0.0, 0.0
	if now.Sub(m.workingSince) >= firstForecast {
		low, high = remaining(left, m.speed(before, latest), m.speed(m.samples[0], latest))
	}
	if m.measured = m.measured || high > 0; !m.measured {
		expected := m.threadSpeed * float64(o.Threads)
		low, high = remaining(left, speed{expected / threadSpread, expected}, speed{expected, expected * threadSpread})
	}
	s.ETA = m.forecast.follow(now, o.Elapsed, low, high)
	return s
}

// threadSpread is how much faster or slower a thread may be than those before: the fleet may have changed.
const threadSpread = 1.5

// ThreadSpeed returns the part of the work of a run that a thread did in a second lately, by the history of the run; 0
// if that is not known.
func ThreadSpeed(h *run.History) float64 {
	const lately = 10 * time.Minute
	samples := h.Samples()
	if rest, ok := h.Rest(); ok {
		samples = append(slices.Clip(samples), rest)
	}
	var work, seconds, wall float64
	for i := len(samples) - 1; i > 0 && wall < lately.Seconds(); i-- {
		long := (samples[i].To - samples[i].From).Seconds()
		work += samples[i].WorkDone - samples[i-1].WorkDone
		seconds, wall = seconds+long*samples[i].Threads, wall+long
	}
	if work <= 0 || seconds <= 0 {
		return 0
	}
	return work / seconds
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
