package split_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// The bounds of size.go, in nodes.
const (
	largest  = 4e9 // of a task
	smallest = 4e6 // below which a task is not cut further
	fewest   = 256 // tasks in a run that has enough nodes for them
)

// Tasks have a good size by a far more precise estimate than the one that planned them: none
// costs much more than the target, batches are as large as that allows, and there are about as
// many tasks as the target implies, plus one a class.
func TestSizes(t *testing.T) {
	for n := 8; n <= 20; n++ {
		for _, s := range []queens.Symmetry{queens.Mirror, queens.Full} {
			m := mustPlan(t, n, s, 0)
			profiles := make([]split.Profile, len(m.Classes))
			var nodes float64
			for i, plan := range m.Classes {
				profiles[i] = split.Probe(plan.Board, 5000)
				nodes += profiles[i].NodesBelow(0)
			}
			target := max(min(largest, nodes/fewest), smallest)
			var worst float64
			for i, plan := range m.Classes {
				if plan.Depth < 2 || plan.Depth > n || plan.Batch < 1 || plan.Batch > queens.MaxBatch {
					t.Errorf("n=%d %s: class %d has depth %d, batch %d", n, s, i, plan.Depth, plan.Batch)
				}
				if profiles[i][plan.Depth] == 0 {
					continue
				}
				task := min(profiles[i].NodesBelow(plan.Depth)/profiles[i][plan.Depth]*float64(plan.Batch), profiles[i].NodesBelow(0))
				worst = max(worst, task/target)
			}
			if worst > 1.25 {
				t.Errorf("n=%d %s: a task of %.2g times the target of %.3g nodes", n, s, worst, target)
			}
			least, most := 0.9*nodes/target, 2*nodes/target+float64(len(m.Classes))
			if tasks := float64(m.Tasks); tasks < least || tasks > most {
				t.Errorf("n=%d %s: %v tasks, want %.0f to %.0f", n, s, tasks, least, most)
			}
			t.Logf("n=%d %s: %d tasks, %.3g nodes, worst %.2f", n, s, m.Tasks, nodes, worst)
		}
	}
}

// Single tasks have the right cost too, by their exact number of nodes: a batch has enough
// prefixes to even out large ones.
func TestEveryTaskIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	const n, bound = 15, 1.5
	for _, s := range []queens.Symmetry{queens.Mirror, queens.Full} {
		m := mustPlan(t, n, s, 0)
		var worst uint64
		for task := range split.Tasks(&m) {
			var cost uint64
			for _, p := range task.Prefixes {
				cost += nodes(&task.Board, p)
			}
			worst = max(worst, cost)
		}
		if float64(worst) > bound*smallest {
			t.Errorf("n=%d %s: a task of %d nodes", n, s, worst)
		}
		t.Logf("n=%d %s: %d tasks, the largest of %d nodes", n, s, m.Tasks, worst)
	}
}

// PlanSizes chooses depth and batch for every side, within the board and the limits of a task.
func TestSizesOfEverySide(t *testing.T) {
	for n := 1; n <= 18; n++ {
		for _, s := range symmetries {
			m := mustPlan(t, n, s, 0)
			for i, plan := range m.Classes {
				if plan.Depth < min(2, n) || plan.Depth > n || plan.Batch < 1 || plan.Batch > queens.MaxBatch {
					t.Errorf("n=%d %s: class %d has depth %d, batch %d", n, s, i, plan.Depth, plan.Batch)
				}
			}
		}
	}
}

// Classes whose search ends early, or whose first row allows nothing, have few tasks or none, and
// do not affect the other classes.
func TestSizesOfBarrenClasses(t *testing.T) {
	barren, short := queens.FullBoard(8), queens.FullBoard(8)
	barren.Allow[0], short.Allow[3] = 0, 0
	board := func(b queens.Board) queens.Class { return queens.Class{Board: b, K: 8} }
	classes := []queens.Class{board(barren), board(queens.FullBoard(8)), board(barren), board(short), board(barren)}
	m, err := split.Plan(t.Context(), 8, queens.None, classes, 0)
	if err != nil || m.Tasks != 2 {
		t.Fatalf("%d tasks (error %v), want one for each class that has prefixes", m.Tasks, err)
	}
	for i, first := range []uint64{0, 0, 1, 1, 2} {
		if plan := m.Classes[i]; plan.First != first || plan.Depth > 8 || plan.Batch < 1 || plan.Batch > queens.MaxBatch {
			t.Errorf("class %d is %+v, want its first task to be %d", i, plan, first)
		}
	}
}

// Planning holds one task at a time, however many there are.
func TestPlanIsStreamed(t *testing.T) {
	const bound = 16 << 20
	classes := mustClasses(t, 22, queens.Full)
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	m := mustPlan(t, 22, queens.Full, 0)
	if got := held(); got > before+bound {
		t.Errorf("a plan of %d tasks keeps %d bytes", m.Tasks, got-before)
	}
	var most uint64
	for task := range split.Tasks(&m) {
		if task.ID%5000 == 0 {
			most = max(most, held())
		}
	}
	if most > before+bound {
		t.Errorf("going through %d tasks holds %d bytes", m.Tasks, most-before)
	}
	runtime.KeepAlive(classes)
}

// How long it takes to go through all tasks of large runs.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{18, 20, 22, 24, 26} {
		classes := mustClasses(b, n, queens.Full)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var tasks uint64
			start := time.Now()
			for b.Loop() {
				m, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
				if err != nil {
					b.Fatal(err)
				}
				tasks += m.Tasks
			}
			b.ReportMetric(float64(tasks)/time.Since(start).Seconds(), "tasks/s")
			b.ReportMetric(float64(tasks)/float64(b.N), "tasks")
		})
	}
}

// nodes returns the size of the search tree of a prefix, itself included.
func nodes(b *queens.Board, p queens.Prefix) uint64 {
	sum := uint64(1)
	if p.Row == b.N {
		return sum
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		sum += nodes(b, p.Place(b, free&-free))
	}
	return sum
}
