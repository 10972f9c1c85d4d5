package estimate_test

import (
	"fmt"
	"math"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

func mustClasses(t testing.TB, n int) []queens.Class {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

func mustProbe(t testing.TB, n, probes int, seed uint64) *estimate.TreeEstimate {
	t.Helper()
	trees, err := estimate.Probe(t.Context(), mustClasses(t, n), probes, seed, 1)
	if err != nil {
		t.Fatal(err)
	}
	return trees
}

func known(t testing.TB, n int) float64 {
	t.Helper()
	total, ok := queens.KnownTotal(n)
	if !ok {
		t.Fatalf("no published total for n = %d", n)
	}
	exact, _ := total.Float64()
	return exact
}

// Many probes come close to the true number of prefixes of every depth, added up over the
// classes, and close to the published total. The bound is about five times the mean error.
func TestProbesNearTheTruth(t *testing.T) {
	const probes, bound = 1 << 18, 0.04
	for n := 1; n <= 9; n++ {
		classes, trees := mustClasses(t, n), mustProbe(t, n, probes, 0)
		for depth := range n + 1 {
			var exact, estimated float64
			for i, class := range classes {
				for range split.Tasks(&queens.Manifest{Classes: []queens.ClassPlan{{Class: class, Depth: depth, Batch: 1}}}) {
					exact++
				}
				estimated += trees.Profiles[i][depth]
			}
			if !(math.Abs(estimated-exact) <= bound*exact) {
				t.Errorf("n=%d: %v prefixes of %d rows by probes, %v by search", n, estimated, depth, exact)
			}
		}
		if total := known(t, n); !(math.Abs(trees.Solutions.Mean-total) <= bound*total) {
			t.Errorf("n=%d: %v solutions by probes, %v are published", n, trees.Solutions.Mean, total)
		}
	}
}

// The confidence intervals contain the published total as often as they claim, and are not too
// wide: half of the totals lie within the middle third of their intervals, as they should.
func TestIntervalsCoverTheTotals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	const seeds, probes = 10, 1 << 12
	var all, covered, central int
	for n := 8; n <= 20; n++ {
		for seed := range uint64(seeds) {
			s := mustProbe(t, n, probes, seed).Solutions
			total := known(t, n)
			all++
			if s.Low <= total && total <= s.High {
				covered++
			}
			if quartile := (s.High - s.Mean) * 0.6745 / 1.96; math.Abs(total-s.Mean) <= quartile {
				central++
			}
		}
	}
	t.Logf("of %d totals %d lie in their intervals, %d in the central parts", all, covered, central)
	if share := float64(covered) / float64(all); share < 0.9 {
		t.Errorf("%d of %d totals lie in their intervals, want 95%%", covered, all)
	}
	if share := float64(central) / float64(all); share < 0.4 || share > 0.6 {
		t.Errorf("%d of %d totals lie in the central parts of their intervals, want half", central, all)
	}
}

// An estimate depends on the seed, not on the number of threads.
func TestProbeIsDeterministic(t *testing.T) {
	classes := mustClasses(t, 14)
	var found []estimate.Solutions
	for _, c := range []struct {
		seed    uint64
		threads int
	}{{7, 1}, {7, 5}, {8, 1}} {
		trees, err := estimate.Probe(t.Context(), classes, 5000, c.seed, c.threads)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, trees.Solutions)
	}
	if found[0] != found[1] || found[0] == found[2] {
		t.Errorf("%v on one thread, %v on five, %v with another seed", found[0], found[1], found[2])
	}
}

// The width of the interval shrinks with the square root of the number of probes.
func TestMoreProbesAreSurer(t *testing.T) {
	if testing.Short() {
		t.Skip("draws many probes")
	}
	width := func(probes int) (width, mean float64) {
		trees := mustProbe(t, 16, probes, 0)
		return trees.Solutions.High - trees.Solutions.Low, float64(trees.Solutions.Probes)
	}
	few, fewer := width(200_000)
	many, more := width(1_000_000)
	if ratio, want := few/many, math.Sqrt(more/fewer); ratio < 0.8*want || ratio > 1.25*want {
		t.Errorf("the interval is %.2f times as narrow with %.1f times the probes", ratio, more/fewer)
	}
}

// BenchmarkPublished compares the published totals with their estimates.
func BenchmarkPublished(b *testing.B) {
	for n := 4; n <= 27; n++ {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var trees *estimate.TreeEstimate
			for b.Loop() {
				trees = mustProbe(b, n, estimate.DefaultProbes, 0)
			}
			b.ReportMetric(trees.Solutions.Mean, "mean")
			b.ReportMetric(trees.Solutions.Low, "low")
			b.ReportMetric(trees.Solutions.High, "high")
			b.ReportMetric(float64(trees.Solutions.Probes), "probes")
			b.ReportMetric(known(b, n), "published")
		})
	}
}
