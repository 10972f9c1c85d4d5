package progress_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

const (
	shortWindow = 30 * time.Second // of the rate
	// settled is a time after which the smoothed forecast has followed a change.
	settled = time.Minute
)

// testRun is a simulated run. Its tasks have the same size and 10 solutions each.
type testRun struct {
	*testing.T
	meter   progress.Meter
	elapsed time.Duration
	tasks   uint64
	threads int
	s       queens.Snapshot // the latest snapshot
}

func newRun(t *testing.T, tasks, done uint64, elapsed time.Duration) *testRun {
	r := &testRun{T: t, elapsed: elapsed, tasks: tasks, threads: 2}
	r.s.Done = done
	r.measure()
	r.s.Done++ // the first result begins the windows
	r.measure()
	return r
}

func (r *testRun) measure() {
	r.s = queens.Snapshot{
		State: queens.Running, Done: r.s.Done, Tasks: r.tasks,
		WorkDone:  queens.Fraction(r.s.Done) / queens.Fraction(r.tasks),
		Solutions: (*queens.Decimal)(big.NewInt(10 * int64(r.s.Done))),
		Live:      &queens.Live{Threads: r.threads},
		Checks:    &queens.Checks{Recorded: r.s.Done},
		Elapsed:   queens.Seconds{Duration: r.elapsed},
	}
	r.meter.Measure(&r.s)
}

// work does a number of tasks in each second of the given time, and measures after each second.
func (r *testRun) work(perSecond uint64, long time.Duration) {
	for range long / time.Second {
		r.elapsed += time.Second
		r.s.Done = min(r.s.Done+perSecond, r.tasks)
		r.measure()
	}
}

// left returns the time that the remaining tasks take at a speed.
func (r *testRun) left(perSecond float64) time.Duration {
	return time.Duration(float64(r.tasks-r.s.Done) / perSecond * float64(time.Second))
}

// unknown is the rate that there must not be.
var unknown = math.NaN()

func (r *testRun) wantRate(when string, rate float64) {
	r.Helper()
	switch {
	case math.IsNaN(rate) && r.s.Rate == nil:
	case r.s.Rate == nil || !(math.Abs(r.s.PerSecond-rate) <= 1e-6*rate):
		r.Errorf("%s: rate %v, want %v", when, r.s.Rate, rate)
	}
}

// wantTimeToGo fails the test unless the forecast contains the true time to go. The forecast must
// not be wider than 5 s plus width times the true time. If width is 0, there must be no forecast.
func (r *testRun) wantTimeToGo(when string, truth time.Duration, width float64) {
	r.Helper()
	got := r.s.TimeToGo
	switch {
	case width == 0 && got == nil:
	case got == nil || width == 0:
		r.Errorf("%s: time to go %v, want one: %v", when, got, width > 0)
	case got.Least.Duration > truth || got.Most.Duration < truth:
		r.Errorf("%s: time to go %v, the truth is %v", when, *got, truth)
	case (got.Most.Duration - got.Least.Duration - 5*time.Second).Seconds() > width*truth.Seconds():
		r.Errorf("%s: time to go %v is wider than %v times the truth, %v", when, *got, width, truth)
	}
}

// Steady work has the right rate at once. From 2 s on it has a forecast, which contains the truth
// and narrows.
func TestSteadyWork(t *testing.T) {
	for _, speed := range []uint64{1, 2, 64, 5000} {
		const seconds = 600
		r := newRun(t, seconds*speed+1, 0, 0)
		for second := 1; second <= seconds; second++ {
			r.work(speed, time.Second)
			when := fmt.Sprintf("%d a second, second %d", speed, second)
			switch {
			case second == seconds:
				r.wantRate(when, unknown)
				r.wantTimeToGo(when, 0, 0)
			case second < 2:
				r.wantRate(when, 10*float64(speed))
				r.wantTimeToGo(when, 0, 0)
			default:
				r.wantRate(when, 10*float64(speed))
				width := 3.2
				if done := float64(r.s.WorkDone); second >= 20 {
					width = 0.1 + 3/float64(second) + min(0.05/done, 0.65) + min(0.05/(1-done), 0.65) +
						1.2/math.Sqrt(float64(second)*float64(speed))
				}
				r.wantTimeToGo(when, r.left(float64(speed)), width)
				if want := 2 * r.left(float64(speed)).Seconds(); math.Abs(r.s.ThreadSeconds-want) > 0.001*want {
					t.Errorf("%s: %v thread-seconds left, want %v", when, r.s.ThreadSeconds, want)
				}
			}
		}
	}
}

