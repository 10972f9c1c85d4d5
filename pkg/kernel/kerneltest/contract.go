package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// maxPulsesAfterCancel is how often a canceled Count may still increment its pulse. Kernels poll
// their context whenever they increment the pulse. Benchmarks measure how long a Count continues
// after it was canceled.
const maxPulsesAfterCancel = 2

var errStop = errors.New("stopped by the test")

// longSearches returns batches that take most kernels seconds to years, each for a different
// reason.
func longSearches() []*batch {
	deep := newBatch("one prefix", queens.FullBoard(20))
	deep.addKnown()

	tiny := newBatch("many small prefixes", queens.FullBoard(10))
	tiny.addKnown()
	tiny = tiny.draw(newRand(0), queens.MaxBatch)

	// Queens on rows 20 and 21 always attack each other, but each of these rows allows two squares.
	blocked := newBatch("no state reaches the last rows", queens.FullBoard(32))
	blocked.board.Allow[20], blocked.board.Allow[21] = 3, 3
	blocked.append(queens.Prefix{}, 0)

	return []*batch{deep, tiny, blocked, outerColumns(22), outerColumns(28)}
}

// outerColumns returns a batch without a completion, on whose board there are many thousands of
// ways to place the queens of n-16 outer columns. Most rows allow the first n-16 columns. All rows
// but two allow the last column. So a kernel that begins with the outer column of fewer squares
// fills the first columns. The last two rows allow only the same two neighboring columns, so their
// queens attack each other.
func outerColumns(n int) *batch {
	const fewSquares = 3
	rng, outer := newRand(uint64(n)), n-16
	b := newBatch(fmt.Sprintf("many ways to fill %d columns", outer), queens.Board{N: n})
	for row := range n - 2 {
		b.board.Allow[row] = 1 << (n - 1)
		for range fewSquares {
			b.board.Allow[row] |= 1 << (outer + rng.IntN(15))
		}
		if 1 <= row && row < n-3 {
			b.board.Allow[row] |= 1<<outer - 1
		}
	}
	b.board.Allow[n-2], b.board.Allow[n-1] = 3<<(n/2), 3<<(n/2)
	b.append(queens.Prefix{}, 0)
	return b
}

// If the context has already ended, Count returns the cause and 0, whatever the batch, and the next
// call counts right.
func canceledBefore(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	c, next := NewCounter(t, k), allPrefixes(6)
	complete := newBatch("a complete prefix", queens.FullBoard(1))
	complete.add([]int{0})
	for _, b := range append(longSearches(), next, complete,
		newBatch("no prefix", queens.FullBoard(8))) {
		start(ctx, t, c, b).mustStop(t)
		check(t, c, next)
	}
}

// A search increments its pulse. When its context ends, it stops within maxPulsesAfterCancel
// pulses, with the cause and no count. The counter can count again.
func canceledDuring(t *testing.T, k kernel.Kernel) {
	next := allPrefixes(6)
	for _, b := range longSearches() {
		t.Run(b.name, func(t *testing.T) {
			c := NewCounter(t, k)
			for range 3 {
				ctx, cancel := context.WithCancelCause(t.Context())
				s := start(ctx, t, c, b)
				for range 3 {
					s.mustAdvance(t)
				}
				cancel(errStop)
				atCancel := s.pulse.Load()
				s.mustStop(t)
				if late := s.pulse.Load() - atCancel; late > maxPulsesAfterCancel {
					t.Errorf("%d pulses after the cancellation, want at most %d", late, maxPulsesAfterCancel)
				}
				check(t, c, next)
			}
		})
	}
}

// Count does not allocate.
func noAllocation(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	rng := newRand(2)
	whole := newBatch("whole", queens.FullBoard(11))
	whole.addKnown()
	masked, columns := solvableBoard(rng, "masked", queens.MaxN, 1)
	masked.addShort(columns, 0)
	c := NewCounter(t, k)
	for _, b := range []*batch{
		whole, masked, outerBatch(22, 0), outerBatch(queens.MaxN, 0), allPrefixes(8).draw(rng, 5000),
		newBatch("no prefix", queens.FullBoard(8)),
	} {
		var pulse atomic.Uint64
		allocs := testing.AllocsPerRun(5, func() {
			if got, err := c.Count(ctx, &b.board, b.prefixes, &pulse); got != b.want() || err != nil {
				t.Errorf("%v: counted %d (error %v), want %d", b, got, err, b.want())
			}
		})
		if allocs != 0 {
			t.Errorf("%v: %v allocations in a call", b, allocs)
		}
	}
}

