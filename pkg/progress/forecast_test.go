package progress_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// For tasks of random sizes that end at random times, the forecast almost always contains
// the true remaining time.
func TestUnevenTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, perSecond = 4000, 8
		rng := rand.New(rand.NewPCG(1, 2))
		r := newRun(tasks)
		var sum, total time.Duration
		var pauses []time.Duration
		for range tasks {
			pauses = append(pauses, time.Duration(rng.ExpFloat64()*float64(time.Second)/perSecond))
			total += pauses[len(pauses)-1]
		}
		forecasts, misses, next := 0, 0, 10*time.Second
		for _, pause := range pauses {
			time.Sleep(pause)
			sum += pause
			r.done++
			if sum < next {
				continue
			}
			next += 10 * time.Second
			r.measure()
			forecasts++
			if eta, truth := r.latest.ETA, total-sum; eta.Min.Duration > truth || eta.Max.Duration < truth {
				misses++
			}
		}
		if forecasts < 40 || misses > forecasts/10 {
			t.Errorf("%d of %d forecasts do not hold the true time to go", misses, forecasts)
		}
	})
}

// A resumed run has the rates of what is done now, not of what was done before.
func TestResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := resumed(100_000, 90_000)
		r.measure()
		r.wantRate(t, "at the start", 0)
		r.wantNoETA(t, "at the start")
		for second := 1; second <= 400; second++ {
			r.work(20, time.Second)
			when := fmt.Sprintf("second %d", second)
			r.wantRate(t, when, 200)
			if r.latest.Elapsed.Duration >= time.Hour+firstForecast {
				r.wantETA(t, when, r.left(20), 0.35)
			} else {
				r.wantNoETA(t, when)
			}
		}
		if s := r.latest; s.Elapsed.Duration != time.Hour+400*time.Second || s.Done != 98_000 || !near(float64(s.WorkDone), 0.98) {
			t.Errorf("at the end: %+v", s)
		}
	})
}

// A run that resumes is forecast at once by what its threads did before, until it is measured; not while it has no
// workers.
func TestResumedForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run.NewHistory(run.MaxHistory)
		for second := range 3600 {
			h.Observe(time.Duration(second)*time.Second, &run.Snapshot{WorkDone: run.Fraction(second) / 7200, Threads: 4, Solutions: new(run.Decimal)})
		}
		speed := progress.ThreadSpeed(h)
		if want := 1. / 7200 / 4; math.Abs(speed/want-1) > 0.01 {
			t.Errorf("a thread did %v of the work in a second, want %v", speed, want)
		}
		r := resumedAt(7200, 3600, speed)
		r.latest = r.meter.Measure(r.observe(0))
		r.wantNoETA(t, "without workers")
		r.measure() // with two threads
		r.wantETA(t, "at once", 2*time.Hour, 1)
		r.work(2, settled)
		r.wantETA(t, "once it is measured", r.left(2), 0.6)
	})
	if speed := progress.ThreadSpeed(run.NewHistory(2)); speed != 0 {
		t.Errorf("without a history a thread did %v", speed)
	}
}

// A worker that joins shows at once in the rate, and has its full weight there after one
// short window; so has one that leaves. Until the long window has passed, the forecast spans
// the time at the old speed and that at the new one; after it, the new one alone counts.
func TestForecastFollowsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(1_000_000)
		for _, change := range []struct {
			name     string
			from, to uint64 // tasks a second
		}{{"one joins", 10, 20}, {"ten join", 20, 120}, {"most leave", 120, 30}} {
			r.work(change.from, longWindow)
			from, to := 10*float64(change.from), 10*float64(change.to)
			r.wantRate(t, change.name+": before", from)
			r.wantETA(t, change.name+": before", r.left(float64(change.from)), 0.25)
			r.work(change.to, time.Second)
			r.wantRate(t, change.name+": a second later", (29*from+to)/30)
			r.work(change.to, window/2-time.Second)
			r.wantRate(t, change.name+": half a window later", (from+to)/2)
			r.work(change.to, window/2)
			r.wantRate(t, change.name+": a window later", to)
			r.work(change.to, settled)
			r.wantETA(t, change.name+": a window later, at the new speed", r.left(float64(change.to)), 10)
			r.wantETA(t, change.name+": a window later, at the mean of the long window",
				r.left((8*float64(change.from)+2*float64(change.to))/10), 10)
			r.work(change.to, longWindow-window)
			r.wantETA(t, change.name+": a long window later", r.left(float64(change.to)), 0.25)
		}
	})
}

