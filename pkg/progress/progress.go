// Package progress turns what a run has done so far into what people ask: how
// fast, how far, how long yet, and who is at it. It prints nothing itself.
package progress

import (
	"math/big"
	"time"
)

// Snapshot is the state of a run at one moment.
type Snapshot struct {
	Done, Tasks uint64
	Solutions   *big.Int // Found so far, weighted: grows up to the total.
	Rate        float64  // Solutions a second, of late.
	Elapsed     time.Duration
	ETA         time.Duration // Time yet to go; 0 while it can't be told.
	Workers     int           // Heard of within the last seconds.
	Threads     int           // Of those workers together.
}

// window is the time over which rates are taken: long enough to be steady, short
// enough that a worker that joins shows.
const window = 30 * time.Second

// maxETA is where a forecast ends: longer than anybody's patience, and far from
// what a duration can't hold.
const maxETA = 100 * 365 * 24 * time.Hour

// Meter measures the rates of one run. It is not safe for concurrent use.
type Meter struct {
	tasks   uint64
	start   time.Time
	samples []sample // The oldest is the last one before the window, or the start.
}

type sample struct {
	at        time.Time
	done      uint64
	solutions float64
}

// NewMeter returns a meter for a run of so many tasks that starts now, or goes on now
// from what is done.
func NewMeter(tasks, done uint64, solutions *big.Int) *Meter {
	now := time.Now()
	return &Meter{tasks: tasks, start: now, samples: []sample{{at: now, done: done, solutions: float(solutions)}}}
}

func float(i *big.Int) float64 {
	f, _ := new(big.Float).SetInt(i).Float64()
	return f
}

// Measure notes what is done by now and returns the snapshot, without workers.
func (m *Meter) Measure(done uint64, solutions *big.Int) Snapshot {
	now := time.Now()
	latest := sample{at: now, done: done, solutions: float(solutions)}
	m.samples = append(m.samples, latest)
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	s := Snapshot{Done: done, Tasks: m.tasks, Solutions: solutions, Elapsed: now.Sub(m.start)}
	oldest := m.samples[0]
	if seconds := now.Sub(oldest.at).Seconds(); seconds > 0 {
		s.Rate = (latest.solutions - oldest.solutions) / seconds
		if rate := float64(done-oldest.done) / seconds; rate > 0 {
			left := float64(m.tasks-done) / rate
			s.ETA = time.Duration(min(left, maxETA.Seconds()) * float64(time.Second))
		}
	}
	return s
}
