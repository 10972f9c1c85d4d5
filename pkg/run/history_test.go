package run_test

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
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
			h.Observe(at, &run.Snapshot{
				Solutions: (*run.Decimal)(big.NewInt(int64(found))), Rate: float64(i % 1000), Threads: i, Workers: 2 * i, WorkDone: run.Fraction(float64(i) / float64(snapshots)),
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
		h.Observe(time.Duration(i)*time.Second, &run.Snapshot{Solutions: (*run.Decimal)(big.NewInt(sum))})
		h.Observe(-1, &run.Snapshot{Solutions: (*run.Decimal)(big.NewInt(5000))})
	}
	for i, want := range []float64{1000, 0, 490} {
		if got := h.Samples()[i].Solutions; got != want {
			t.Errorf("%v solutions are found in second %d, want %v", got, i, want)
		}
	}
}

// A history that is stored and read again at any time goes on as if it had not been, and is small.
func TestStoredHistory(t *testing.T) {
	const most = 200
	rng := testkit.Rand(t)
	one, stored := run.NewHistory(most), run.NewHistory(most)
	found := new(big.Int).Lsh(big.NewInt(1), 200)
	at, largest := time.Duration(0), 0
	for range 20_000 {
		at += time.Duration(rng.Int64N(int64(2 * time.Hour)))
		found = new(big.Int).Add(found, new(big.Int).SetUint64(rng.Uint64()))
		p := run.Snapshot{Solutions: (*run.Decimal)(found), Rate: rng.ExpFloat64() * 1e12, Threads: rng.IntN(1e6), Workers: rng.IntN(1e6), WorkDone: run.Fraction(rng.Float64())}
		one.Observe(at, &p)
		stored.Observe(at, &p)
		if rng.IntN(20) > 0 {
			continue
		}
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
		stored = run.NewHistory(most)
		if err := json.Unmarshal(text, stored); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if largest > 64<<10 || largest < 1<<10 {
		t.Errorf("a stored history has %d bytes", largest)
	}
	a, b := one.Samples(), stored.Samples()
	if len(a) != len(b) || len(a) < most/2 {
		t.Fatalf("it has %d samples, and stored %d", len(a), len(b))
	}
	for i := range a {
		if (a[i].From-b[i].From).Abs() > time.Microsecond || (a[i].To-b[i].To).Abs() > time.Microsecond || differ(a[i].Rate, b[i].Rate) ||
			differ(a[i].Solutions, b[i].Solutions) || differ(a[i].Threads, b[i].Threads) || differ(a[i].Workers, b[i].Workers) || a[i].WorkDone != b[i].WorkDone {
			t.Errorf("sample %d is %+v, and stored %+v", i, a[i], b[i])
		}
	}
}

// A stored history that no History wrote is refused, and changes nothing. A rate that is no number is stored as 0.
func TestBadStoredHistory(t *testing.T) {
	h := run.NewHistory(4)
	for i := range 4 {
		h.Observe(time.Duration(i)*time.Second, &run.Snapshot{Solutions: (*run.Decimal)(big.NewInt(int64(i))), Rate: math.Inf(1)})
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(h.Samples())
	for _, bad := range []string{
		"", "{}", "[]", `{"interval":1000000000,"samples":null,"rest":[0,0,0,0,0,0,0,-1]}`,
		`{"interval":999,"samples":null,"rest":[0,0,0,0,0,0,0,0]}`,
		`{"interval":1000000000,"samples":null,"rest":[0,1e30,0,0,0,0,0,1]}`,
		`{"interval":1000000000,"samples":null,"rest":[2,1,0,0,0,0,0,1]}`,
		`{"interval":1000000000,"samples":[[0,5,0,0,0,0,0,1]],"rest":[4,6,0,0,0,0,0,1]}`,
		`{"interval":1000000000,"samples":null,"rest":[0,0,0,0,0,0,0,0],"solutions":-1}`,
		`{"interval":1000000000,"samples":[[0,1],[1,2],[2,3],[3,4]],"rest":[4,4]}`,
	} {
		if err := h.UnmarshalJSON([]byte(bad)); err == nil || !slices.Equal(h.Samples(), before) {
			t.Errorf("%s is a history of %v (%v)", bad, h.Samples(), err)
		}
	}
	if err := h.UnmarshalJSON(text); err != nil || len(h.Samples()) != len(before) || h.Samples()[0].Rate != 0 {
		t.Errorf("%s is a history of %v (%v)", text, h.Samples(), err)
	}
}

// Whatever rates others publish, the means of a history are numbers: JSON has no others.
func TestHistoryOfGreatRates(t *testing.T) {
	h := run.NewHistory(4)
	for at := range 10_000 {
		s := run.Snapshot{
			Run: "n8-x", N: 8, Symmetry: queens.Full, State: run.Running, Solutions: new(run.Decimal), Rate: math.MaxFloat64,
		}
		if s.Validate() != nil {
			s.Rate = 1e100
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		h.Observe(time.Duration(at)*time.Millisecond, &s)
	}
	for _, sample := range h.Samples() {
		if _, err := json.Marshal(sample.Rate); err != nil {
			t.Fatal(err)
		}
	}
}
