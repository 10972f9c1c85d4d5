// Package progress turns what a run has done so far into what people ask: how
// fast, how far, how long yet, and who is at it. It prints nothing itself.
package progress

import (
	"math"
	"math/big"
	"time"

	"nqueens/pkg/run"
)

// Rates are taken over two windows: a short one, in which a worker that joins soon
// shows, and a long one, in which the chances of easy and hard tasks even out. The
// forecast is what the two say, and what lies between, smoothed.
const (
	short = 30 * time.Second
	long  = 5 * time.Minute
)

const (
	// firstForecast is how long a run is watched before a forecast is made.
	firstForecast = 5 * time.Second
	// margin widens the forecast at both ends: the work itself is an estimate.
	margin = 0.05
	// calm is the time in which the forecast follows what the rates say of late by some
	// two thirds: each task that ends moves it a little, none makes it jump.
	calm = 5 * time.Second
	// maxETA is where a forecast ends: longer than anybody's patience, and far from
	// what a duration can't hold.
	maxETA = 100 * 365 * 24 * time.Hour
)

// Meter measures the rates of one run. It is not safe for concurrent use.
type Meter struct {
	tasks   uint64
	start   time.Time
	before  float64   // solutions at the start
	since   time.Time // workers are there; the start, before any was
	samples []sample  // The oldest is the last one before the long window, or since then.
	end     forecast  // as it was last told
}

// sampleEvery is the least time between two samples that are kept, but for the latest.
const sampleEvery = time.Second

type sample struct {
	at        time.Time
	work      float64
	solutions float64
}

// NewMeter returns a meter for a run of so many tasks that starts now, or goes on now
// from a share of the work and from the solutions found.
func NewMeter(tasks uint64, work float64, solutions *big.Int) *Meter {
	now := time.Now()
	first := sample{at: now, work: work, solutions: float(solutions)}
	return &Meter{tasks: tasks, start: now, before: first.solutions, since: now, samples: []sample{first}}
}

// Measure notes what is done by now, and whether workers are there, and returns the
// snapshot, without workers. Time in which there are none says nothing of how long the
// rest takes: the windows begin after it.
func (m *Meter) Measure(done uint64, work float64, solutions *big.Int, working bool) run.Progress {
	now := time.Now()
	latest := sample{at: now, work: work, solutions: float(solutions)}
	s := run.Progress{Done: done, Tasks: m.tasks, WorkDone: 1, Solutions: solutions, Elapsed: now.Sub(m.start)}
	if done < m.tasks {
		s.WorkDone = max(0, min(work, math.Nextafter(1, 0))) // a sum of many shares is not exact
	}
	if !working {
		m.since, m.samples, m.end = now, []sample{latest}, forecast{}
		return s
	}
	m.keep(latest)
	before := m.sampleBefore(now.Add(-short))
	if seconds := now.Sub(before.at).Seconds(); seconds > 0 {
		s.Rate = max(0, latest.solutions-before.solutions) / seconds
	}
	if now.Sub(m.since) >= firstForecast {
		least, most := left(1-s.WorkDone, m.speed(before, latest), m.speed(m.samples[0], latest))
		m.end.follow(now, s.Elapsed, least, most)
		s.ETA = m.end.eta(s.Elapsed)
	}
	return s
}

// keep adds a sample, and drops those that are too old.
func (m *Meter) keep(latest sample) {
	if last := len(m.samples) - 1; last > 0 && latest.at.Sub(m.samples[last-1].at) < sampleEvery {
		m.samples[last] = latest
	} else {
		m.samples = append(m.samples, latest)
	}
	for latest.at.Sub(m.samples[1].at) >= long {
		m.samples = m.samples[1:]
	}
}

// MeanRate returns the solutions a second over all the time of the meter, as last measured.
func (m *Meter) MeanRate() float64 {
	last := m.samples[len(m.samples)-1]
	if seconds := last.at.Sub(m.start).Seconds(); seconds > 0 {
		return max(0, last.solutions-m.before) / seconds
	}
	return 0
}

// sampleBefore returns the last sample that is no younger than that, or the oldest.
func (m *Meter) sampleBefore(at time.Time) sample {
	found := m.samples[0]
	for _, s := range m.samples {
		if s.at.After(at) {
			break
		}
		found = s
	}
	return found
}

// speed is the share of the work that is done a second, as far as a window tells; zero
// where nothing was done in it.
type speed struct{ least, most float64 }

// speed returns the speed between two samples. Tasks differ, and are seen only when they
// are whole: of k tasks of the mean size, chance gives or takes the square root of k.
func (m *Meter) speed(from, to sample) speed {
	work := to.work - from.work
	if work <= 0 {
		return speed{}
	}
	mean := work / to.at.Sub(from.at).Seconds()
	chance := 1 + 1/math.Sqrt(work*float64(m.tasks))
	return speed{least: mean / chance, most: mean * chance}
}

// left returns the time for the work that is left at two speeds, in seconds; zero where
// there is none, or it can't be told.
func left(work float64, one, other speed) (least, most float64) {
	slow, fast := min(one.least, other.least), max(one.most, other.most)
	if work <= 0 || slow <= 0 {
		return 0, 0
	}
	return min(work/fast*(1-margin), maxETA.Seconds()), min(work/slow*(1+margin), maxETA.Seconds())
}

// forecast is the time at which a run will end, in seconds from its start; zero while it
// can't be told. It follows what is measured with some delay. Smoothed is the time of the
// end, which stays where it is while all goes evenly, not the time to go, which would
// always be told too late.
type forecast struct {
	least, most float64
	at          time.Time // when it was last changed
}

// follow takes what is left to go by the rates of this moment.
func (f *forecast) follow(now time.Time, elapsed time.Duration, least, most float64) {
	weight := 1.0
	switch {
	case most == 0:
		*f = forecast{}
		return
	case f.most > 0:
		weight = 1 - math.Exp(-now.Sub(f.at).Seconds()/calm.Seconds())
	}
	f.least += weight * (elapsed.Seconds() + least - f.least)
	f.most += weight * (elapsed.Seconds() + most - f.most)
	if f.most <= elapsed.Seconds() { // the run is stuck, and should be over by now
		f.least, f.most = elapsed.Seconds()+least, elapsed.Seconds()+most
	}
	f.at = now
}

// eta returns the time yet to go.
func (f *forecast) eta(elapsed time.Duration) run.Range {
	return run.Range{Min: seconds(f.least - elapsed.Seconds()), Max: seconds(f.most - elapsed.Seconds())}
}

func seconds(s float64) time.Duration {
	return time.Duration(max(0, min(s, maxETA.Seconds())) * float64(time.Second))
}

func float(i *big.Int) float64 {
	f, _ := new(big.Float).SetInt(i).Float64()
	return f
}
