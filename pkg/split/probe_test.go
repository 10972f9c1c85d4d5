package split_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Many probes come near the true profile, on boards of classes and on boards with random forbidden
// squares. They never find prefixes that do not exist. The test allows about five times the mean
// error of so many probes. The seed is fixed, so the result is deterministic.
func TestProbeNearsTheProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	const probes, bound = 200_000, 0.05
	check := func(name string, b queens.Board) {
		t.Helper()
		got, want := split.Probe(b, probes), profile(&b)
		for depth := range want {
			if off := math.Abs(got[depth] - want[depth]); off > bound*want[depth] {
				t.Errorf("%s: %v prefixes of %d rows by probes, %v by search", name, got[depth], depth,
					want[depth])
			}
		}
	}
	for n := 1; n <= 9; n++ {
		check("full board", queens.FullBoard(n))
	}
	for _, s := range []queens.Symmetry{queens.Mirror, queens.Full} {
		for n := 7; n <= 9; n++ {
			for _, class := range mustClasses(t, n, s) {
				check(string(s), class.Board)
			}
		}
	}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		check("random board", randomBoard(rng, 8, int(seed)%4))
	}
}

// Two equal calls give the same profile to the last bit, and all its numbers are finite and not
// negative.
func TestProbeIsDeterministic(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		for _, class := range mustClasses(t, n, queens.Full) {
			p := split.Probe(class.Board, 50)
			if again := split.Probe(class.Board, 50); p != again {
				t.Errorf("n=%d: %v, and %v the second time", n, p, again)
			}
			for depth, width := range p {
				if width < 0 || math.IsNaN(width) || math.IsInf(width, 0) || depth > n && width != 0 {
					t.Errorf("n=%d: %v prefixes of %d rows", n, width, depth)
				}
			}
			if p[0] != 1 {
				t.Errorf("n=%d: %v empty prefixes", n, p[0])
			}
		}
	}
}

// Every machine rounds in the same way: the bits are pinned, without tolerance.
func TestProbeIsPinned(t *testing.T) {
	p := split.Probe(queens.FullBoard(16), 500)
	for depth, want := range map[int]float64{1: 16, 2: 210.176, 5: 142772.928, 16: 10840724.992} {
		if p[depth] != want {
			t.Errorf("%v prefixes of %d rows, want %v", p[depth], depth, want)
		}
	}
}

// A descent begins with the given prefix, with weight 1. Each row adds a queen on a free square and
// multiplies the weight by the number of that row's free squares. Many descents reach every free
// square. A descent ends only after the last row or at a row without a free square.
func TestDescend(t *testing.T) {
	source := rand.NewPCG(1, 2)
	for seed := range uint64(40) {
		b := randomBoard(rand.New(rand.NewPCG(seed, 1)), 8, int(seed)%4)
		for _, start := range placements(&b, 4)[:min(8, len(placements(&b, 4)))] {
			free, reached := start.Free(&b), uint32(0)
			for range 200 {
				var last queens.Prefix
				stands := 1.0
				for p, weight := range split.Descend(&b, start, source) {
					if p.Row == start.Row && p != start {
						t.Fatalf("a descent from %+v begins with %+v", start, p)
					}
					if p != start {
						square := p.Cols &^ last.Cols
						stands *= float64(bits.OnesCount32(last.Free(&b)))
						if p != last.Place(&b, square) || square&last.Free(&b) == 0 {
							t.Fatalf("a descent goes from %+v to %+v", last, p)
						}
						if p.Row == start.Row+1 {
							reached |= square
						}
					}
					if weight != stands {
						t.Fatalf("%+v stands for %v prefixes, want %v", p, weight, stands)
					}
					last = p
				}
				if last.Row < b.N && last.Free(&b) != 0 {
					t.Fatalf("a descent ends with %+v", last)
				}
			}
			if reached != free {
				t.Fatalf("200 descents reach the squares %#x of %#x", reached, free)
			}
		}
	}
}

// NodesBelow adds up the prefixes of a depth and of all greater depths.
func TestBelow(t *testing.T) {
	var p split.Profile
	for depth := range p {
		p[depth] = float64(uint64(1) << depth)
	}
	for depth := range p {
		if got, want := p.NodesBelow(depth), float64(uint64(1)<<len(p)-uint64(1)<<depth); got != want {
			t.Errorf("%v nodes below depth %d, want %v", got, depth, want)
		}
	}
}

// profile returns the true profile of a board.
func profile(b *queens.Board) split.Profile {
	var p split.Profile
	for depth := range b.N + 1 {
		p[depth] = float64(len(placements(b, depth)))
	}
	return p
}
