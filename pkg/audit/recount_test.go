package audit

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

func reference(t *testing.T) kernel.Kernel {
	t.Helper()
	k, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A recount of all tasks finds a wrong count, and names its worker.
func TestRecountFindsAWrongCount(t *testing.T) {
	m, results := run7(t)
	for wrong := range results {
		doctored := append([]queens.Result(nil), results...)
		doctored[wrong].Count++
		doctored[wrong].Worker = "liar"
		n, err := Recount(t.Context(), newLedger(t, m, doctored), Sample{Share: 1, Kernel: reference(t), Threads: 2})
		if !errors.Is(err, queens.ErrContradiction) || !strings.Contains(err.Error(), fmt.Sprintf("task %d was counted %d by liar", wrong, doctored[wrong].Count)) {
			t.Errorf("task %d wrong: recounted %d, error %v", wrong, n, err)
		}
	}
	n, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 2})
	if err != nil || n != m.Tasks {
		t.Errorf("nothing wrong: recounted %d of %d, error %v", n, m.Tasks, err)
	}
}

// A result with the hash of another task is found without counting.
func TestRecountFindsAnotherTask(t *testing.T) {
	m, results := run7(t)
	results[2].Hash++
	_, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 1})
	if !errors.Is(err, queens.ErrContradiction) {
		t.Errorf("error %v, want %v", err, queens.ErrContradiction)
	}
}

// The smallest sample has one task of each class with a counted one. Over many seeds every
// task is selected; the same seed selects the same tasks.
func TestSampleHasEachClass(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results)
	first := m.Classes[1].First
	for name, test := range map[string]struct {
		results []queens.Result
		want    uint64
	}{"all": {results, 2}, "one class": {results[:first], 1}, "part of each": {results[first-1:], 2}, "none": {nil, 0}} {
		n, err := Recount(t.Context(), newLedger(t, m, test.results), Sample{Kernel: reference(t), Threads: 1})
		if err != nil || n != test.want {
			t.Errorf("%s: recounted %d, error %v, want %d", name, n, err, test.want)
		}
	}
	seen := make(map[uint32]bool)
	for seed := range uint64(200) {
		k, taken := recordingKernel(t)
		if _, err := Recount(t.Context(), l, Sample{Seed: seed, Kernel: k, Threads: 1}); err != nil {
			t.Fatal(err)
		}
		k2, again := recordingKernel(t)
		if _, err := Recount(t.Context(), l, Sample{Seed: seed, Kernel: k2, Threads: 1}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(*taken) != fmt.Sprint(*again) {
			t.Fatalf("seed %d took %v, and then %v", seed, *taken, *again)
		}
		for _, cols := range *taken {
			seen[cols] = true
		}
	}
	prefixes := make(map[uint32]bool) // a task of this run is one prefix of one row
	for _, plan := range m.Classes {
		for square := plan.Board.Allow[0]; square != 0; square &= square - 1 {
			prefixes[square&-square] = true
		}
	}
	if len(seen) != len(prefixes) {
		t.Errorf("200 seeds took %d of %d prefixes", len(seen), len(prefixes))
	}
}

// recordingKernel returns the reference kernel, and the first column of each task it counts.
func recordingKernel(t *testing.T) (kernel.Kernel, *[]uint32) {
	t.Helper()
	taken := new([]uint32)
	k := reference(t)
	plain := k.New
	k.New = func() kernel.Counter { return recorder{plain(), taken} }
	return k, taken
}

type recorder struct {
	counter kernel.Counter
	taken   *[]uint32
}

func (w recorder) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	*w.taken = append(*w.taken, prefixes[0].Cols)
	return w.counter.Count(ctx, b, prefixes, pulse)
}

// A recount returns the cause of its context's end.
func TestRecountEnds(t *testing.T) {
	m, results := run7(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	if _, err := Recount(ctx, newLedger(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 2}); !errors.Is(err, stopped) {
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
		if by, err = RecountAll(t.Context(), &m, big.NewInt(39), reference(t), 2); !errors.Is(err, queens.ErrContradiction) || by == string(s) {
			t.Errorf("of a wrong run by %s: by %s, error %v", s, by, err)
		}
	}
	m.N = maxRecountN + 1
	if by, err := RecountAll(t.Context(), &m, big.NewInt(1), reference(t), 2); by != "" || err != nil {
		t.Errorf("of a large board: by %q, error %v", by, err)
	}
}
