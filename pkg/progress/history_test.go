package progress

import (
	"math"
	"math/big"
	"testing"
	"time"

	"nqueens/pkg/run"
)

// However long a run is, its samples are few, follow each other without a gap, and add up to all its
// solutions until the end of the last.
func TestHistory(t *testing.T) {
	for _, snapshots := range []int{0, 1, 2, 5, 1000, 100_000} {
		var h History
		solutions := make(map[time.Duration]float64)
		sum, at := 0.0, time.Duration(0)
		for i := range snapshots {
			solutions[at] = sum
			h.Observe(&run.Progress{Elapsed: at, Solutions: big.NewInt(int64(sum)), Threads: i})
			at += 250 * time.Millisecond
			sum += float64(i % 7 * 1000)
		}
		samples := h.Samples()
		if len(samples) >= maxHistory || snapshots >= 1000 && len(samples) < maxHistory/2 {
			t.Fatalf("%d snapshots give %d samples", snapshots, len(samples))
		}
		end, got := time.Duration(0), 0.0
		for i, s := range samples {
			if s.From != end || s.To-s.From < time.Second {
				t.Fatalf("%d snapshots: sample %d is from %v to %v, after %v", snapshots, i, s.From, s.To, end)
			}
			end, got = s.To, got+s.Rate*(s.To-s.From).Seconds()
		}
		if want := solutions[end]; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%d snapshots: the samples add up to %v, want %v", snapshots, got, want)
		}
	}
}

// When results are voided, the sum of the solutions falls: the rate is 0, not negative.
func TestHistoryOfVoidedResults(t *testing.T) {
	var h History
	for i, sum := range []int64{0, 1000, 10, 500} {
		h.Observe(&run.Progress{Elapsed: time.Duration(i) * time.Second, Solutions: big.NewInt(sum)})
	}
	for i, want := range []float64{1000, 0, 490} {
		if got := h.Samples()[i].Rate; got != want {
			t.Errorf("the rate of second %d is %v, want %v", i, got, want)
		}
	}
}
