package run_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"nqueens/pkg/run"
)

// However long a run is, its samples are bounded, follow each other without a gap from the first snapshot to
// the last, add up to all solutions, and have the means of what was measured.
func TestHistory(t *testing.T) {
	const begin, most = time.Hour, 200
	for _, snapshots := range []int{0, 1, 2, 5, 6, 1000, 100_000, 2 << 20} {
		h := run.NewHistory(most)
		found, rates, threads := 0, 0.0, 0.0
		at := begin
		for i := range snapshots {
			if at = begin + time.Duration(i)*250*time.Millisecond; i > 0 {
				found += i % 7 * 1000
			}
			h.Observe(at, &run.Progress{
				Solutions: big.NewInt(int64(found)), Rate: float64(i % 1000), Threads: i, WorkerCount: 2 * i, WorkDone: float64(i) / float64(snapshots),
			})
			rates, threads = rates+float64(i%1000), threads+float64(i)
		}
		samples := h.Samples()
		whole := len(samples)
		if rest, ok := h.Rest(); ok {
			samples = append(samples, rest)
		}
		if len(samples) > most || snapshots >= 1000 && len(samples) < most/2 {
			t.Fatalf("%d snapshots give %d samples", snapshots, len(samples))
		}
		end, solutions, work := begin, 0.0, 0.0
		for i, s := range samples {
			if s.From != end || i < whole && (s.To-s.From < time.Second || s.To-s.From != samples[0].To-begin) || s.WorkDone < work {
				t.Fatalf("%d snapshots: sample %d is %+v, after %v with %v of the work", snapshots, i, s, end, work)
			}
			end, work, solutions = s.To, s.WorkDone, solutions+s.Solutions
		}
		if end != at || solutions != float64(found) || snapshots > 0 && work != float64(snapshots-1)/float64(snapshots) {
			t.Errorf("%d snapshots: the samples add up to %v solutions and %v of the work at %v, want %d at %v", snapshots, solutions, work, end, found, at)
		}
		if snapshots == 0 {
			continue
		}
		// The first sample has a snapshot more than the others: that of its begin.
		rate, present, workers, n := 0.0, 0.0, 0.0, 0.0
		for i, s := range samples {
			weight := math.Round(float64(s.To-s.From) / float64(250*time.Millisecond))
			if i == 0 {
				weight++
			}
			rate, present, workers, n = rate+weight*s.Rate, present+weight*s.Threads, workers+weight*s.Workers, n+weight
		}
		if n != float64(snapshots) || differ(rate, rates) || differ(present, threads) || differ(workers, 2*threads) {
			t.Errorf("%d snapshots: the means are of %v snapshots, with the sums %v, %v, %v, want %v, %v, %v", snapshots, n, rate, present, workers, rates, threads, 2*threads)
		}
	}
}

func differ(a, b float64) bool { return math.Abs(a-b) > 1e-6*max(a, b) }

// When results are voided, the sum of the solutions falls: none are found then, not less than none. A clock
// that is set back has nothing measured until it is later than before.
func TestHistoryOfVoidedResults(t *testing.T) {
	h := run.NewHistory(4)
	for i, sum := range []int64{0, 1000, 10, 500} {
		h.Observe(time.Duration(i)*time.Second, &run.Progress{Solutions: big.NewInt(sum)})
		h.Observe(-1, &run.Progress{Solutions: big.NewInt(5000)})
	}
	for i, want := range []float64{1000, 0, 490} {
		if got := h.Samples()[i].Solutions; got != want {
			t.Errorf("%v solutions are found in second %d, want %v", got, i, want)
		}
	}
}
