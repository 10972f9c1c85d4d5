package split_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

var symmetries = []queens.Symmetry{queens.None, queens.Mirror, queens.Full}

// Each class starts with the id after the last task of the class before it. A class without a
// prefix has no task.
func TestFirstTasks(t *testing.T) {
	for _, c := range []struct {
		n     int
		s     queens.Symmetry
		depth int
		first []uint64
		tasks uint64
	}{
		{1, queens.Mirror, 1, []uint64{0}, 1},
		{1, queens.Full, 0, []uint64{0}, 1},
		{2, queens.Full, 0, nil, 0},
		{2, queens.None, 1, []uint64{0}, 2},
		{2, queens.None, 2, []uint64{0}, 0},
		{2, queens.Mirror, 1, []uint64{0}, 1},
		{2, queens.Mirror, 2, []uint64{0}, 0},
		{3, queens.Mirror, 1, []uint64{0, 1}, 2},
		{3, queens.Mirror, 2, []uint64{0, 1}, 1},
		{3, queens.Mirror, 3, []uint64{0, 0}, 0},
		{3, queens.Mirror, 0, []uint64{0, 1}, 1},
		{3, queens.Full, 1, []uint64{0}, 1},
		{3, queens.Full, 2, []uint64{0}, 1},
		{3, queens.Full, 0, []uint64{0}, 1},
		{4, queens.Mirror, 2, []uint64{0}, 3},
		{4, queens.Mirror, 0, []uint64{0}, 1},
		{4, queens.Full, 2, []uint64{0, 0, 0, 0, 1}, 2},
		{5, queens.Mirror, 2, []uint64{0, 5}, 6},
		{5, queens.Mirror, 5, []uint64{0, 4}, 5},
		{16, queens.None, 2, []uint64{0}, 210},
		{16, queens.Mirror, 2, []uint64{0}, 105},
		{17, queens.Mirror, 2, []uint64{0, 113}, 120},
	} {
		m := mustPlan(t, c.n, c.s, c.depth)
		var first []uint64
		for _, plan := range m.Classes {
			first = append(first, plan.First)
		}
		if !slices.Equal(first, c.first) || m.Tasks != c.tasks {
			t.Errorf("n=%d %s, depth %d: classes start at %d, %d tasks, want %d and %d",
				c.n, c.s, c.depth, first, m.Tasks, c.first, c.tasks)
		}
	}
}

// The tasks of a class together have all solutions of its board, at any depth and with batches of
// any size.
func TestTasksHaveAllSolutions(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for _, s := range symmetries {
			for depth := range n + 1 {
				m := mustPlan(t, n, s, depth)
				for i, plan := range m.Classes {
					plan.Batch = 1 + (n+depth)%4
					var got uint64
					for task := range allTasks(t, &queens.Manifest{Classes: []queens.ClassPlan{plan}}) {
						got += completions(&task)
					}
					allowed := func(row, col int) bool { return has(plan.Board.Allow[row], col) }
					if want := oracle.Count(n, allowed, nil); got != want {
						t.Errorf("n=%d %s, depth %d: the tasks of class %d have %d solutions, the class %d", n, s,
							depth, i, got, want)
					}
				}
			}
		}
	}
}

// A manifest records the arguments of Plan. A given depth applies to every class, with one task for
// each prefix.
func TestPlanKeepsItsInput(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for _, s := range symmetries {
			classes := mustClasses(t, n, s)
			for depth := range n + 1 {
				m := mustPlan(t, n, s, depth)
				if m.SplitVersion != split.Version || m.N != n || m.Symmetry != s ||
					len(m.Classes) != len(classes) {
					t.Errorf("n=%d %s, depth %d: manifest %+v", n, s, depth, m)
				}
				for i, plan := range m.Classes {
					if plan.Class != classes[i] || depth > 0 && (plan.Depth != depth || plan.Batch != 1) {
						t.Errorf("n=%d %s, depth %d: class %d is %+v", n, s, depth, i, plan)
					}
				}
			}
		}
	}
}

// Plan rejects a side that is out of range, a depth beyond the board, and a class of another side.
func TestPlanOfNothing(t *testing.T) {
	classes := mustClasses(t, 8, queens.Mirror)
	for _, c := range []struct{ n, depth int }{
		{8, -1}, {8, math.MinInt}, {8, 9}, {8, math.MaxInt}, {0, 2}, {-1, 2}, {33, 2}, {0, 0}, {7, 2},
		{9, 0},
	} {
		if m, _, err := split.Plan(t.Context(), c.n, queens.Mirror, classes, c.depth); err == nil ||
			m.Tasks != 0 || m.Classes != nil {
			t.Errorf("Plan of n=%d, depth %d = %+v (error %v), want an error", c.n, c.depth, m, err)
		}
	}
}

// manifests yields manifests of every symmetry, and of random classes, some of them without
// prefixes.
func manifests(t *testing.T) iter.Seq2[string, queens.Manifest] {
	return func(yield func(string, queens.Manifest) bool) {
		for n := 1; n <= 7; n++ {
			for _, s := range symmetries {
				for depth := range n + 1 {
					if !yield(fmt.Sprintf("n=%d %s, depth %d", n, s, depth), mustPlan(t, n, s, depth)) {
						return
					}
				}
			}
		}
		for n, depth := range map[int]int{10: 6, 11: 7, 16: 0} { // classes with many marks and ranges
			if !yield(fmt.Sprintf("n=%d, depth %d", n, depth), mustPlan(t, n, queens.Mirror, depth)) {
				return
			}
		}
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 0))
			n := 3 + rng.IntN(7)
			classes := make([]queens.Class, 1+rng.IntN(6))
			for i := range classes {
				classes[i] = queens.Class{Board: randomBoard(rng, n, rng.IntN(4)), Weight: 1 << rng.IntN(4)}
				if rng.IntN(3) == 0 {
					classes[i].Board.Allow[0] = 0
				}
			}
			m, _, err := split.Plan(t.Context(), n, queens.None, classes, rng.IntN(n+1))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !yield(fmt.Sprintf("seed %d", seed), m) {
				return
			}
		}
	}
}

func mustClasses(t testing.TB, n int, s queens.Symmetry) []queens.Class {
	t.Helper()
	classes, err := symmetry.Classes(n, s)
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

func mustPlan(t *testing.T, n int, s queens.Symmetry, depth int) queens.Manifest {
	t.Helper()
	m, _, err := split.Plan(t.Context(), n, s, mustClasses(t, n, s), depth)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// completions returns what a plain search counts for a task. In place of a prefix, the search gets
// empty rows, and a board that does not allow the squares that the prefix attacks.
func completions(task *queens.Task) uint64 {
	var sum uint64
	for _, p := range task.Prefixes {
		allowed := func(row, col int) bool {
			down := row - p.Row
			return has(task.Board.Allow[row], col) && !has(p.Cols, col) && !has(p.Left, col-down) &&
				!has(p.Right, col+down)
		}
		sum += oracle.Count(task.Board.N, allowed, slices.Repeat([]int{-1}, p.Row))
	}
	return sum
}
