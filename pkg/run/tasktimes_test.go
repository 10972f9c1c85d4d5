package run

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// A quantile is that of the sorted times, to 1.2%, also when the times of several parts are added up. Tasks,
// total and maximum are exact.
func TestQuantiles(t *testing.T) {
	rng := testkit.Rand(t)
	var all TaskTimes
	var times []time.Duration
	var total time.Duration
	for range 5 {
		var part TaskTimes
		for range 1 + rng.IntN(2000) {
			d := time.Duration(math.Exp(rng.Float64() * math.Log(1e13)))
			times, total = append(times, d), total+d
			part.Add(d)
		}
		all.AddAll(&part)
	}
	slices.Sort(times)
	if all.Tasks != uint64(len(times)) || all.Total != total || all.Max != times[len(times)-1] {
		t.Errorf("%d tasks, %v in all, %v at most; want %d, %v, %v", all.Tasks, all.Total, all.Max, len(times), total, times[len(times)-1])
	}
	for _, share := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
		want := times[max(int(math.Ceil(share*float64(len(times)))), 1)-1]
		if got := all.Quantile(share); math.Abs(float64(got-want)) > 0.012*float64(want)+1 {
			t.Errorf("the quantile of %v is %v, want %v", share, got, want)
		}
	}
}

// Times that no clock gives, and sums that are too long, overflow nothing.
func TestTaskTimesOfHostileWorkers(t *testing.T) {
	var times, none TaskTimes
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64, math.MaxInt64} {
		times.Add(d)
	}
	times.AddAll(&none)
	times.AddAll(&times)
	if times.Tasks != 12 || times.Total != math.MaxInt64 || times.Max != math.MaxInt64 || times.Quantile(0) < 0 || times.Quantile(1) <= times.Quantile(0) {
		t.Errorf("%d tasks, %v in all, %v at most, from %v to %v", times.Tasks, times.Total, times.Max, times.Quantile(0), times.Quantile(1))
	}
	if none.Quantile(0.5) != 0 || none.Counts != nil {
		t.Errorf("without tasks the median is %v", none.Quantile(0.5))
	}
}

func BenchmarkTaskTimes(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var times TaskTimes
	for b.Loop() {
		times.Add(time.Duration(rng.Uint64N(1e10)))
	}
}