// When one worker of many joins, the forecast moves a little each second, and never beyond
// what the two speeds and their margins explain.
func TestForecastDoesNotJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const before, after = 40, 41 // tasks a second
		r := newRun(1_000_000)
		r.work(before, longWindow)
		for second := 1; second <= 400; second++ {
			was := r.latest
			r.work(after, time.Second)
			now := r.latest
			for _, end := range [][2]time.Duration{{was.ETA.Min.Duration, now.ETA.Min.Duration}, {was.ETA.Max.Duration, now.ETA.Max.Duration}} {
				if moved := (end[1] + time.Second - end[0]).Abs(); moved.Seconds() > 0.005*end[0].Seconds() {
					t.Errorf("second %d: the forecast moves by %v, from %v to %v", second, moved, was.ETA, now.ETA)
				}
			}
			if least, most := r.left(after), r.left(before); now.ETA.Min.Seconds() < 0.9*least.Seconds() || now.ETA.Max.Seconds() > 1.1*most.Seconds() {
				t.Errorf("second %d: ETA %v, at the two speeds it is %v and %v", second, now.ETA, least, most)
			}
		}
	})
}

// A burst counts for one short window in the rate. When nothing more arrives, the remaining
// time is unknown again.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(1000)
		r.work(0, 3*window)
		r.work(60, time.Second)
		r.wantRate(t, "burst", 20)
		r.wantETA(t, "burst, at the speed of the short window", r.left(2), 10)
		r.wantETA(t, "burst, at the speed of all the time", r.left(60./91), 10)
		r.work(0, window-time.Second)
		r.wantRate(t, "almost a window later", 20)
		r.work(0, time.Second)
		r.wantRate(t, "a window later", 0)
		r.wantNoETA(t, "a window later")
	})
}

// The remaining time of the largest runs at the lowest speed is long, not negative.
func TestCrawl(t *testing.T) {
	for _, tasks := range []uint64{1e8, 1e10, math.MaxUint64} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(tasks)
			time.Sleep(5 * time.Minute)
			r.done, r.solutions = 1, 1
			r.measure()
			if eta := etaOf(&r.latest); eta.Min.Duration < 50*365*24*time.Hour || eta.Max.Duration < eta.Min.Duration {
				t.Errorf("one of %d tasks done in five minutes: ETA %v", tasks, eta)
			}
		})
	}
}

// In a run that is measured four times a second, and whose tasks take random times on many
// threads, the forecast moves little from one measurement to the next.
func TestForecastIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, threads, look = 2000, 8, 250 * time.Millisecond
		rng := rand.New(rand.NewPCG(3, 4))
		r := newRun(tasks)
		free := make([]time.Duration, threads) // when each thread is done with its task
		for i := range free {
			free[i] = time.Duration(rng.ExpFloat64() * float64(2*time.Second))
		}
		var moved, most float64
		looks := 0
		for now := look; r.done < tasks; now += look {
			time.Sleep(look)
			for i := range free {
				for ; free[i] <= now && r.done < tasks; r.done++ {
					free[i] += time.Duration(rng.ExpFloat64() * float64(2*time.Second))
				}
			}
			was := r.latest
			r.measure()
			eta := etaOf(&r.latest)
			if eta.Min.Duration < 0 || eta.Max.Duration < eta.Min.Duration {
				t.Fatalf("ETA %v", eta)
			}
			if was.ETA == nil || r.latest.ETA == nil || eta.Min.Duration < 20*time.Second {
				continue
			}
			for _, end := range [][2]time.Duration{{was.ETA.Min.Duration, eta.Min.Duration}, {was.ETA.Max.Duration, eta.Max.Duration}} {
				jump := (end[1] + look - end[0]).Abs().Seconds() / end[0].Seconds()
				moved, most = moved+jump, max(most, jump)
				looks++
			}
		}
		if mean := moved / float64(looks); looks < 1000 || mean > 0.004 || most > 0.05 {
			t.Errorf("of %d looks the mean moves the end by %.2f%%, the worst by %.2f%% of the time to go", looks, 100*mean, 100*most)
		}
	})
}

// A run that is stuck shortly before its end still has a forecast as long as anything was
// done in the short window.
func TestStuckAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(55)
		r.work(0, 10*time.Second)
		r.work(54, time.Second)
		for second := range window/time.Second - 1 {
			r.work(0, time.Second)
			if eta := etaOf(&r.latest); eta.Min.Duration < 0 || eta.Max.Duration <= 0 || eta.Max.Duration > time.Minute {
				t.Errorf("stuck for %d s: ETA %v", second+1, eta)
			}
		}
	})
}

// Time without workers does not count: the forecast of a run whose worker comes late, or
// comes back, is based on what that worker does.
func TestWaitingForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(10_000)
		for range 2 {
			for range 1000 {
				time.Sleep(time.Second)
				r.latest = r.meter.Measure(r.observe(0))
			}
			r.wantNoETA(t, "without workers")
			r.wantRate(t, "without workers", 0)
			r.work(10, firstForecast-time.Second)
			r.wantNoETA(t, "at first")
			r.work(10, 10*time.Second)
			r.wantETA(t, "soon", r.left(10), 0.5)
			r.wantRate(t, "soon", 100)
		}
	})
}
