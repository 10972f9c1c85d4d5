package audit

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

func reference(t *testing.T) kernel.Kernel {
	t.Helper()
	k, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A recount of all tasks finds a wrong count, and names the task, both counts and the worker.
func TestRecountFindsAWrongCount(t *testing.T) {
	m, results := run7(t)
	for wrong := range results {
		doctored := append([]run.Result(nil), results...)
		doctored[wrong].Count++
		doctored[wrong].Worker = "liar"
		n, err := Recount(t.Context(), newLedger(t, m, doctored), Sample{Share: 1, Kernel: new(reference(t)), Threads: 2})
		if !errors.Is(err, run.ErrContradiction) || !strings.Contains(err.Error(), fmt.Sprintf("task %d was counted %d by liar (k), kernel generic counts %d", wrong, doctored[wrong].Count, results[wrong].Count)) {
			t.Errorf("task %d wrong: recounted %+v, error %v", wrong, n, err)
		}
	}
	n, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Kernel: new(reference(t)), Threads: 2})
	if err != nil || n.Recounted != m.Tasks {
		t.Errorf("nothing wrong: recounted %d of %d, error %v", n.Recounted, m.Tasks, err)
	}
}

// A recount finds a result with the hash of another task, even if its count is right.
func TestRecountFindsAnotherTask(t *testing.T) {
	m, results := run7(t)
	results[2].Hash++
	n, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Kernel: new(reference(t)), Threads: 1})
	if !errors.Is(err, run.ErrContradiction) || !strings.Contains(err.Error(), "the result of task 2 by w is of another task") || n.Differing != 1 {
		t.Errorf("recounted %+v, error %v, want %v", n, err, run.ErrContradiction)
	}
}

// A sample has the given share of the counted tasks, rounded up, and at least one. Over many
// seeds every task is drawn; the same seed draws the same tasks in the same order.
func TestSample(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results)
	for name, test := range map[string]struct {
		share   float64
		results []run.Result
		want    int
	}{
		"the least":      {0, results, 1},
		"half":           {0.5, results, (len(results) + 1) / 2},
		"all":            {1, results, len(results)},
		"all of a part":  {1, results[1:], len(results) - 1},
		"half of a part": {0.5, results[:2], 1},
		"of nothing":     {1, nil, 0},
	} {
		n, err := Recount(t.Context(), newLedger(t, m, test.results), Sample{Share: test.share, Kernel: new(reference(t)), Threads: 1})
		if err != nil || n.Recounted != uint64(test.want) {
			t.Errorf("%s: recounted %+v, error %v, want %d", name, n, err, test.want)
		}
	}
	seen := make(map[string]bool)
	for seed := range uint64(200) {
		var runs [2]string
		for i := range runs {
			k, taken := recordingKernel(t)
			if _, err := Recount(t.Context(), l, Sample{Seed: seed, Share: 0.3, Kernel: &k, Threads: 1}); err != nil {
				t.Fatal(err)
			}
			runs[i] = fmt.Sprint(*taken)
			seen[fmt.Sprint((*taken)[0])] = true
		}
		if runs[0] != runs[1] {
			t.Fatalf("seed %d took %v, and then %v", seed, runs[0], runs[1])
		}
	}
	prefixes := make(map[string]bool) // a task of this run is one prefix of one row
	for _, plan := range m.Classes {
		for square := plan.Board.Allow[0]; square != 0; square &= square - 1 {
			prefixes[fmt.Sprint(square&-square)] = true
		}
	}
	if len(seen) != len(prefixes) {
		t.Errorf("200 seeds took %d of %d prefixes", len(seen), len(prefixes))
	}
}

// When its time is over, a recount ends, with what agreed until then, and without an error; but
// it counts at least one task.
func TestSampleEndsInTime(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results)
	for _, threads := range []int{1, 2} {
		var done, of uint64
		k := firstOnly(t)
		n, err := Recount(t.Context(), l, Sample{
			Share: 1, Limit: time.Millisecond, Kernel: &k, Threads: threads, OnProgress: func(d, all uint64) { done, of = d, all },
		})
		if err != nil || n.Recounted != 1 || n.Share <= 0 || n.Share >= 1 {
			t.Errorf("%d threads: recounted %+v, error %v", threads, n, err)
		}
		if done != 1 || of != m.Tasks {
			t.Errorf("%d threads: progress %d of %d", threads, done, of)
		}
	}
}

