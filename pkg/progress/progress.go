// Package progress turns what a run has done so far into what people ask: how
// fast, how far, how long yet, and who is at it. It prints nothing itself.
package progress

import (
	"math"
	"math/big"
	"time"
)

// Snapshot is the state of a run at one moment.
type Snapshot struct {
	Done, Tasks uint64
	Work        float64  // Share of the estimated work that is done, 0 to 1; 1 when all is.
	Solutions   *big.Int // Found so far, weighted: grows up to the total.
	Rate        float64  // Solutions a second, of late.
	Elapsed     time.Duration
	ETA         Range // Time yet to go; zero while it can't be told.
	Workers     int   // Heard of within the last seconds.
	Threads     int   // Of those workers together.
	Repeated    uint64
	Conflicts   int // Tasks whose results contradicted each other, settled or not.
}

// Range is a time that can't be told exactly.
type Range struct{ Least, Most time.Duration }

// Rates are taken over two windows: a short one, in which a worker that joins soon
// shows, and a long one, in which the chances of easy and hard tasks even out. The
// forecast is what the two say, and what lies between.
const (
	short = 30 * time.Second
	long  = 5 * time.Minute
)

const (
	// firstForecast is how long a run is watched before a forecast is made.
	firstForecast = 5 * time.Second
	// margin widens the forecast at both ends: the work itself is an estimate.
	margin = 0.05
	// maxETA is where a forecast ends: longer than anybody's patience, and far from
	// what a duration can't hold.
	maxETA = 100 * 365 * 24 * time.Hour
)

// Meter measures the rates of one run. It is not safe for concurrent use.
type Meter struct {
	tasks   uint64
	start   time.Time
	samples []sample // The oldest is the last one before the long window, or the start.
}

type sample struct {
	at        time.Time
	work      float64
	solutions float64
}

// NewMeter returns a meter for a run of so many tasks that starts now, or goes on now
// from a share of the work and from the solutions found.
func NewMeter(tasks uint64, work float64, solutions *big.Int) *Meter {
	now := time.Now()
	return &Meter{tasks: tasks, start: now, samples: []sample{{at: now, work: work, solutions: float(solutions)}}}
}

// Measure notes what is done by now and returns the snapshot, without workers.
func (m *Meter) Measure(done uint64, work float64, solutions *big.Int) Snapshot {
	now := time.Now()
	latest := sample{at: now, work: work, solutions: float(solutions)}
	m.samples = append(m.samples, latest)
	for now.Sub(m.samples[1].at) >= long {
		m.samples = m.samples[1:]
	}
	s := Snapshot{Done: done, Tasks: m.tasks, Work: 1, Solutions: solutions, Elapsed: now.Sub(m.start)}
	if done < m.tasks {
		s.Work = max(0, min(work, math.Nextafter(1, 0))) // a sum of many shares is not exact
	}
	before := m.before(now.Add(-short))
	if seconds := now.Sub(before.at).Seconds(); seconds > 0 {
		s.Rate = max(0, latest.solutions-before.solutions) / seconds
	}
	if s.Elapsed >= firstForecast {
		s.ETA = forecast(1-s.Work, m.speed(before, latest), m.speed(m.samples[0], latest))
	}
	return s
}

// before returns the last sample that is no younger than that, or the oldest.
func (m *Meter) before(at time.Time) sample {
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

// forecast returns the time for the work that is left at two speeds.
func forecast(left float64, one, other speed) Range {
	least, most := min(one.least, other.least), max(one.most, other.most)
	if left <= 0 || least <= 0 {
		return Range{}
	}
	return Range{Least: seconds(left / most * (1 - margin)), Most: seconds(left / least * (1 + margin))}
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, maxETA.Seconds()) * float64(time.Second))
}

func float(i *big.Int) float64 {
	f, _ := new(big.Float).SetInt(i).Float64()
	return f
}
