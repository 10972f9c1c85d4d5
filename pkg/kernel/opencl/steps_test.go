//go:build opencl && linux

package opencl

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// free returns the squares of row i, counted down from the state's row, that the state does not
// attack.
func free(rows []kernel.Row, s kernel.State, i int) uint32 {
	distance := 0
	for _, r := range rows[:i] {
		distance += int(r.Gap)
	}
	below := s.Below(distance)
	return rows[i].Allow &^ (below.Cols | below.Left | below.Right)
}

// A tests decides whether a state of rows[0] is searched: those of search.cl and those of warps.cl.
type tests func(rows []kernel.Row, s kernel.State, columns uint32) bool

func laneTests(rows []kernel.Row, s kernel.State, _ uint32) bool {
	return free(rows, s, 0) != 0 && (len(rows) < 2 || free(rows, s, 1) != 0)
}

// warpTests are the tests in docs/kernels.md, Pruning, by the number of rows below the row of the
// step: the rows that must have a free square. The row of the state comes first.
func warpTests(rows []kernel.Row, s kernel.State, columns uint32) bool {
	if !laneTests(rows, s, columns) {
		return false
	}
	last := len(rows) - 1
	switch len(rows) {
	case 3:
		return free(rows, s, 2) != 0
	case 4:
		return columns&^(s.Cols|free(rows, s, 0)|free(rows, s, 1)|free(rows, s, 2)|free(rows, s, 3)) == 0
	case 5:
		return free(rows, s, 2) != 0 && free(rows, s, 3) != 0 && free(rows, s, 4) != 0
	case 6, 7, 8, 9:
		return free(rows, s, last) != 0
	}
	return true
}

// steps returns how many queens a search places below a state of rows[0]: at least `least` rows
// before it counts the completions.
func steps(rows []kernel.Row, s kernel.State, columns uint32, least int, kept tests) (sum uint64) {
	for squares := free(rows, s, 0); squares != 0; squares &= squares - 1 {
		queen := squares & -squares
		sum++
		if len(rows) == least {
			continue
		}
		child := kernel.State{Cols: s.Cols | queen, Left: s.Left | queen,
			Right: s.Right | queen}.Below(int(rows[0].Gap))
		if kept(rows[1:], child, columns) {
			sum += steps(rows[1:], child, columns, least, kept)
		}
	}
	return sum
}

func laneSteps(rows []kernel.Row, s kernel.State, columns uint32) uint64 {
	return steps(rows, s, columns, 1, laneTests)
}

func warpSteps(rows []kernel.Row, s kernel.State, columns uint32) uint64 {
	return steps(rows, s, columns, minRows, warpTests)
}

// Each search takes the steps that its tests leave, on boards with and without gaps: no state more,
// none less. In the test, the kernels count steps instead of completions, except on the board of
// their setup.
func TestStepsOfTests(t *testing.T) {
	firstDevice(t)
	lanes := replaced(t, commonSource+lanesSource, "found += row.z >> 31;",
		"found += rowCount == 8 ? row.z >> 31 : 1;")
	warps := replaced(t, commonSource+warpsSource, "found += next == after ? 2 : 1;",
		"found += columns != 255 ? 0 : next == after ? 2 : 1;")
	warps = replaced(t, warps, "            s.w ^= queen;\n",
		"found += columns != 255 && queen != 0;\n            s.w ^= queen;\n")
	for name, c := range map[string]struct {
		settings settings
		model    func(rows []kernel.Row, s kernel.State, columns uint32) uint64
	}{
		"lanes": {settings{source: lanes}, laneSteps},
		"warps": {settings{warps: true, source: warps}, warpSteps},
	} {
		t.Run(name, func(t *testing.T) {
			counter, err := open(0, c.settings)
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, counter)
			rng := rand.New(rand.NewPCG(5, 0))
			tested := 0
			for range 150 {
				board := queens.FullBoard(9 + rng.IntN(14))
				for range rng.IntN(3) {
					board.Allow[1+rng.IntN(board.N-1)] = 1 << rng.IntN(board.N)
				}
				p := randomPrefix(rng, &board, max(board.N-8-rng.IntN(4), 1))
				var problems kernel.Problems
				problems.Start(&board, []queens.Prefix{p})
				problem, states := problems.Take()
				rows, columns := problem.Rows(nil), board.Columns()&^problem.Filled()
				if len(states) == 0 || len(rows) < minRows || len(rows) == 8 || columns == 255 {
					continue // the device does not search it, or takes it for the board of the setup
				}
				want := c.model(rows, states[0].Below(problem.First()), columns)
				var pulse atomic.Uint64
				got, err := counter.Count(t.Context(), &board, []queens.Prefix{p}, &pulse)
				if err != nil || got != want {
					t.Fatalf("board %x, prefix %+v: %d steps (error %v), want %d", board.Allow[:board.N], p, got,
						err, want)
				}
				tested++
			}
			if tested < 20 {
				t.Errorf("only %d boards were tested", tested)
			}
		})
	}
}