// The rate of a resumed run is the rate since it was resumed.
func TestResumed(t *testing.T) {
	r := newRun(t, 100_001, 90_000, time.Hour)
	r.work(20, time.Second)
	r.wantTimeToGo("at the start", 0, 0)
	r.work(20, 99*time.Second)
	r.wantRate("later", 200)
	r.wantTimeToGo("later", 400*time.Second, 1)
}

// The forecast soon follows the number of threads: it uses the speed of one thread.
func TestForecastFollowsThreads(t *testing.T) {
	r := newRun(t, 1_000_000, 0, 0)
	perThread := uint64(5)
	r.work(10, 5*time.Minute)
	for _, threads := range []int{4, 24, 6} {
		r.threads = threads
		now := perThread * uint64(threads)
		r.work(now, settled)
		r.wantTimeToGo(fmt.Sprint(threads, " threads"), r.left(float64(now)), 0.6)
		r.wantRate(fmt.Sprint(threads, " threads"), 10*float64(now))
		r.work(now, 5*time.Minute)
	}
}

// When the threads become faster or slower, for example because one machine takes the place of
// another, the forecast contains the truth again after five minutes at most.
func TestForecastFollowsSpeed(t *testing.T) {
	r := newRun(t, 1_000_000, 0, 0)
	for _, perSecond := range []uint64{10, 20, 50, 20} {
		r.work(perSecond, 5*time.Minute)
		r.wantTimeToGo(fmt.Sprint(perSecond, " a second"), r.left(float64(perSecond)), 0.9)
		r.work(perSecond, 10*time.Minute)
		r.wantTimeToGo(fmt.Sprint(perSecond, " a second"), r.left(float64(perSecond)), 0.9)
	}
}

// Tasks of random sizes end at random times on several threads. Nearly all forecasts contain the
// truth, and a forecast moves little in a second.
func TestUnevenTasks(t *testing.T) {
	forecasts, misses := 0, 0
	var moved float64
	for seed := range uint64(10) {
		const tasks, threads = 2000, 8
		rng := rand.New(rand.NewPCG(seed, 4))
		free := make([]time.Duration, threads)
		var ends []time.Duration
		for range tasks {
			i := slices.Index(free, slices.Min(free))
			free[i] += time.Duration(rng.ExpFloat64() * float64(2*time.Second))
			ends = append(ends, free[i])
		}
		slices.Sort(ends)
		var meter progress.Meter
		end, found := ends[tasks-1], 0
		var before queens.Snapshot
		for now := time.Second; now < end; now += time.Second {
			for found < tasks && ends[found] <= now {
				found++
			}
			s := queens.Snapshot{
				State: queens.Running, Done: uint64(found), Tasks: tasks,
				WorkDone: queens.Fraction(found) / tasks,
				Live:     &queens.Live{Threads: threads}, Elapsed: queens.Seconds{Duration: now},
				Checks: &queens.Checks{Recorded: uint64(found)},
			}
			meter.Measure(&s)
			if s.TimeToGo == nil {
				continue
			}
			forecasts++
			truth := end - now
			if s.Least.Duration > truth || s.Most.Duration < truth {
				misses++
			}
			if before.TimeToGo != nil && truth > 20*time.Second {
				moved = max(moved, (s.Most.Duration+time.Second-before.Most.Duration).Abs().Seconds()/
					before.Most.Seconds())
			}
			before = s
		}
	}
	if forecasts < 2000 || misses > forecasts/10 {
		t.Errorf("%d of %d forecasts do not contain the truth", misses, forecasts)
	}
	if moved > 0.15 {
		t.Errorf("a forecast moved by %v of the time to go in a second", moved)
	}
}

