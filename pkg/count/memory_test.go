package count

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
)

// A limit holds for all threads together. Without one, each thread has the usual memory. Fewer
// threads count at a time only if each of them has the least that it needs.
func TestMemoryOf(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		least, usual := halves.LeastMemory(n), halves.Memory(n)
		for _, c := range []struct {
			limit    uint64
			threads  int
			want     uint64
			wantTime int
		}{
			{0, 3, 3 * usual, 3},
			{4 * usual, 3, 3 * usual, 3},
			{3 * least, 3, 3 * least, 3},
			{3*least - 1, 3, 2 * least, 2},
			{least, 64, least, 1},
			{least - 1, 64, 0, 0},
		} {
			bytes, threads := NewMemory(c.limit, c.threads).Of(n)
			if bytes != c.want || threads != c.wantTime {
				t.Errorf("n = %d, %d bytes on %d threads: %d on %d, want %d on %d", n, c.limit, c.threads, bytes,
					threads, c.want, c.wantTime)
			}
		}
	}
}

// Searchers wait for the memory that others have, and use their counters again. Counters of another
// board make room.
func TestMemoryIsShared(t *testing.T) {
	k, pulse := halves.Available()[0], new(atomic.Uint64)
	m := NewMemory(halves.LeastMemory(14)+1000, 2)
	take := func(n int) setCounter {
		t.Helper()
		c, err := m.take(t.Context(), n, k, pulse)
		if err != nil || c.n != n {
			t.Fatal(c.n, err)
		}
		return c
	}
	first := take(14)
	reason := errors.New("not wanted")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(reason)
	if _, err := m.take(ctx, 14, k, pulse); !errors.Is(err, reason) {
		t.Errorf("two counters at a time: %v", err)
	}
	waits := make(chan setCounter)
	go func() {
		c, _ := m.take(t.Context(), 14, k, pulse)
		waits <- c
	}()
	m.give(first)
	if second := <-waits; second != first {
		t.Error("the counter of another searcher was not used again")
	}
	m.give(first)
	if allocs := testing.AllocsPerRun(10, func() { m.give(take(14)) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	m.give(take(13))
	if again := take(14); again == first {
		t.Error("counters of two boards take more than the limit")
	}
	if m.taken > m.limit {
		t.Errorf("%d bytes of %d", m.taken, m.limit)
	}
}