var (
	stepsN       = flag.String("opencl.n", "18,20,22", "sides of BenchmarkSteps")
	stepsSamples = flag.Int("opencl.samples", 1000, "samples of each class in BenchmarkSteps")
)

// BenchmarkSteps estimates how many steps both searches take for whole boards with full symmetry,
// on the processor: by random descents to rows with at most about 10^6 steps below them (Knuth,
// 1975). The standard error is that of the ratio. warps.cl takes 0.672 (n = 18), 0.663 (20 and 22),
// 0.645 (27) and 0.648 (28) of the steps of search.cl, with standard errors up to 0.8%.
func BenchmarkSteps(b *testing.B) {
	for _, n := range splitNumbers(b, *stepsN) {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			for b.Loop() {
				classes, err := symmetry.Classes(n, queens.Full)
				if err != nil {
					b.Fatal(err)
				}
				var lanes, warps float64
				type sample struct{ lanes, warps float64 }
				var all []sample
				for _, class := range classes {
					profile := split.Probe(class.Board, 1<<12)
					depth := profile.Depth(1, n, 1e6)
					for i := range *stepsSamples {
						s := sample{}
						for p, weight := range split.Descend(&class.Board, queens.Prefix{},
							rand.NewPCG(7, uint64(i))) {
							if p.Row < depth {
								continue
							}
							s = sample{stepsBelow(&class.Board, p, laneTests, laneSteps),
								stepsBelow(&class.Board, p, warpTests, warpSteps)}
							s.lanes, s.warps = s.lanes*weight, s.warps*weight
							break
						}
						all = append(all, s)
						lanes, warps = lanes+s.lanes, warps+s.warps
					}
				}
				ratio, squares := warps/lanes, 0.0
				for _, s := range all {
					off := s.warps - ratio*s.lanes
					squares += off * off
				}
				b.ReportMetric(lanes/float64(*stepsSamples), "search.cl-steps")
				b.ReportMetric(warps/float64(*stepsSamples), "warps.cl-steps")
				b.ReportMetric(ratio, "ratio")
				b.ReportMetric(math.Sqrt(squares)/lanes, "error")
			}
		})
	}
}

func stepsBelow(
	b *queens.Board, p queens.Prefix, kept tests,
	model func(rows []kernel.Row, s kernel.State, columns uint32) uint64,
) float64 {
	var problems kernel.Problems
	problems.Start(b, []queens.Prefix{p})
	problem, states := problems.Take()
	if len(states) == 0 {
		return 0
	}
	rows, s, columns := problem.Rows(nil), states[0].Below(problem.First()),
		b.Columns()&^problem.Filled()
	if !kept(rows, s, columns) {
		return 0
	}
	return float64(model(rows, s, columns))
}

func splitNumbers(b *testing.B, list string) (numbers []int) {
	for list != "" {
		var n int
		if count, err := fmt.Sscanf(list, "%d", &n); count != 1 || err != nil {
			b.Fatalf("no list of numbers: %q", list)
		}
		numbers = append(numbers, n)
		for list != "" && list[0] != ',' {
			list = list[1:]
		}
		if list != "" {
			list = list[1:]
		}
	}
	return numbers
}
