package progress

// What is known of a run: the part of the work that is done, which is an estimate; how many tasks
// and results came, and when; how many threads are present. What a task takes before a worker has
// counted it is not known, nor which worker will count it. So a forecast is a range:
//
//   - Nine of ten ranges contain the true time to go: of one machine, of machines of different
//     speed, and of a run that was resumed, where only the time since then is measured.
//   - The range gets narrower while more is measured, and wider again when the speed changes.
//   - Without a result in the last 30 s, without threads and in the first 2 s there is no range.
//   - The range never begins below 0 or after its end, and it moves little in a second.
//
// The times of the tasks of a class do not correct the estimate of the class: in recorded runs the
// classes that nobody has begun cause most of the error, and within a class the later tasks differ
// from the earlier ones by as much.

import (
	"math"
	"time"

	"nqueens/pkg/queens"
)

const (
	// workError bounds the error of the share of the work that is done, in shares of the run, and
	// partError bounds the error of the share of a part, relative to that share. In a tenth of the
	// cases the errors are greater: see TestRecordedTimes.
	workError = 0.022
	partError = 0.3
	// taskSpread is the standard deviation of the time of tasks, relative to their mean.
	taskSpread = 0.5
	// rateError is the relative error of a speed that was measured for long.
	rateError = 0.02
	// smoothing is the time constant of the forecast. In this time the forecast moves two thirds of
	// the way to the value that the rates give, so no single task makes it jump.
	smoothing = 3 * time.Second
	// longestForecast bounds a forecast. A [time.Duration] can be almost three times as long.
	longestForecast = 100 * 365 * 24 * time.Hour
)

// span is a range for the seconds that are left; zero while it is unknown.
type span struct{ low, high float64 }

// timeLeft returns the seconds that the work left after the sample to takes, if the given number of
// threads goes on as fast as the threads between the two samples. On average, half of each chunk
// that threads hold is counted already.
//
// Four errors are independent, so their squares add up: rateError, the errors of the estimated
// work, of the number of done tasks, and of the counted part of the chunks.
func timeLeft(from, to *sample, threads int) span {
	work, left, seconds := to.work-from.work, 1-to.work, (to.at - from.at).Seconds()
	tasks, results := float64(to.done)-float64(from.done), float64(to.results)-float64(from.results)
	busy := to.threads - from.threads // in thread-seconds
	if min(work, left, seconds, tasks, results, busy) <= 0 || threads == 0 {
		return span{}
	}
	half, mean := busy/results/2, busy/work*left/float64(threads)
	estimates := min(math.Hypot(errorAt(from.work), errorAt(to.work))/work, partError) +
		errorAt(to.work)/left
	sizes := taskSpread / math.Sqrt(tasks)
	chunks := half * (1/seconds + 1/mean) / math.Sqrt(float64(threads))
	e := math.Hypot(math.Hypot(estimates, sizes), math.Hypot(chunks, rateError))
	task := busy / tasks // at the end, a thread waits up to the time of a task for the others
	return span{low: max(mean-half, 0) / (1 + e), high: max(mean-half, 0)*(1+e) + task}
}

// errorAt returns the error of the share of the work that is done.
func errorAt(share float64) float64 { return min(workError, partError*min(share, 1-share)) }

// contradicts reports whether the middle of another range is not in this one.
func (s span) contradicts(other span) bool {
	middle := (other.low + other.high) / 2
	return middle < s.low || middle > s.high
}

// forecast is the range of the elapsed time at which a run will end, in seconds; zero while it is
// unknown. This time stays the same while the rates do, so it can be smoothed. The time that is
// left always falls, so it would lag if it were smoothed.
type forecast struct {
	span
	updated time.Duration
}

// follow updates the forecast with the seconds that are left according to the rates. It returns the
// time to go, or nil if that is unknown.
func (f *forecast) follow(now time.Duration, left span) *queens.TimeToGo {
	weight := 1.0
	switch {
	case left.high == 0:
		*f = forecast{}
		return nil
	case f.high > 0:
		weight = 1 - math.Exp(-(now-f.updated).Seconds()/smoothing.Seconds())
	}
	low := min(left.low, longestForecast.Seconds()) + now.Seconds()
	high := min(left.high, longestForecast.Seconds()) + now.Seconds()
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