// When no result has arrived for 30 s, the rate is 0, and the forecast is unknown again.
func TestBurst(t *testing.T) {
	r := newRun(t, 1000, 0, 0)
	r.work(0, 3*shortWindow)
	r.work(60, time.Second)
	r.wantRate("after a burst", 20)
	r.work(0, shortWindow-time.Second)
	r.wantRate("almost 30 s later", 20)
	r.work(0, time.Second)
	r.wantRate("30 s later", 0)
	r.wantTimeToGo("30 s later", 0, 0)
}

// Time without threads and time before the first result do not lower the rate. The remaining work
// stays known.
func TestNoThreads(t *testing.T) {
	r := newRun(t, 10_000, 0, 0)
	r.work(10, time.Minute)
	remaining := r.s.ThreadSeconds
	r.threads = 0
	r.work(0, time.Minute)
	r.wantRate("without threads", unknown)
	r.wantTimeToGo("without threads", 0, 0)
	if r.s.ThreadSeconds != remaining {
		t.Errorf("%v thread-seconds left without threads, want %v", r.s.ThreadSeconds, remaining)
	}
	r.threads = 2
	r.work(0, time.Minute)
	r.work(10, 6*time.Second)
	r.wantRate("again", 100)
	r.wantTimeToGo("again", r.left(10), 2.2)
}

// A ban voids counts. Then the measurement of the rates begins again.
func TestBan(t *testing.T) {
	r := newRun(t, 10_000, 0, 0)
	r.work(10, time.Minute)
	r.s.Done = 50
	r.measure()
	r.wantRate("after a ban", unknown)
	r.wantTimeToGo("after a ban", 0, 0)
	r.work(10, 10*time.Second)
	r.wantRate("after a ban", 100)
}

// A forecast at the lowest speed is long, and does not overflow.
func TestCrawl(t *testing.T) {
	r := newRun(t, 1<<40, 0, 0)
	r.s.Done++
	r.work(0, 10*time.Second)
	if r.s.TimeToGo == nil || r.s.Least.Duration < 50*365*24*time.Hour ||
		r.s.Most.Duration < r.s.Least.Duration {
		t.Errorf("time to go %v", r.s.TimeToGo)
	}
}

// While a task is left, WorkDone is less than 1.
func TestWorkDone(t *testing.T) {
	for _, c := range []struct {
		done uint64
		work queens.Fraction
		less bool
	}{{9, 1.0000001, true}, {10, 0.9999999, true}, {10, 1, false}, {0, -1e-9, true}} {
		s := queens.Snapshot{Done: c.done, Tasks: 10, WorkDone: c.work, Live: new(queens.Live)}
		new(progress.Meter).Measure(&s)
		if s.WorkDone < 0 || s.WorkDone > 1 || (s.WorkDone < 1) != c.less {
			t.Errorf("%+v: %v", c, s.WorkDone)
		}
	}
}

// The points of a history are about evenly spaced from the start to the latest, however long the
// run.
func TestHistory(t *testing.T) {
	for _, between := range []time.Duration{time.Second / 2, time.Second, 3 * time.Second} {
		var h progress.History
		if len(h.Points()) != 0 {
			t.Error("an empty history has points")
		}
		for i := range 100_000 {
			at := time.Duration(i) * between
			h.Add(progress.Point{Elapsed: at, Work: float64(i), Solutions: 7 * float64(i)})
			points := h.Points()
			n := len(points)
			if n > progress.MaxPoints+1 || i > 1000 && n < progress.MaxPoints/2 {
				t.Fatalf("%d times %v: %d points", i, between, n)
			}
			if points[0].Elapsed != 0 || points[n-1].Elapsed != at {
				t.Fatalf("%d times %v: points from %v to %v", i, between, points[0].Elapsed,
					points[n-1].Elapsed)
			}
		}
		h.Add(progress.Point{Elapsed: time.Second})
		points := h.Points()
		for i := 2; i < len(points)-1; i++ {
			apart := points[i].Elapsed - points[i-1].Elapsed
			if ratio := float64(apart) / float64(points[1].Elapsed-points[0].Elapsed); ratio < 0.5 ||
				ratio > 1.01 {
				t.Fatalf("points %d and %d are %v apart", i-1, i, apart)
			}
		}
	}
}
