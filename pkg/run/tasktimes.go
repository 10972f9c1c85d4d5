package run

import (
	"math"
	"time"
)

// TaskTimes is the distribution of the times that the searches of tasks took. Its size does not depend on
// the number of tasks.
type TaskTimes struct {
	// Counts are numbers of tasks by time: Counts[i] of those from 10^(i/BucketsPerDecade) nanoseconds to
	// the begin of the next bucket. It is nil without tasks. Times below 1 ns count as 1 ns.
	Counts []uint64
	Tasks  uint64
	Total  time.Duration // The longest duration if the sum is longer.
	Max    time.Duration
}

const (
	// BucketsPerDecade is the number of buckets of [TaskTimes] from a time to ten times that time. A time is
	// known to 1.2%.
	BucketsPerDecade = 100
	// buckets suffices for the longest duration, which has 19 digits.
	buckets = 19 * BucketsPerDecade
)

// Add adds the time of a task. A negative time, which no clock gives, counts as 0.
func (t *TaskTimes) Add(d time.Duration) {
	if t.Counts == nil {
		t.Counts = make([]uint64, buckets)
	}
	d = max(d, 0)
	t.Counts[int(math.Log10(float64(max(d, 1)))*BucketsPerDecade)]++
	t.Tasks++
	t.Total, t.Max = addTime(t.Total, d), max(t.Max, d)
}

// AddAll adds the times of other tasks.
func (t *TaskTimes) AddAll(o *TaskTimes) {
	if o.Tasks == 0 {
		return
	}
	if t.Counts == nil {
		t.Counts = make([]uint64, buckets)
	}
	for i, n := range o.Counts {
		t.Counts[i] += n
	}
	t.Tasks += o.Tasks
	t.Total, t.Max = addTime(t.Total, o.Total), max(t.Max, o.Max)
}

// Quantile returns the time that a share of the tasks does not exceed, 0 to 1, to 1.2%; 0 without tasks.
func (t *TaskTimes) Quantile(share float64) time.Duration {
	rank := max(uint64(math.Ceil(share*float64(t.Tasks))), 1)
	for i, n := range t.Counts {
		if n >= rank {
			middle := math.Pow(10, (float64(i)+0.5)/BucketsPerDecade)
			if middle >= float64(t.Max) {
				return t.Max
			}
			return time.Duration(middle)
		}
		rank -= n
	}
	return t.Max
}

// addTime adds times that are not negative.
func addTime(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
