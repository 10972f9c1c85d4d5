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
	"runtime"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// expected returns the tasks of a manifest: the prefixes that a plain search finds, in batches.
func expected(m *queens.Manifest) (tasks []queens.Task) {
	for _, plan := range m.Classes {
		for batch := range slices.Chunk(placements(&plan.Board, plan.Depth), plan.Batch) {
			tasks = append(tasks, queens.Task{ID: uint64(len(tasks)), Board: plan.Board, Prefixes: batch})
		}
	}
	return tasks
}

// Check accepts the manifest, and its index has the right tasks and no others: all at once, in a
// pass on all cores, and in any range of ids, across classes and beyond the last task. Neither a
// later call nor an append to the prefixes of a task changes other tasks.
func TestIndexHasTheTasks(t *testing.T) {
	for name, m := range manifests(t) {
		for _, batch := range []int{0, 1, 3, queens.MaxBatch} { // 0 stands for the batches of the plan
			index := mustIndex(t, batched(&m, batch))
			want := expected(batched(&m, batch))
			if got := index.Tasks(); got != uint64(len(want)) {
				t.Fatalf("%s, batch %d: the index has %d tasks, want %d", name, batch, got, len(want))
			}
			if got := slices.Collect(allTasks(t, batched(&m, batch))); !slices.EqualFunc(got, want,
				sameTask) {
				t.Fatalf("%s, batch %d: the index has other tasks", name, batch)
			}
			var passed []uint64
			err := split.InOrder(t.Context(), index, func(tasks []queens.Task) (hashes []uint64, err error) {
				for i := range tasks {
					hashes = append(hashes, tasks[i].Hash())
				}
				return hashes, nil
			}, func(hashes []uint64) error { passed = append(passed, hashes...); return nil })
			if !slices.EqualFunc(passed, want, func(hash uint64, task queens.Task) bool {
				return hash == task.Hash()
			}) || err != nil {
				t.Fatalf("%s, batch %d: a pass has other tasks (error %v)", name, batch, err)
			}
			if batch == 0 {
				var checked []uint64
				_, err := split.Check(t.Context(), &m, func(hashes []uint64) {
					checked = append(checked, hashes...)
				})
				if m.Hash != hashOf(passed) || !slices.Equal(checked, passed) || err != nil {
					t.Fatalf("%s: the manifest has another hash, or its check (error %v)", name, err)
				}
			}
			for class, plan := range batched(&m, batch).Classes {
				if got, want := index.TaskPrefixes(class), min(plan.Batch,
					len(placements(&plan.Board, plan.Depth))); got != want {
					t.Fatalf("%s, batch %d: a task of class %d has at most %d prefixes, want %d", name, batch,
						class, got, want)
				}
			}
			checkRanges(t, name, index, want)
		}
	}
}

// checkRanges takes random ranges, and then compares their tasks.
func checkRanges(t *testing.T, name string, index *split.Index, want []queens.Task) {
	t.Helper()
	var got, wanted []queens.Task
	rng := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		first, tasks := rng.IntN(len(want)+1), rng.IntN(20)
		got = append(got, index.Range(uint64(first), tasks)...)
		wanted = append(wanted, want[first:min(first+tasks, len(want))]...)
	}
	for i := range got {
		_ = append(got[i].Prefixes, queens.Prefix{Row: -1})
	}
	if !slices.EqualFunc(got, wanted, sameTask) {
		t.Errorf("%s: ranges have other tasks", name)
	}
	for _, first := range []uint64{uint64(len(want)), math.MaxUint64} {
		if got := index.Range(first, math.MaxInt); len(got) > 0 {
			t.Errorf("%s: from %d on the index finds %d tasks", name, first, len(got))
		}
	}
}

// batched returns a manifest of the same classes with batches of the given size, or with the same
// batches if the size is 0.
func batched(m *queens.Manifest, batch int) *queens.Manifest {
	changed := queens.Manifest{Classes: slices.Clone(m.Classes)}
	for i := 0; batch > 0 && i < len(changed.Classes); i++ {
		changed.Classes[i].Batch = batch
	}
	return &changed
}

func hashOf(hashes []uint64) queens.Bytes32 {
	var buf []byte
	for _, hash := range hashes {
		buf = binary.LittleEndian.AppendUint64(buf, hash)
	}
	return sha256.Sum256(buf)
}

