package split_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// Tasks yields exactly the tasks of the manifest: ids from 0 without a gap, each of the class
// that ClassOf returns, with every prefix of every class once and in order.
func TestTasksAreTheManifests(t *testing.T) {
	for name, m := range manifests(t) {
		var hashes []byte
		prefixes := make([][]queens.Prefix, len(m.Classes))
		var id uint64
		for task := range split.Tasks(&m) {
			class := m.ClassOf(task.ID)
			if task.ID != id || task.Board != m.Classes[class].Board || task.Run != "" {
				t.Fatalf("%s: task %d is %+v", name, id, task)
			}
			task.Run = "n8-20261120-153012-ab12"
			if err := task.Validate(); err != nil {
				t.Fatalf("%s: task %d: %v", name, id, err)
			}
			hashes = binary.LittleEndian.AppendUint64(hashes, task.Hash())
			prefixes[class] = append(prefixes[class], task.Prefixes...)
			id++
		}
		if id != m.Tasks || sha256.Sum256(hashes) != m.Hash {
			t.Errorf("%s: %d tasks with hash %x, the manifest has %d with %x", name, id, sha256.Sum256(hashes), m.Tasks, m.Hash)
		}
		for i, plan := range m.Classes {
			if want := placements(&plan.Board, plan.Depth); !slices.Equal(prefixes[i], want) {
				t.Errorf("%s: class %d has prefixes %+v, want %+v", name, i, prefixes[i], want)
			}
		}
	}
}

// Each class starts with the id after the last task of the class before; a class without a prefix
// has no task.
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

// Batches of any size hold the given number of prefixes, the last batch the rest; together they
// are the class's prefixes in order. Ids count up from the class's first.
func TestBatches(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 4 + rng.IntN(5)
		plan := queens.ClassPlan{Class: queens.Class{Board: randomBoard(rng, n, int(seed)%4), Weight: 2}}
		plan.Depth, plan.First = rng.IntN(n+1), rng.Uint64()>>1
		want := placements(&plan.Board, plan.Depth)
		for _, batch := range []int{1, 2, 7, max(1, len(want)-1), max(1, len(want)), len(want) + 1, queens.MaxBatch} {
			plan.Batch = batch
			var got []queens.Prefix
			var tasks int
			for task := range split.Tasks(&queens.Manifest{Classes: []queens.ClassPlan{plan}}) {
				size := min(batch, len(want)-len(got))
				if task.ID != plan.First+uint64(tasks) || len(task.Prefixes) != size || task.Board != plan.Board {
					t.Fatalf("seed %d, batch %d: the task after %d is %d with %d prefixes, want %d with %d",
						seed, batch, tasks, task.ID, len(task.Prefixes), plan.First+uint64(tasks), size)
				}
				got = append(got, task.Prefixes...)
				tasks++
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, batch %d: the tasks have prefixes %+v, want %+v", seed, batch, got, want)
			}
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
					for task := range split.Tasks(&queens.Manifest{Classes: []queens.ClassPlan{plan}}) {
						got += completions(&task)
					}
					allowed := func(row, col int) bool { return has(plan.Board.Allow[row], col) }
					if want := oracle.Count(n, allowed, nil); got != want {
						t.Errorf("n=%d %s, depth %d: the tasks of class %d have %d solutions, the class %d", n, s, depth, i, got, want)
					}
				}
			}
		}
	}
}

