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

// A recount of all finds a wrong count, and says whose it is; where the wrong task is
// not in the sample, it does not.
func TestRecountFindsAWrongCount(t *testing.T) {
	m, results := books7(t)
	for wrong := range results {
		doctored := append([]queens.Result(nil), results...)
		doctored[wrong].Count++
		doctored[wrong].Worker = "liar"
		n, err := Recount(t.Context(), enter(t, m, doctored), Sample{Share: 1, Kernel: reference(t), Threads: 2})
		if !errors.Is(err, queens.ErrContradiction) || !strings.Contains(err.Error(), fmt.Sprintf("task %d was counted %d by liar", wrong, doctored[wrong].Count)) {
			t.Errorf("task %d wrong: recounted %d, error %v", wrong, n, err)
		}
	}
	n, err := Recount(t.Context(), enter(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 2})
	if err != nil || n != m.Tasks {
		t.Errorf("nothing wrong: recounted %d of %d, error %v", n, m.Tasks, err)
	}
}

// A result of another task is found without counting.
func TestRecountFindsAnotherTask(t *testing.T) {
	m, results := books7(t)
	results[2].Hash++
	_, err := Recount(t.Context(), enter(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 1})
	if !errors.Is(err, queens.ErrContradiction) {
		t.Errorf("error %v, want %v", err, queens.ErrContradiction)
	}
}

// The smallest sample has a task of each class that has a counted one, and over many
// seeds each of them; the same seed takes the same tasks.
func TestSampleHasEachClass(t *testing.T) {
	m, results := books7(t)
	l := enter(t, m, results)
	first := m.Classes[1].First
	for name, test := range map[string]struct {
		results []queens.Result
		want    uint64
	}{"all": {results, 2}, "one class": {results[:first], 1}, "part of each": {results[first-1:], 2}, "none": {nil, 0}} {
		n, err := Recount(t.Context(), enter(t, m, test.results), Sample{Kernel: reference(t), Threads: 1})
		if err != nil || n != test.want {
			t.Errorf("%s: recounted %d, error %v, want %d", name, n, err, test.want)
		}
	}
	seen := make(map[uint32]bool)
	for seed := range uint64(200) {
		k, taken := watched(t)
		if _, err := Recount(t.Context(), l, Sample{Seed: seed, Kernel: k, Threads: 1}); err != nil {
			t.Fatal(err)
		}
		k2, again := watched(t)
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
	prefixes := make(map[uint32]bool) // a task of this run is a prefix of one row
	for _, plan := range m.Classes {
		for square := plan.Board.Allow[0]; square != 0; square &= square - 1 {
			prefixes[square&-square] = true
		}
	}
	if len(seen) != len(prefixes) {
		t.Errorf("200 seeds took %d of %d prefixes", len(seen), len(prefixes))
	}
}

// watched returns the reference kernel, and the first column of each task it counts.
func watched(t *testing.T) (kernel.Kernel, *[]uint32) {
	t.Helper()
	taken := new([]uint32)
	k := reference(t)
	plain := k.New
	k.New = func() kernel.Counter { return watcher{plain(), taken} }
	return k, taken
}

type watcher struct {
	counter kernel.Counter
	taken   *[]uint32
}

func (w watcher) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	*w.taken = append(*w.taken, prefixes[0].Cols)
	return w.counter.Count(ctx, b, prefixes, pulse)
}

// A recount ends with the cause of its context.
func TestRecountEnds(t *testing.T) {
	m, results := books7(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	if _, err := Recount(ctx, enter(t, m, results), Sample{Share: 1, Kernel: reference(t), Threads: 2}); !errors.Is(err, stopped) {
		t.Errorf("error %v, want %v", err, stopped)
	}
}

// The whole counted by another symmetry finds any wrong total of a small board, and
// leaves large ones alone.
func TestWhole(t *testing.T) {
	m, _ := books7(t)
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
	m.N = maxWhole + 1
	if by, err := RecountAll(t.Context(), &m, big.NewInt(1), reference(t), 2); by != "" || err != nil {
		t.Errorf("of a large board: by %q, error %v", by, err)
	}
}
