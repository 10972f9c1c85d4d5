package count

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A limit holds for all threads together. Each thread has its own counter, if there is memory for
// so many, and up to a side. Otherwise threads share a counter, which has less memory if there is
// less. Only if it can't have so many helpers, fewer threads count.
func TestMemoryOf(t *testing.T) {
	const threads = 3
	for n := 1; n <= queens.MaxN; n++ {
		usual, shared, own := halves.Memory(n, 0), halves.Memory(n, threads-1), threads
		if n >= halves.SharedFrom {
			usual, own = shared/threads, 1
		}
		least := func(helpers int) uint64 { return halves.LeastMemory(n, helpers) }
		for _, c := range []struct {
			limit                   uint64
			wantBytes               uint64
			wantSets, wantedThreads int
		}{
			{0, threads * usual, own, threads},
			{5 * shared, threads * usual, own, threads},
			{shared, shared, 1, threads},
			{shared - 1, shared - 1, 1, threads},
			{least(2), least(2), 1, threads},
			{least(2) - 1, least(2) - 1, 1, 2},
			{least(0), least(0), 1, 1},
			{least(0) - 1, 0, 0, 0},
		} {
			bytes, sets, at := NewMemory(c.limit, threads).Of(n)
			if bytes/threads != c.wantBytes/threads || sets != c.wantSets || at != c.wantedThreads {
				t.Errorf("n = %d, %d bytes: %d bytes, %d row sets, %d threads, want %d, %d, %d", n, c.limit,
					bytes, sets, at, c.wantBytes, c.wantSets, c.wantedThreads)
			}
		}
	}
	if bytes, _, _ := NewMemory(0, 64).Of(26); bytes > 250e6 {
		t.Errorf("64 threads take %d bytes for n = 26", bytes)
	}
}

// memoryFor returns a limit for a counter of a board of side 20 or less, with helpers.
func memoryFor(threads int) *Memory { return NewMemory(halves.Memory(20, threads-1), threads) }

// take returns a counter that a searcher gets at once.
func take(t *testing.T, m *Memory, n int) *setCounter {
	t.Helper()
	c, err := m.take(t.Context(), n, halves.Available()[0], new(atomic.Uint64))
	if err != nil || c.n != n {
		t.Fatal(c, err)
	}
	return c
}

// Searchers use the counters of others again. Counters of another board make room.
func TestMemoryIsUsedAgain(t *testing.T) {
	m := memoryFor(2)
	first := take(t, m, 20)
	m.give(first)
	k, pulse := halves.Available()[0], new(atomic.Uint64)
	again := func() {
		c, _ := m.take(t.Context(), 20, k, pulse)
		m.give(c)
	}
	if allocs := testing.AllocsPerRun(10, again); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	m.give(take(t, m, 19))
	if c := take(t, m, 20); c == first {
		t.Error("counters of two boards take more than the limit")
	}
	if m.taken > m.limit || len(m.counters) != 1 {
		t.Errorf("%d bytes of %d, %d counters", m.taken, m.limit, len(m.counters))
	}
	tooSmall := NewMemory(halves.LeastMemory(20, 0)-1, 2)
	if _, err := tooSmall.take(t.Context(), 20, halves.Available()[0], nil); err == nil {
		t.Error("a counter takes more than the limit")
	}
}

// closer is a device that counts how often it is closed.
type closer struct{ closed int }

func (*closer) Join(context.Context, *halves.Lists, *atomic.Uint64) (uint64, error) {
	return 0, nil
}

func (c *closer) Close() error {
	c.closed++
	return nil
}

// A counter that makes room for another board closes its device, and so does the end of the memory.
func TestMemoryClosesDevices(t *testing.T) {
	var device closer
	open := func(halves.Room) (halves.Device, error) { return &device, nil }
	k := halves.WithDevice("closer", 1, open)
	m := NewMemory(0, 1)
	for i, n := range []int{8, 9} {
		c, err := m.take(t.Context(), n, k, new(atomic.Uint64))
		if err != nil || device.closed != i {
			t.Fatalf("n = %d: the device was closed %d times (error %v)", n, device.closed, err)
		}
		m.give(c)
	}
	if err := m.Close(); err != nil || device.closed != 2 {
		t.Errorf("at the end the device was closed %d times (error %v)", device.closed, err)
	}
}