// A manifest records what it was made from. A given depth applies to every class, with one task
// for each prefix.
func TestPlanKeepsItsInput(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for _, s := range symmetries {
			classes := mustClasses(t, n, s)
			for depth := range n + 1 {
				m := mustPlan(t, n, s, depth)
				if m.SplitVersion != split.Version || m.N != n || m.Symmetry != s || len(m.Classes) != len(classes) {
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

// Plan rejects a side out of range, a depth beyond the board, and a class of another side.
func TestPlanOfNothing(t *testing.T) {
	classes := mustClasses(t, 8, queens.Mirror)
	for _, c := range []struct{ n, depth int }{
		{8, -1}, {8, math.MinInt}, {8, 9}, {8, math.MaxInt}, {0, 2}, {-1, 2}, {33, 2}, {0, 0}, {7, 2}, {9, 0},
	} {
		if m, err := split.Plan(t.Context(), c.n, queens.Mirror, classes, c.depth); err == nil || m.Tasks != 0 || m.Classes != nil {
			t.Errorf("Plan of n=%d, depth %d = %+v (error %v), want an error", c.n, c.depth, m, err)
		}
	}
}

// A consumer can stop after any task, also the last or smaller last task of a class, and gets no
// further one.
func TestTasksStop(t *testing.T) {
	same := func(a, b queens.Task) bool { return a.Hash() == b.Hash() }
	for _, n := range []int{1, 2, 3, 5, 7} {
		m := mustPlan(t, n, queens.Mirror, min(2, n))
		stopAnywhere(t, split.Tasks(&m), same)
		for _, plan := range m.Classes {
			for _, batch := range []int{1, 2, 3, 7} {
				plan.Batch = batch
				stopAnywhere(t, split.Tasks(&queens.Manifest{Classes: []queens.ClassPlan{plan}}), same)
			}
		}
	}
}

// The consumer owns each task: later tasks do not change it, and writing or appending to its
// prefixes changes no other task.
func TestTasksKeepTheirPrefixes(t *testing.T) {
	for _, batch := range []int{1, 2, 7} {
		m := mustPlan(t, 9, queens.Mirror, 3)
		for i := range m.Classes {
			m.Classes[i].Batch = batch
		}
		var kept []queens.Task
		var hashes []uint64
		for task := range split.Tasks(&m) {
			kept, hashes = append(kept, task), append(hashes, task.Hash())
			_ = append(task.Prefixes, queens.Prefix{Row: -1})
		}
		for i := range kept {
			if got := kept[i].Hash(); got != hashes[i] {
				t.Errorf("batch %d: task %d had hash %#x, and %#x later", batch, i, hashes[i], got)
			}
			clear(kept[i].Prefixes)
		}
	}
}

// manifests yields plans of symmetries and of random classes, some without prefixes.
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
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 0))
			n := 3 + rng.IntN(5)
			classes := make([]queens.Class, 1+rng.IntN(6))
			for i := range classes {
				classes[i] = queens.Class{Board: randomBoard(rng, n, rng.IntN(4)), Weight: 1 << rng.IntN(4)}
				if rng.IntN(3) == 0 {
					classes[i].Board.Allow[0] = 0
				}
			}
			m, err := split.Plan(t.Context(), n, queens.None, classes, rng.IntN(n+1))
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
	m, err := split.Plan(t.Context(), n, s, mustClasses(t, n, s), depth)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stopAnywhere stops a sequence after each of its elements in turn.
func stopAnywhere[E any](t *testing.T, seq iter.Seq[E], same func(a, b E) bool) {
	t.Helper()
	all := slices.Collect(seq)
	for limit := 1; limit <= len(all); limit++ {
		var got []E
		seq(func(e E) bool {
			got = append(got, e)
			return len(got) < limit
		})
		if !slices.EqualFunc(got, all[:limit], same) {
			t.Fatalf("stopped after %d of %d, got %d", limit, len(all), len(got))
		}
	}
}

// completions returns what a plain search counts for a task. To it, the squares
// that a prefix attacks are not allowed, and its rows are empty.
func completions(task *queens.Task) uint64 {
	var sum uint64
	for _, p := range task.Prefixes {
		allowed := func(row, col int) bool {
			down := row - p.Row
			return has(task.Board.Allow[row], col) && !has(p.Cols, col) && !has(p.Left, col-down) && !has(p.Right, col+down)
		}
		sum += oracle.Count(task.Board.N, allowed, slices.Repeat([]int{-1}, p.Row))
	}
	return sum
}

// Plan ends with the cause of its context.
func TestPlanEndsWithItsContext(t *testing.T) {
	reason := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := split.Plan(ctx, 8, queens.None, mustClasses(t, 8, queens.None), 8); !errors.Is(err, reason) {
		t.Errorf("error %v, want %v", err, reason)
	}
}