// An interrupted recount returns what agreed until then, and the cause.
func TestSampleIsInterrupted(t *testing.T) {
	m, results := run7(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	k := firstOnly(t)
	n, err := Recount(ctx, newLedger(t, m, results), Sample{Share: 1, Kernel: &k, Threads: 2, OnProgress: func(done, _ uint64) {
		if done > 0 {
			stop(stopped)
		}
	}})
	if !errors.Is(err, stopped) || n.Recounted != 1 {
		t.Errorf("recounted %+v, error %v", n, err)
	}
}

// firstOnly returns the reference kernel, which counts one task, and no other until its context
// ends.
func firstOnly(t *testing.T) kernel.Kernel {
	k := reference(t)
	plain, calls := k.New, new(atomic.Uint64)
	k.New = func() (kernel.Counter, error) {
		c, err := plain()
		return firstCounter{c, calls}, err
	}
	return k
}

type firstCounter struct {
	kernel.Counter
	calls *atomic.Uint64
}

func (c firstCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	if c.calls.Add(1) == 1 {
		return c.Counter.Count(context.WithoutCancel(ctx), b, prefixes, pulse)
	}
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// Without a kernel of its own, a sample counts no task as the kernel that counted it before,
// and says which kernels it used.
func TestSampleUsesOtherKernels(t *testing.T) {
	m, results := run7(t)
	for i, k := range kernel.Available() {
		results[i%len(results)].Kernel = k.Name
	}
	l := newLedger(t, m, results)
	n, err := Recount(t.Context(), l, Sample{Share: 1, Threads: 2})
	if err != nil || n.Recounted != m.Tasks || len(n.Kernels) == 0 || n.Share < 0.999 {
		t.Errorf("recounted %+v, error %v", n, err)
	}
	for _, counted := range kernel.Available() {
		for i := range results {
			results[i].Kernel = counted.Name
		}
		n, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Threads: 1})
		if err != nil || slices.Contains(n.Kernels, counted.Name) && len(kernel.Available()) > 1 {
			t.Errorf("counted by %s, and again by %v, error %v", counted.Name, n.Kernels, err)
		}
	}
}

// recordingKernel returns the reference kernel, and the first column of each task it counts.
func recordingKernel(t *testing.T) (kernel.Kernel, *[]uint32) {
	t.Helper()
	taken := new([]uint32)
	k := reference(t)
	plain := k.New
	k.New = func() (kernel.Counter, error) {
		c, err := plain()
		return recorder{c, taken}, err
	}
	return k, taken
}

type recorder struct {
	kernel.Counter
	taken *[]uint32
}

func (w recorder) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	*w.taken = append(*w.taken, prefixes[0].Cols)
	return w.Counter.Count(ctx, b, prefixes, pulse)
}

// A recount returns the cause of its context's end.
func TestRecountEnds(t *testing.T) {
	m, results := run7(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	if _, err := Recount(ctx, newLedger(t, m, results), Sample{Share: 1, Kernel: new(reference(t)), Threads: 2}); !errors.Is(err, stopped) {
		t.Errorf("error %v, want %v", err, stopped)
	}
}

// RecountAll finds a wrong total of a small board, by another symmetry than the run's, and
// does not count large boards.
func TestRecountAll(t *testing.T) {
	m, _ := run7(t)
	for _, s := range []queens.Symmetry{queens.None, queens.Mirror, queens.Full} {
		m.Symmetry = s
		by, err := RecountAll(t.Context(), &m, big.NewInt(40), reference(t), 2)
		if err != nil || by == "" || by == string(s) {
			t.Errorf("of a run by %s: by %s, error %v", s, by, err)
		}
		if by, err = RecountAll(t.Context(), &m, big.NewInt(39), reference(t), 2); !errors.Is(err, run.ErrContradiction) || by == string(s) {
			t.Errorf("of a wrong run by %s: by %s, error %v", s, by, err)
		}
	}
	m.N = maxRecountN + 1
	if by, err := RecountAll(t.Context(), &m, big.NewInt(1), reference(t), 2); by != "" || err != nil {
		t.Errorf("of a large board: by %q, error %v", by, err)
	}
}
