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
	"nqueens/pkg/run"
)

// The windows over which rates are measured, the time before the first forecast, and the
// time constant of the forecast.
const (
	window        = 30 * time.Second
	longWindow    = 5 * time.Minute
	firstForecast = 5 * time.Second
	smoothing     = 5 * time.Second
	settled       = 6 * smoothing // after it, the forecast shows a change
)

// testRun is a run in fake time, whose work the test does: tasks of the same size with 10
// solutions each.
type testRun struct {
	meter     *progress.Meter
	begun     time.Time
	before    time.Duration // for which coordinators had worked on it
	tasks     uint64
	done      uint64
	solutions int64
	latest    run.Snapshot
}

func newRun(tasks uint64) *testRun { return resumed(tasks, 0) }

// resumed returns a run that resumes after an hour with so many tasks done.
func resumed(tasks, done uint64) *testRun { return resumedAt(tasks, done, 0) }

// resumedAt returns the same with what a thread did in a second.
func resumedAt(tasks, done uint64, threadSpeed float64) *testRun {
	r := &testRun{begun: time.Now(), tasks: tasks, done: done, solutions: 10 * int64(done)}
	if done > 0 {
		r.before = time.Hour
	}
	r.meter = progress.NewMeter(tasks, r.observe(0), threadSpeed)
	return r
}

func (r *testRun) observe(threads int) *progress.Observation {
	return &progress.Observation{
		At: time.Now(), Elapsed: r.before + time.Since(r.begun), Done: r.done, WorkDone: r.share(), Solutions: big.NewInt(r.solutions), Threads: threads,
	}
}

func (r *testRun) share() float64 { return float64(r.done) / float64(max(r.tasks, 1)) }

// work does so many tasks a second for that time, and measures after each second.
func (r *testRun) work(tasksPerSecond uint64, long time.Duration) {
	for range long / time.Second {
		time.Sleep(time.Second)
		r.done += tasksPerSecond
		r.solutions += 10 * int64(tasksPerSecond)
		r.measure()
	}
}

func (r *testRun) measure() {
	r.latest = r.meter.Measure(r.observe(2))
}

// wantRate holds the latest snapshot to a rate in solutions a second.
func (r *testRun) wantRate(t *testing.T, when string, rate float64) {
	t.Helper()
	if !near(r.latest.Rate, rate) {
		t.Errorf("%s: rate %v, want %v", when, r.latest.Rate, rate)
	}
}

// wantNoETA holds the latest snapshot to have no forecast.
func (r *testRun) wantNoETA(t *testing.T, when string) {
	t.Helper()
	if r.latest.ETA != nil {
		t.Errorf("%s: ETA %v, want none", when, r.latest.ETA)
	}
}

// wantETA holds the forecast of the latest snapshot to contain a time, and to be no
// wider than so many times that time.
func (r *testRun) wantETA(t *testing.T, when string, truth time.Duration, width float64) {
	t.Helper()
	eta := etaOf(&r.latest)
	if eta.Min.Duration < 0 || eta.Min.Duration > truth || eta.Max.Duration < truth {
		t.Errorf("%s: ETA %v, the truth is %v", when, eta, truth)
	}
	if got := (eta.Max.Duration - eta.Min.Duration - smoothing/2).Seconds(); got > width*truth.Seconds() {
		t.Errorf("%s: ETA %v is %.2f of %v wide, want %.2f at most", when, eta, got/truth.Seconds(), truth, width)
	}
}

// left returns the time that the remaining tasks take at a speed.
func (r *testRun) left(tasksPerSecond float64) time.Duration {
	return time.Duration(float64(r.tasks-r.done) / tasksPerSecond * float64(time.Second))
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

// Steady work has its rate from the first second on, and from 5 s on a forecast that
// contains the true remaining time, and narrows.
func TestSteadyWork(t *testing.T) {
	for _, speed := range []uint64{1, 2, 64, 5000} {
		synctest.Test(t, func(t *testing.T) {
			const seconds = 600
			r := newRun(seconds * speed)
			for second := 1; second <= seconds; second++ {
				r.work(speed, time.Second)
				when := fmt.Sprintf("%d a second, second %d", speed, second)
				r.wantRate(t, when, 10*float64(speed))
				s := r.latest
				if s.Done != r.done || s.Tasks != r.tasks || (*big.Int)(s.Solutions).Int64() != r.solutions || s.Elapsed.Duration != time.Duration(second)*time.Second || !near(float64(s.WorkDone), r.share()) {
					t.Errorf("%s: %+v", when, s)
				}
				switch {
				case s.Elapsed.Duration < firstForecast || second == seconds:
					r.wantNoETA(t, when)
				case s.Elapsed.Duration < window:
					r.wantETA(t, when, r.left(float64(speed)), 1.2)
				default:
					r.wantETA(t, when, r.left(float64(speed)), 0.1+2.2/math.Sqrt(30*float64(speed)))
				}
			}
		})
	}
}

// While nothing is done there is no rate and no forecast, from the very start.
func TestNothingDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(400)
		r.measure()
		r.wantRate(t, "at the start", 0)
		r.wantNoETA(t, "at the start")
		for second := 1; second <= 100; second++ {
			r.work(0, time.Second)
			when := fmt.Sprintf("second %d", second)
			r.wantRate(t, when, 0)
			r.wantNoETA(t, when)
		}
		r.work(1, time.Second)
		if etaOf(&r.latest).Min.Duration <= 0 {
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
		r.wantRate(t, "at the start", 0)
		r.wantNoETA(t, "at the start")
	})
}