// Making the tasks of a chunk takes two allocations, one for the tasks and one for their prefixes,
// for any number of tasks. The race detector adds some.
func TestIndexAllocates(t *testing.T) {
	m := mustPlan(t, 9, queens.None, 6) // one class, as a chunk is of one class
	index := mustIndex(t, &m)
	allocations := func(tasks int) float64 {
		first := uint64(0)
		return testing.AllocsPerRun(50, func() {
			if got := index.Range(first, tasks); len(got) != tasks {
				t.Fatalf("%d tasks from %d on, want %d", len(got), first, tasks)
			}
			first = (first + 100) % (m.Tasks - 100)
		})
	}
	if few, many := allocations(2), allocations(100); few != many || many > 6 {
		t.Errorf("%v allocations for 2 tasks and %v for 100, want 2", few, many)
	}
}

// Planning, indexing and a pass return the cause when their context ends.
func TestEndsWithTheContext(t *testing.T) {
	m := mustPlan(t, 9, queens.None, 6)
	index, cause := mustIndex(t, &m), errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	work := func([]queens.Task) (int, error) {
		cancel(cause)
		return 0, nil
	}
	if err := split.InOrder(ctx, index, work, func(int) error { return nil }); !errors.Is(err, cause) {
		t.Errorf("pass: error %v, want %v", err, cause)
	}
	if _, err := split.NewIndex(ctx, m.Method, m.Classes, queens.MaxTasks); !errors.Is(err, cause) {
		t.Errorf("index: error %v, want %v", err, cause)
	}
	endless := queens.Board{N: 27} // a class without prefixes, whose pass would take years
	for row := range 26 {
		endless.Allow[row] = 1<<27 - 1
	}
	late, cancelLate := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancelLate(cause) })
	plan := queens.ClassPlan{Class: queens.Class{Board: endless, Weight: 1}, Depth: 27, Batch: 1}
	if _, err := split.NewIndex(late, queens.Prefixes, []queens.ClassPlan{plan},
		queens.MaxTasks); !errors.Is(err, cause) {
		t.Errorf("index without a prefix: error %v, want %v", err, cause)
	}
	if _, _, err := split.Plan(ctx, 12, queens.None, mustClasses(t, 12, queens.None),
		6); !errors.Is(err, cause) {
		t.Errorf("plan: error %v, want %v", err, cause)
	}
	if _, err := split.Check(ctx, &m, nil); !errors.Is(err, cause) {
		t.Errorf("check: error %v, want %v", err, cause)
	}
}

// BenchmarkIndex measures how long it takes to make the index of a manifest, single tasks, and
// chunks of 100 tasks one after the other. It reports the memory of the index.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{18, 22, 26} {
		m, index, err := split.Plan(b.Context(), n, queens.Full, mustClasses(b, n, queens.Full), 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("n=%d/make", n), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var x *split.Index
			for b.Loop() {
				x = mustIndex(b, &m)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(x.Tasks()), "tasks")
		})
		rng := rand.New(rand.NewPCG(1, 0))
		b.Run(fmt.Sprintf("n=%d/seek", n), func(b *testing.B) {
			for b.Loop() {
				index.Range(rng.Uint64N(m.Tasks), 1)
			}
		})
		b.Run(fmt.Sprintf("n=%d/chunk", n), func(b *testing.B) {
			b.ReportAllocs()
			tasks, next := 0, uint64(0)
			for b.Loop() {
				found := index.Range(next, 100)
				tasks += len(found)
				next += 100
				if next >= m.Tasks {
					next = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tasks), "ns/task")
		})
	}
}

func mustIndex(t testing.TB, m *queens.Manifest) *split.Index {
	t.Helper()
	index, err := split.NewIndex(t.Context(), queens.Prefixes, m.Classes, queens.MaxTasks)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func allTasks(t testing.TB, m *queens.Manifest) iter.Seq[queens.Task] {
	t.Helper()
	index := mustIndex(t, m)
	return func(yield func(queens.Task) bool) {
		for id, task := range index.All() {
			if id != task.ID {
				t.Errorf("task %d comes with the id %d", task.ID, id)
			}
			if !yield(task) {
				return
			}
		}
	}
}

func sameTask(a, b queens.Task) bool {
	return a.Run == b.Run && a.ID == b.ID && a.Board == b.Board && slices.Equal(a.Prefixes, b.Prefixes)
}