// A counter counts right while other counters of its kernel search other boards, and does not
// disturb them. The race detector can find more errors.
func countersShareNothing(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var others []*searching
	for _, b := range longSearches() {
		others = append(others, start(ctx, t, NewCounter(t, k), b))
	}
	for _, s := range others {
		s.mustAdvance(t)
	}
	c := NewCounter(t, k)
	for _, n := range []int{1, 8, 11} {
		b := newBatch(fmt.Sprintf("n=%d", n), queens.FullBoard(n))
		b.addKnown()
		check(t, c, b)
		for _, s := range others {
			s.mustAdvance(t)
		}
	}
	cancel(errStop)
	for _, s := range others {
		s.mustStop(t)
	}
}

// Close returns nil for a new counter, after a Count, and after a canceled Count. Counters that are
// made before or after the Close count right.
func closed(t *testing.T, k kernel.Kernel) {
	next := allPrefixes(6)
	before := NewCounter(t, k)
	check(t, before, next)
	for name, use := range map[string]func(t *testing.T, c kernel.Counter){
		"a new counter": func(*testing.T, kernel.Counter) {},
		"after a Count": func(t *testing.T, c kernel.Counter) { check(t, c, next) },
		"after a canceled Count": func(t *testing.T, c kernel.Counter) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := start(ctx, t, c, longSearches()[0])
			s.mustAdvance(t)
			cancel(errStop)
			s.mustStop(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := k.New()
			if err != nil {
				t.Fatal(err)
			}
			use(t, c)
			if err := c.Close(); err != nil {
				t.Errorf("Close returns %v", err)
			}
			check(t, before, next)
			check(t, NewCounter(t, k), next)
		})
	}
}

// searching counts a batch over and over in a goroutine, so that a fast kernel does not finish
// before the test cancels it. It ends when Count returns an error or a wrong count.
type searching struct {
	pulse atomic.Uint64
	seen  uint64 // pulse when it was last seen to advance
	ended chan struct{}
	err   error // why it ended
}

// start starts a search that ends with the test at the latest.
func start(ctx context.Context, t *testing.T, c kernel.Counter, b *batch) *searching {
	s := &searching{seen: 1 << 40, ended: make(chan struct{})}
	s.pulse.Store(s.seen) // Count must add to the pulse, not set it.
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(s.ended)
		for s.err == nil {
			got, err := c.Count(ctx, &b.board, b.prefixes, &s.pulse)
			switch {
			case err != nil && got != 0:
				s.err = fmt.Errorf("%v: count %d beside the error %w", b, got, err)
			case err != nil:
				s.err = err
			case got != b.want():
				s.err = fmt.Errorf("%v: counted %d, want %d", b, got, b.want())
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		s.wait(t)
	})
	return s
}

// wait waits for the search to end.
func (s *searching) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(testkit.Stall):
		t.Fatalf("Count has not returned %v after it was canceled", testkit.Stall)
	}
}

// mustStop waits for the search to end with the cause of its canceled context.
func (s *searching) mustStop(t *testing.T) {
	t.Helper()
	s.wait(t)
	if !errors.Is(s.err, errStop) {
		t.Fatalf("Count returned %v, want the cause of the canceled context", s.err)
	}
}

// mustAdvance waits for the pulse to rise.
func (s *searching) mustAdvance(t *testing.T) {
	t.Helper()
	poll, late := time.NewTicker(time.Millisecond), time.NewTimer(testkit.Stall)
	defer poll.Stop()
	for {
		if now := s.pulse.Load(); now != s.seen {
			if now < s.seen {
				t.Errorf("the pulse fell from %d to %d", s.seen, now)
			}
			s.seen = now
			return
		}
		select {
		case <-poll.C:
		case <-s.ended:
			t.Fatalf("the search ended by itself: %v", s.err)
		case <-late.C:
			t.Fatalf("the pulse has not risen for %v", testkit.Stall)
		}
	}
}
