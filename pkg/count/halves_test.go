package count_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// rowSetTasks returns the tasks of a count by halves.
func rowSetTasks(t *testing.T, n int) []queens.Task {
	t.Helper()
	m, index, err := split.New(t.Context(),
		queens.Manifest{Method: queens.Halves, N: n, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return index.Range(0, int(m.Tasks))
}

// A whole count by halves gives the published total, by every kernel.
func TestRunByHalves(t *testing.T) {
	for _, k := range halves.Available() {
		for n := 1; n <= 12; n++ {
			job := count.Job{Method: queens.Halves, N: n, Symmetry: queens.Full, Kernel: kernel.Reference(),
				Halves: k, Threads: 2}
			got, err := count.Run(t.Context(), job)
			if known, _ := queens.KnownTotal(n); err != nil || got.Cmp(known) != 0 {
				t.Errorf("%s, n = %d: %v, %v, want %v", k.Name, n, got, err, known)
			}
		}
	}
	for _, job := range []count.Job{
		{Method: queens.Halves, N: 8, Symmetry: queens.Mirror},
		{Method: "thirds", N: 8, Symmetry: queens.Full},
		{Method: queens.Halves, N: 8, Symmetry: queens.Full, Placed: []queens.Square{{}}},
	} {
		job.Threads = 1
		if job.Kernel.New == nil {
			job.Kernel = kernel.Reference()
		}
		if got, err := count.Run(t.Context(), job); err == nil {
			t.Errorf("%+v counts %v", job, got)
		}
	}
}

// Each way to recount a task gives the same count: by each kernel of halves, and by depth-first
// search with each kernel on all cores, with and without one row deeper, and on one thread.
func TestRecountsByBothMethods(t *testing.T) {
	for _, n := range []int{5, 8, 11} {
		for i, task := range rowSetTasks(t, n) {
			if i%7 != 0 && n > 8 {
				continue
			}
			by := count.Kernels{Prefixes: kernel.Reference()}
			want, err := count.One(t.Context(), by, &task)
			if err != nil || !strings.HasPrefix(want.Kernel, queens.HalvesPrefix) {
				t.Fatal(want, err)
			}
			for _, k := range halves.Available() {
				r := count.Recount{Task: queens.Exported(&task, 1), Kernel: queens.HalvesPrefix + k.Name}
				if got, err := r.Run(t.Context(), new(atomic.Uint64)); got != want.Count || err != nil {
					t.Errorf("n = %d, task %d, %s: %d, %v, want %d", n, task.ID, r.Kernel, got, err, want.Count)
				}
			}
			for _, k := range kernel.Available() {
				for _, deeper := range []bool{false, true} {
					r := count.Recount{Task: queens.Exported(&task, 1), Kernel: k.Name, Deeper: deeper}
					if got, err := r.Run(t.Context(), new(atomic.Uint64)); got != want.Count || err != nil {
						t.Errorf("n = %d, task %d, %s, deeper %v: %d, %v, want %d", n, task.ID, k.Name, deeper, got,
							err, want.Count)
					}
				}
				got, err := count.ByDepthFirst(t.Context(), k, &task)
				if got.Count != want.Count || got.Kernel != k.Name || err != nil {
					t.Errorf("n = %d, task %d by %s: %+v, %v, want %d", n, task.ID, k.Name, got, err, want.Count)
				}
			}
		}
	}
}

// A kernel of halves recounts no prefixes, and nothing with too little memory.
func TestRecountsThatFail(t *testing.T) {
	board := queens.FullBoard(8)
	prefixes := queens.Task{Board: board, Prefixes: []queens.Prefix{{}}}
	sets := queens.Task{Board: board, Sets: queens.RowSets{First: 0, Number: 3}}
	for _, c := range []struct {
		r    count.Recount
		text string
	}{
		{count.Recount{Task: queens.Exported(&prefixes, 1), Kernel: "halves:generic"}, "has none"},
		{count.Recount{Task: queens.Exported(&sets, 1), Kernel: "halves:abacus"}, "abacus"},
		{count.Recount{Task: queens.Exported(&sets, 1), Kernel: "halves:generic", Memory: 9},
			"the limit is 9:"},
	} {
		_, err := c.r.Run(t.Context(), new(atomic.Uint64))
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: error %v, want %q", c.r, err, c.text)
		}
	}
}

// Lines of both methods are counted again, in any order, also by a kernel that counts many tasks at
// once. A row set that the board does not have is an error.
func TestRecountLinesOfBothMethods(t *testing.T) {
	var in, out bytes.Buffer
	var want []uint64
	line := func(task *queens.Task) {
		one, err := count.One(t.Context(), count.Kernels{Prefixes: kernel.Reference()}, task)
		if err != nil {
			t.Fatal(err)
		}
		e := queens.Exported(task, 1)
		e.Count = &one.Count
		want = append(want, one.Count)
		if err := json.NewEncoder(&in).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	eight := queens.FullBoard(8)
	for _, task := range rowSetTasks(t, 8)[:6] {
		line(&task)
		line(&queens.Task{ID: task.ID, Board: eight,
			Prefixes: []queens.Prefix{queens.Prefix{}.Place(&eight, 4)}})
	}
	by := count.Kernels{Prefixes: kernel.Reference()}
	by.Prefixes.AtOnce = 5
	if err := count.RecountLines(t.Context(), &in, &out, by, 2); err != nil {
		t.Fatal(err)
	}
	if agreed := strings.Count(out.String(), `"agrees":true`); agreed != len(want) ||
		!slices.Contains(want, 0) {
		t.Errorf("%d of %d lines agree, counts %v", agreed, len(want), want)
	}
	wrong := strings.NewReader(`{"task":0,"n":8,"sets":[38,1]}`)
	if err := count.RecountLines(t.Context(), wrong, &out, by, 1); err == nil ||
		!strings.Contains(err.Error(), "has 38") {
		t.Errorf("a row set that does not exist: %v", err)
	}
}

// A recount by another kernel of halves is by one that has not counted, if there is one.
func TestDifferingOfHalves(t *testing.T) {
	var used []string
	for _, k := range halves.Available() {
		by := count.Differing(queens.Halves, used...)
		if by.Halves.Name != k.Name {
			t.Errorf("after %v: %s, want %s", used, by.Halves.Name, k.Name)
		}
		used = append(used, queens.HalvesPrefix+k.Name)
	}
	if by := count.Differing(queens.Halves, used...); by.Halves.Name != "generic" {
		t.Errorf("after all: %s", by.Halves.Name)
	}
	if by := count.Differing(queens.Prefixes, used...); by.Prefixes.Name !=
		kernel.Available()[0].Name {
		t.Errorf("by prefixes: %s", by.Prefixes.Name)
	}
	if k := count.HalvesNamed("no such kernel"); k.Name != halves.Available()[0].Name {
		t.Errorf("no such kernel is %s", k.Name)
	}
	if k := count.HalvesNamed("generic"); k.Name != "generic" {
		t.Errorf("generic is %s", k.Name)
	}
}

// A searcher that is stopped returns the counts that it has. One with too little memory counts
// nothing.
func TestSearcherStops(t *testing.T) {
	tasks := rowSetTasks(t, 12)[:5]
	reason := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(reason)
	by := count.Kernels{Prefixes: kernel.Reference()}
	err := by.WithSearcher(func(s *count.Searcher) error {
		if counts, err := s.Count(ctx, tasks, new(atomic.Uint64)); len(counts) > 0 ||
			!errors.Is(err, reason) {
			t.Errorf("%v, %v", counts, err)
		}
		pulse := new(atomic.Uint64)
		counts, err := s.Count(t.Context(), tasks, pulse)
		if len(counts) != 5 || pulse.Load() < 5 {
			t.Errorf("%d counts, pulse %d", len(counts), pulse.Load())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	by.Memory = count.NewMemory(1, 1)
	err = by.WithSearcher(func(s *count.Searcher) error {
		_, err := s.Count(t.Context(), tasks, new(atomic.Uint64))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the limit is 1:") {
		t.Errorf("a byte of memory: %v", err)
	}
}
