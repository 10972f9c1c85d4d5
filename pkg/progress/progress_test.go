package progress_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
)

// window is the time over which rates are taken.
const window = 30 * time.Second

// run is a run whose work the test does, in fake time.
type run struct {
	meter     *progress.Meter
	done      uint64
	solutions int64
	latest    progress.Snapshot
}

func newRun(tasks uint64) *run { return &run{meter: progress.NewMeter(tasks, 0, new(big.Int))} }

// work does so many tasks of 10 solutions each, a second, for so long, and measures
// after each second.
func (r *run) work(tasksPerSecond uint64, long time.Duration) {
	for range long / time.Second {
		time.Sleep(time.Second)
		r.done += tasksPerSecond
		r.solutions += 10 * int64(tasksPerSecond)
		r.measure()
	}
}

func (r *run) measure() { r.latest = r.meter.Measure(r.done, big.NewInt(r.solutions)) }

// want holds the latest snapshot to a rate in solutions a second, and to a time yet
// to go.
func (r *run) want(t *testing.T, when string, rate float64, eta time.Duration) {
	t.Helper()
	if !near(r.latest.Rate, rate) {
		t.Errorf("%s: rate %v, want %v", when, r.latest.Rate, rate)
	}
	if !near(r.latest.ETA.Seconds(), eta.Seconds()) {
		t.Errorf("%s: ETA %v, want %v", when, r.latest.ETA, eta)
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

// Steady work shows its rate from the first second on, and when it will be done;
// the snapshot says what was done, of how much, in how long.
func TestSteadyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(400)
		for second := 1; second <= 200; second++ {
			r.work(2, time.Second)
			r.want(t, fmt.Sprintf("second %d", second), 20, time.Duration(200-second)*time.Second)
			s := r.latest
			if s.Done != uint64(2*second) || s.Tasks != 400 || s.Solutions.Int64() != int64(20*second) || s.Elapsed != time.Duration(second)*time.Second {
				t.Errorf("second %d: %+v", second, s)
			}
		}
	})
}

// While nothing is done there is no rate and no time to tell, from the very start.
func TestNothingDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(400)
		r.measure()
		r.want(t, "at the start", 0, 0)
		for second := 1; second <= 100; second++ {
			r.work(0, time.Second)
			r.want(t, fmt.Sprintf("second %d", second), 0, 0)
		}
		r.work(1, time.Second)
		if r.latest.ETA <= 0 {
			t.Errorf("after the first task: ETA %v", r.latest.ETA)
		}
	})
}

// What happens in no time has no rate yet.
func TestNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(400)
		r.done, r.solutions = 100, 1000
		r.measure()
		r.want(t, "at the start", 0, 0)
	})
}

// A worker that joins shows at once in the rate, and has all its weight after one
// window; so has one that leaves.
func TestRateFollowsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(100_000)
		for _, change := range []struct {
			name     string
			from, to uint64 // tasks a second
		}{{"one joins", 1, 2}, {"ten join", 2, 12}, {"most leave", 12, 3}} {
			r.work(change.from, 3*window)
			from, to := 10*float64(change.from), 10*float64(change.to)
			r.want(t, change.name+": before", from, r.eta(change.from))
			r.work(change.to, time.Second)
			r.want(t, change.name+": a second later", (29*from+to)/30, r.etaAt((29*from+to)/300))
			r.work(change.to, window/2-time.Second)
			r.want(t, change.name+": half a window later", (from+to)/2, r.etaAt((from+to)/20))
			r.work(change.to, window/2-time.Second)
			r.want(t, change.name+": almost a window later", (from+29*to)/30, r.etaAt((from+29*to)/300))
			r.work(change.to, time.Second)
			r.want(t, change.name+": a window later", to, r.eta(change.to))
		}
	})
}

func (r *run) eta(tasksPerSecond uint64) time.Duration { return r.etaAt(float64(tasksPerSecond)) }

// etaAt is the time that what is not done takes at a speed.
func (r *run) etaAt(tasksPerSecond float64) time.Duration {
	return time.Duration(float64(r.latest.Tasks-r.done) / tasksPerSecond * float64(time.Second))
}

// A burst weighs for one window and is forgotten; when nothing more comes, the time
// yet to go can't be told again.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(1000)
		r.work(0, 3*window)
		r.work(60, time.Second)
		r.want(t, "burst", 20, 470*time.Second)
		r.work(0, window-time.Second)
		r.want(t, "almost a window later", 20, 470*time.Second)
		r.work(0, time.Second)
		r.want(t, "a window later", 0, 0)
	})
}

// Rates are right however seldom or often they are taken: over the whole time since
// the last look where that is more than a window.
func TestAnyInterval(t *testing.T) {
	for _, interval := range []time.Duration{time.Millisecond, 70 * time.Millisecond, 7 * time.Second, window, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(1 << 40)
			for range max(5, 3*window/interval) {
				time.Sleep(interval)
				r.done += 3
				r.solutions += 30
				r.measure()
				if want := 30 / interval.Seconds(); !near(r.latest.Rate, want) {
					t.Fatalf("every %v: rate %v, want %v", interval, r.latest.Rate, want)
				}
			}
			time.Sleep(window)
			r.measure()
			if r.latest.Rate != 0 {
				t.Errorf("every %v: rate %v after an idle window", interval, r.latest.Rate)
			}
		})
	}
}

// Whatever the course of the work, rate and time yet to go are finite and never
// negative. Under steady work the time falls, and it is 0 when all is done.
func TestAnyCourse(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			tasks := 1 + rng.Uint64N(1<<rng.IntN(27))
			r := newRun(tasks)
			for r.done < tasks {
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
				if rng.IntN(3) > 0 {
					r.done += min(tasks-r.done, rng.Uint64N(tasks/20+2))
					r.solutions += rng.Int64N(1 << 40)
				}
				r.measure()
				s := r.latest
				if s.ETA < 0 || !(s.Rate >= 0) || math.IsInf(s.Rate, 0) {
					t.Fatalf("seed %d: %+v", seed, s)
				}
			}
			if r.latest.ETA != 0 {
				t.Errorf("seed %d: all %d tasks done, ETA %v", seed, tasks, r.latest.ETA)
			}
		})
	}
}

// Where all is done at the start, or there is nothing to do, there is no time to go.
func TestAllDone(t *testing.T) {
	for _, tasks := range []uint64{0, 1, 105} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(tasks)
			time.Sleep(time.Second)
			r.done = tasks
			r.measure()
			if s := r.latest; s.ETA != 0 || s.Done != s.Tasks {
				t.Errorf("%d tasks: %+v", tasks, s)
			}
		})
	}
}

// Totals beyond 64 bits have a rate too.
func TestHugeTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := progress.NewMeter(2, 0, new(big.Int))
		time.Sleep(10 * time.Second)
		huge := new(big.Int).Lsh(big.NewInt(10), 70)
		s := m.Measure(1, huge)
		if !near(s.Rate, math.Ldexp(1, 70)) || s.Solutions.Cmp(huge) != 0 || s.ETA != 10*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// The time yet to go of the largest runs at the slowest pace is long, not negative.
func TestCrawl(t *testing.T) {
	for _, tasks := range []uint64{1e8, 1e10, math.MaxUint64} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(tasks)
			time.Sleep(5 * time.Minute)
			r.done, r.solutions = 1, 1
			r.measure()
			if r.latest.ETA < 50*365*24*time.Hour {
				t.Errorf("one of %d tasks done in five minutes: ETA %v", tasks, r.latest.ETA)
			}
		})
	}
}