// A searcher that finds no room to help tries again. While it waits for room, it increments its
// pulse; while it helps a searcher that makes no progress, it does not.
func TestMemoryHelpsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memoryFor(2)
		first := take(t, m, 20) // never counts
		first.helpers = first.most
		ctx, cancel := context.WithCancel(t.Context())
		var pulse atomic.Uint64
		go func() { _, _ = m.take(ctx, 20, halves.Available()[0], &pulse) }() // canceled below
		time.Sleep(10*waitPulse + 1)
		synctest.Wait()
		if n := pulse.Load(); n != 10 {
			t.Errorf("a searcher that waits for 10 s has pulse %d", n)
		}
		m.mu.Lock()
		first.helpers = 0
		m.mu.Unlock()
		time.Sleep(10 * waitPulse)
		synctest.Wait()
		m.mu.Lock()
		if n := pulse.Load(); n != 11 || first.helpers != 1 {
			t.Errorf("10 s after there is room, the pulse is %d, and the counter has %d helpers", n,
				first.helpers)
		}
		m.mu.Unlock()
		cancel()
	})
}

// The time of a task includes that of its helpers.
func TestElapsedOfHelpers(t *testing.T) {
	const n = 20
	k, m := halves.Available()[0], memoryFor(2)
	c := take(t, m, n)
	ctx, stop := context.WithCancel(t.Context())
	var helping sync.WaitGroup
	helping.Go(func() { c.Help(ctx, new(atomic.Uint64)) })
	m.give(c)
	s := setSearcher{k, m}
	task := queens.Task{Board: queens.FullBoard(n), Sets: queens.RowSets{Number: 1}}
	testkit.Eventually(t, "the time of a task exceeds that of its search", func() bool {
		start := time.Now()
		counts, err := s.count(t.Context(), []queens.Task{task}, new(atomic.Uint64))
		took := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		elapsed := counts[0].Elapsed
		if elapsed > took+c.Helped() {
			t.Fatalf("a task takes %v in %v, of which %v are by helpers", elapsed, took, c.Helped())
		}
		return elapsed > took
	})
	stop()
	helping.Wait()
}

// A recount has as many threads as can count its row sets at a time with its memory.
func TestRecountThreads(t *testing.T) {
	const n, threads = 20, 4
	for _, c := range []struct {
		memory uint64
		sets   uint64
		want   int
	}{
		{0, 9, threads}, {0, 2, 2}, {halves.LeastMemory(n, 1), 9, 2}, {halves.LeastMemory(n, 0), 9, 1},
		{1, 9, 1}, // the error comes later
	} {
		r := Recount{Memory: c.memory}
		task := queens.Task{Board: queens.FullBoard(n), Sets: queens.RowSets{Number: c.sets}}
		if m := r.memory(&task, threads); m.threads != c.want || m.limit != c.memory {
			t.Errorf("%d row sets, %d bytes: %d threads, want %d", c.sets, c.memory, m.threads, c.want)
		}
	}
}

// Searchers that wait for a counter get it in turn, and end with their context. Meanwhile they help
// the one that has it.
func TestMemoryInTurn(t *testing.T) {
	const n, waiting = 20, 3
	k, m := halves.Available()[0], memoryFor(1+waiting)
	first := take(t, m, n)
	wait := func(n int, i int, ctx context.Context, pulse *atomic.Uint64, got chan<- int) {
		go func() {
			c, err := m.take(ctx, n, k, pulse)
			if err != nil {
				got <- -1
				return
			}
			got <- i
			m.give(c)
		}()
	}
	var pulses [waiting]atomic.Uint64
	got := make(chan int)
	for i := range waiting {
		wait(n, i, t.Context(), &pulses[i], got)
		testkit.Eventually(t, "the searcher waits", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.waiting) == 1+i && first.helpers == 1+i
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	counted := make(chan error)
	go func() {
		_, err := first.Count(ctx, 0, halves.Sets(n), new(atomic.Uint64))
		counted <- err
	}()
	for i := range pulses {
		testkit.Eventually(t, "help", func() bool { return pulses[i].Load() > 10 })
	}
	reason := errors.New("enough")
	cancel(reason)
	if err := <-counted; !errors.Is(err, reason) {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	late := make(chan int)
	wait(n-1, 0, stopped, new(atomic.Uint64), late) // of another board: it has nothing to help
	testkit.Eventually(t, "the last searcher waits", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.waiting) == waiting+1
	})
	stop()
	if i := <-late; i != -1 {
		t.Error("a searcher that was stopped has a counter")
	}
	m.give(first)
	for i := range waiting {
		if turn := <-got; turn != i {
			t.Errorf("searcher %d gets the counter before searcher %d", turn, i)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first.helpers != 0 || len(m.waiting) != 0 {
		t.Errorf("%d helpers and %d searchers wait at the end", first.helpers, len(m.waiting))
	}
}