// Rates are right however rarely or often they are measured: over the whole time since the
// last measurement, where that is more than a short window.
func TestAnyInterval(t *testing.T) {
	for _, interval := range []time.Duration{10 * time.Millisecond, 70 * time.Millisecond, 7 * time.Second, window, 5 * time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(1 << 20)
			for range max(5, 3*window/interval) {
				time.Sleep(interval)
				r.done += 3
				r.solutions += 30
				r.measure()
				r.wantRate(t, fmt.Sprintf("every %v", interval), 30/interval.Seconds())
				if r.latest.Elapsed.Duration >= firstForecast {
					r.wantETA(t, fmt.Sprintf("every %v", interval), r.left(3/interval.Seconds()), 2)
				}
			}
			time.Sleep(window)
			r.measure()
			r.wantRate(t, fmt.Sprintf("every %v, after an idle window", interval), 0)
		})
	}
}

// Whatever the course of the work, also where a settled conflict revokes what was done, rate
// and forecast are finite, never negative and never reversed. The share of the work is 1
// exactly when all is done, and then there is no forecast.
func TestAnyCourse(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			tasks := 1 + rng.Uint64N(1<<rng.IntN(27))
			r := newRun(tasks)
			for r.done < tasks {
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
				switch rng.IntN(10) {
				case 0, 1, 2:
				case 3:
					r.done -= min(r.done, 1)
					r.solutions -= rng.Int64N(r.solutions + 1)
				default:
					r.done += min(tasks-r.done, rng.Uint64N(tasks/20+2))
					r.solutions += rng.Int64N(1 << 40)
				}
				o := r.observe(2)
				o.WorkDone *= 1 + 1e-12
				r.latest = r.meter.Measure(o)
				s := r.latest
				if etaOf(&s).Min.Duration < 0 || etaOf(&s).Max.Duration < etaOf(&s).Min.Duration || !(s.Rate >= 0) || math.IsInf(s.Rate, 0) {
					t.Fatalf("seed %d: %+v", seed, s)
				}
				if all := s.Done == tasks; s.WorkDone < 0 || s.WorkDone > 1 || all != (s.WorkDone == 1) {
					t.Fatalf("seed %d: %d of %d done, share %v", seed, s.Done, tasks, s.WorkDone)
				}
			}
			r.wantNoETA(t, fmt.Sprintf("seed %d, all %d tasks done", seed, tasks))
		})
	}
}

// There is no forecast where all is done at the start, or there is nothing to do.
func TestAllDone(t *testing.T) {
	for _, tasks := range []uint64{0, 1, 105} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(tasks)
			time.Sleep(2 * firstForecast)
			r.done = tasks
			r.measure()
			r.wantNoETA(t, fmt.Sprintf("%d tasks", tasks))
			if s := r.latest; s.Done != s.Tasks || s.WorkDone != 1 {
				t.Errorf("%d tasks: %+v", tasks, s)
			}
		})
	}
}

// While a task remains, the share of the work is below 1, whatever the shares of the others
// add up to.
func TestLastTask(t *testing.T) {
	for _, work := range []float64{1, 1 + 1e-9, 1.5} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(100)
			time.Sleep(2 * firstForecast)
			r.done = 99
			o := r.observe(1)
			o.WorkDone = work
			if s := r.meter.Measure(o); s.WorkDone >= 1 || s.WorkDone < 0.99 {
				t.Errorf("99 of 100 tasks with the share %v: %+v", work, s)
			}
		})
	}
}

// Totals beyond 64 bits have a rate too.
func TestHugeTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(2)
		time.Sleep(10 * time.Second)
		huge := new(big.Int).Lsh(big.NewInt(10), 70)
		r.done = 1
		o := r.observe(1)
		o.Solutions = huge
		s := r.meter.Measure(o)
		if !near(s.Rate, math.Ldexp(1, 70)) || (*big.Int)(s.Solutions).Cmp(huge) != 0 || etaOf(&s).Min.Duration > 10*time.Second || etaOf(&s).Max.Duration < 10*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// etaOf returns the remaining time that a snapshot forecasts, zero if it forecasts none.
func etaOf(s *run.Snapshot) run.ETA {
	if s.ETA == nil {
		return run.ETA{}
	}
	return *s.ETA
}
