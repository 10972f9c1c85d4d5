package progress

import (
	"math"
	"time"

	"nqueens/pkg/queens"
)

const (
	// workMargin is the relative error of the estimated work of a whole run. For the rest of a run it
	// is divided by the square root of the share that is left, because the errors of tasks partly
	// cancel. rateMargin is the relative error of the speed. timeError, divided by the measured time,
	// adds to this error, because results come in groups and processors are faster in the first
	// seconds.
	workMargin = 0.06
	rateMargin = 0.07
	timeError  = 1500 * time.Millisecond
	// smoothing is the time constant of the forecast. In this time the forecast moves two thirds of
	// the way to the value that the rates give, so no single task makes it jump.
	smoothing = 5 * time.Second
	// longestForecast bounds a forecast. A [time.Duration] can be almost three times as long.
	longestForecast = 100 * 365 * 24 * time.Hour
)

// speed is a range for the share of the work that is done in a second. It is zero if nothing was
// done.
type speed struct{ low, high float64 }

// speedBetween returns the speed between two samples. Tasks have random sizes, and only finished
// tasks are seen, so the standard deviation of the number of finished tasks is about its square
// root.
func speedBetween(from, to *sample) speed {
	work, tasks := to.work-from.work, to.done-from.done
	if work <= 0 || to.done <= from.done || to.at <= from.at {
		return speed{}
	}
	mean := work / (to.at - from.at).Seconds()
	chance := 1 + 1/math.Sqrt(float64(tasks))
	return speed{low: mean / chance, high: mean * chance}
}

// timeLeft returns the least and the most seconds that are left. It uses the speed since a recent
// sample, and the speed since an older one, which it converts to the present number of threads.
// Both results are 0 if the speed is unknown.
func timeLeft(recent, older, latest *sample, threads int) (low, high float64) {
	short, long := speedBetween(recent, latest), speedBetween(older, latest)
	if mean := (latest.threads - older.threads) / (latest.at - older.at).Seconds(); mean > 0 {
		now := float64(threads) / mean
		long.low, long.high = long.low*now, long.high*now
	}
	slow, fast := min(short.low, long.low), max(short.high, long.high)
	work := 1 - latest.work
	if work <= 0 || slow <= 0 {
		return 0, 0
	}
	// At the end, a thread waits for the others for up to the time of a task.
	task := (latest.threads - older.threads) / float64(latest.done-older.done)
	margin := min(workMargin/math.Sqrt(work)+rateMargin+
		timeError.Seconds()/(latest.at-older.at).Seconds(), 1)
	return work / fast * (1 - margin), work/slow*(1+margin) + task
}

// forecast is the range of the elapsed time at which a run will end, in seconds; zero while it is
// unknown. This time stays the same while the rates do, so it can be smoothed. The time that is
// left always falls, so it would lag if it were smoothed.
type forecast struct {
	low, high float64
	updated   time.Duration
}

// follow updates the forecast with the seconds that are left according to the rates. It returns the
// time to go, or nil if high is 0.
func (f *forecast) follow(now time.Duration, low, high float64) *queens.TimeToGo {
	weight := 1.0
	switch {
	case high == 0:
		*f = forecast{}
		return nil
	case f.high > 0:
		weight = 1 - math.Exp(-(now-f.updated).Seconds()/smoothing.Seconds())
	}
	low = min(low, longestForecast.Seconds()) + now.Seconds()
	high = min(high, longestForecast.Seconds()) + now.Seconds()
	f.low += weight * (low - f.low)
	f.high += weight * (high - f.high)
	if f.high <= now.Seconds() { // the run should have ended by now
		f.low, f.high = low, high
	}
	f.updated = now
	return &queens.TimeToGo{Least: secondsAfter(now, f.low), Most: secondsAfter(now, f.high)}
}

// secondsAfter returns the time from now to a number of seconds on the same clock, or 0 if that is
// past.
func secondsAfter(now time.Duration, seconds float64) queens.Seconds {
	left := max(0, min(seconds-now.Seconds(), longestForecast.Seconds()))
	return queens.Seconds{Duration: time.Duration(left * float64(time.Second))}
}
