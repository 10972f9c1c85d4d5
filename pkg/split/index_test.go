package split_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// An index finds the tasks of any range of ids: across classes, and as far as the manifest has tasks.
func TestIndexHasTheTasks(t *testing.T) {
	all := partManifests(t)
	maps.Insert(all, manifests(t))
	for name, m := range all {
		want := slices.Collect(split.Tasks(&m))
		index := mustIndex(t, &m)
		if got := index.Tasks(); got != uint64(len(want)) {
			t.Fatalf("%s: the index has %d tasks, want %d", name, got, len(want))
		}
		rng := rand.New(rand.NewPCG(1, 0))
		first := 0
		for range 300 {
			tasks := rng.IntN(100)
			switch rng.IntN(4) {
			case 0: // anywhere
				first = rng.IntN(len(want) + 1)
			case 1: // a little further
				first = min(first+rng.IntN(100), len(want))
			}
			end := min(first+tasks, len(want))
			if got := index.Range(uint64(first), tasks); !slices.EqualFunc(got, want[first:end], sameTask) {
				t.Fatalf("%s: the index finds %d tasks from %d on, want %d, the first %+v", name, len(got), first, end-first, got[:min(1, len(got))])
			}
			if task, ok := index.Task(uint64(first)); ok != (first < len(want)) || ok && !sameTask(task, want[first]) {
				t.Fatalf("%s: task %d is found as %+v (%v)", name, first, task, ok)
			}
			first = end
		}
		for _, id := range []uint64{uint64(len(want)), math.MaxUint64} {
			if got := index.Range(id, math.MaxInt); len(got) > 0 {
				t.Errorf("%s: from %d on the index finds %d tasks", name, id, len(got))
			}
		}
		if got := index.Range(0, math.MaxInt); !slices.EqualFunc(got, want, sameTask) {
			t.Errorf("%s: the index finds %d tasks in all, want %d", name, len(got), len(want))
		}
	}
}

// Neither a later call nor an append to the prefixes of a task changes other tasks.
func TestIndexKeepsItsTasks(t *testing.T) {
	m := renumbered(mustPlan(t, 9, queens.Full, 4), 3)
	want := slices.Collect(split.Tasks(&m))
	index := mustIndex(t, &m)
	var got []queens.Task
	for len(got) < len(want) {
		got = append(got, index.Range(uint64(len(got)), 7)...)
	}
	for i := range got {
		_ = append(got[i].Prefixes, queens.Prefix{Row: -1})
	}
	if !slices.EqualFunc(got, want, sameTask) {
		t.Error("the tasks have changed")
	}
}

// The tasks of a chunk are made in two pieces of memory, the tasks and their prefixes.
func TestIndexAllocates(t *testing.T) {
	m := mustPlan(t, 9, queens.None, 6) // one class, as a chunk is of one class
	index := mustIndex(t, &m)
	first := uint64(0)
	if got := testing.AllocsPerRun(50, func() {
		if tasks := index.Range(first, 100); len(tasks) != 100 {
			first = 0
		}
		first = (first + 100) % (m.Tasks - 100)
	}); got != 2 {
		t.Errorf("%v allocations for 100 tasks, want 2", got)
	}
}

// NewIndex ends with the cause of its context.
func TestNewIndexEnds(t *testing.T) {
	m := mustPlan(t, 9, queens.None, 6)
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := split.NewIndex(ctx, &m); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}

// BenchmarkIndex makes the index of a manifest, seeks single tasks, and takes chunks of 100 tasks one
// after the other. It reports the memory of the index.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{18, 22, 26} {
		m, err := split.Plan(b.Context(), n, queens.Full, mustClasses(b, n, queens.Full), 0)
		if err != nil {
			b.Fatal(err)
		}
		index := mustIndex(b, &m)
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
				if next += 100; next >= m.Tasks {
					next = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tasks), "ns/task")
		})
	}
}

func mustIndex(t testing.TB, m *queens.Manifest) *split.Index {
	t.Helper()
	index, err := split.NewIndex(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func sameTask(a, b queens.Task) bool {
	return a.Run == b.Run && a.ID == b.ID && a.Board == b.Board && slices.Equal(a.Prefixes, b.Prefixes)
}
