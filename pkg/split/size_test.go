package split_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// These are the bounds of size.go.
const (
	first    = 1.5e9 // nodes of a task at the beginning of a run, up to n = 22
	last     = 2.4e8 // nodes of a task at the end
	smallest = 4e6   // nodes below which a task is not cut further
	fewest   = 256   // tasks in a run that has enough nodes for them
	rest     = 128   // a task has 1/rest of what is left of the run, within the bounds above
)

// A far more precise estimate than the planner's confirms the sizes of tasks. No task costs much
// more than the target of its class. Batches are as large as the target allows. There are up to
// twice as many tasks as the targets imply, plus one for each class.
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
			var worst, implied float64
			left := nodes
			for i, plan := range m.Classes {
				own := profiles[i].NodesBelow(0)
				target := max(min(max((left-own/2)/rest, last), first, nodes/fewest), smallest)
				left -= own
				implied += own / target
				if plan.Depth < 2 || plan.Depth > n || plan.Batch < 1 || plan.Batch > queens.MaxBatch {
					t.Errorf("n=%d %s: class %d has depth %d, batch %d", n, s, i, plan.Depth, plan.Batch)
				}
				if profiles[i][plan.Depth] == 0 {
					continue
				}
				task := min(profiles[i].NodesBelow(plan.Depth)/profiles[i][plan.Depth]*float64(plan.Batch), own)
				worst = max(worst, task/target)
			}
			if worst > 1.5 {
				t.Errorf("n=%d %s: a task of %.2g times its target", n, s, worst)
			}
			least, most := 0.9*implied, 2*implied+float64(len(m.Classes))
			if tasks := float64(m.Tasks); tasks < least || tasks > most {
				t.Errorf("n=%d %s: %v tasks, want %.0f to %.0f", n, s, tasks, least, most)
			}
			t.Logf("n=%d %s: %d tasks, %.3g nodes, worst %.2f", n, s, m.Tasks, nodes, worst)
		}
	}
}

// From n = 22 on, tasks grow with the side, up to 4e9 nodes. They are larger only if there would
// otherwise be more than 1e7 tasks. Profiles from many probes are precise enough to test this.
func TestSizesOfLargeBoards(t *testing.T) {
	t.Parallel()
	wants := map[int]float64{21: first, 22: first, 23: 2 * first, 24: 4e9, 26: 5.1e10, 32: 1.2e17}
	for _, n := range testkit.Sample(t, 2, slices.Sorted(maps.Keys(wants))) {
		want := wants[n]
		classes := mustClasses(t, n, queens.Full)
		var nodes, tasks float64
		for _, plan := range split.PlanSizes(classes) {
			profile := split.Probe(plan.Board, 5000)
			nodes += profile.NodesBelow(0)
			tasks += profile[plan.Depth] / float64(plan.Batch)
		}
		if size := nodes / tasks; size > 1.1*want || size < want/1.3 {
			t.Errorf("n=%d: %.3g tasks of %.3g nodes, want %.3g nodes", n, tasks, size, want)
		}
	}
}

// At n = 14, no task has many more nodes than the least cost of a task. The test counts the nodes
// exactly. The costs of prefixes differ much more than those of batches.
func TestEveryTaskIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	const n, bound = 14, 1.5
	for _, s := range []queens.Symmetry{queens.Mirror, queens.Full} {
		m := mustPlan(t, n, s, 0)
		var worst uint64
		for task := range allTasks(t, &m) {
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

// For every side, PlanSizes chooses depths within the board, and batches within the limits of a
// task.
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
	board := func(b queens.Board) queens.Class { return queens.Class{Board: b, Weight: 1} }
	classes := []queens.Class{board(barren), board(queens.FullBoard(8)), board(barren), board(short),
		board(barren)}
	m, _, err := split.Plan(t.Context(), 8, queens.None, classes, 0)
	if err != nil || m.Tasks != 2 {
		t.Fatalf("%d tasks (error %v), want one for each class that has prefixes", m.Tasks, err)
	}
	for i, first := range []uint64{0, 0, 1, 1, 2} {
		if plan := m.Classes[i]; plan.First != first || plan.Depth > 8 || plan.Batch < 1 ||
			plan.Batch > queens.MaxBatch {
			t.Errorf("class %d is %+v, want its first task to be %d", i, plan, first)
		}
	}
}

// A plan and a pass over all tasks hold little memory, for any number of tasks.
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
	for task := range allTasks(t, &m) {
		if task.ID%5000 == 0 {
			most = max(most, held())
		}
	}
	if most > before+bound {
		t.Errorf("going through %d tasks holds %d bytes", m.Tasks, most-before)
	}
	runtime.KeepAlive(classes)
}

// BenchmarkPlan measures how long planning takes, with its pass over all tasks.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{12, 16, 18, 20, 22, 24, 26} {
		classes := mustClasses(b, n, queens.Full)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var tasks uint64
			start := time.Now()
			for b.Loop() {
				m, _, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
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

// nodes returns the number of nodes in the search tree of a prefix, with the prefix itself.
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
