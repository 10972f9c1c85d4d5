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
)

const (
	// stopBound is how long a cancelled Count may go on. The best of stopTries is
	// held to it: a busy test machine may be late now and then.
	stopBound = 50 * time.Millisecond
	stopTries = 3
	// patience is how long a test waits for what should take milliseconds.
	patience = 10 * time.Second
)

var errStop = errors.New("stopped by the test")

// long returns batches that take a generic search seconds to years, each for a
// reason of its own.
func long() []*batch {
	deep := newBatch("one prefix", queens.FullBoard(20))
	deep.addKnown()

	tiny := newBatch("many small prefixes", queens.FullBoard(10))
	tiny.addKnown()
	tiny = tiny.draw(newRand(0), queens.MaxBatch)

	// Queens on rows 20 and 21 always attack each other.
	barred := newBatch("no state reaches the last rows", queens.FullBoard(32))
	barred.board.Allow[20], barred.board.Allow[21] = 1, 1
	barred.append(queens.Prefix{}, 0)

	return []*batch{deep, tiny, barred}
}

// With a context that has ended, whatever the batch, Count gives the cause, no
// count, and the next call its due.
func cancelledBefore(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	c, next := k.New(), allPrefixes(6)
	complete := newBatch("a complete prefix", queens.FullBoard(1))
	complete.add([]int{0})
	for _, b := range append(long(), next, complete, newBatch("no prefix", queens.FullBoard(8))) {
		start(ctx, t, c, b).mustStop(t)
		check(t, c, next)
	}
}

// A search shows that it advances; when its context ends it stops at once, with the
// cause and no count; and the counter's next count is right.
func cancelledDuring(t *testing.T, k kernel.Kernel) {
	next := allPrefixes(6)
	for _, b := range long() {
		t.Run(b.name, func(t *testing.T) {
			c, best := k.New(), patience
			for range stopTries {
				best = min(best, stopTime(t, c, b))
				check(t, c, next)
			}
			t.Logf("kernel %s stopped after %v", k.Name, best)
			if best > stopBound {
				t.Errorf("stopped %v after it was cancelled, want at most %v", best, stopBound)
			}
		})
	}
}

// stopTime lets a search of b advance, cancels it, and returns how long it went on.
func stopTime(t *testing.T, c kernel.Counter, b *batch) time.Duration {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := start(ctx, t, c, b)
	for range 3 {
		s.mustAdvance(t)
	}
	cancelled := time.Now()
	cancel(errStop)
	s.mustStop(t)
	return time.Since(cancelled)
}

// Count allocates nothing.
func noAllocation(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rng := newRand(2)
	whole := newBatch("whole", queens.FullBoard(11))
	whole.addKnown()
	masked, columns := solvableBoard(rng, "masked", queens.MaxN, 1)
	masked.addShort(columns, 0)
	c := k.New()
	for _, b := range []*batch{whole, masked, allPrefixes(8).draw(rng, 5000), newBatch("no prefix", queens.FullBoard(8))} {
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

// A counter counts right while others of its kernel search other boards, and they
// go on undisturbed. The race detector sees more of it.
func countersShareNothing(t *testing.T, k kernel.Kernel) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var others []*searching
	for _, b := range long() {
		others = append(others, start(ctx, t, k.New(), b))
	}
	for _, s := range others {
		s.mustAdvance(t)
	}
	c := k.New()
	for n := 1; n <= 11; n++ {
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

// searching is a batch counted over and over by a goroutine of its own, until Count
// gives an error or a wrong count: so a fast kernel can't be done before the test is.
type searching struct {
	pulse atomic.Uint64
	seen  uint64 // pulse when it was last seen to advance
	ended chan struct{}
	err   error // why it ended
}

// start starts a search that ends, at the latest, with the test.
func start(ctx context.Context, t *testing.T, c kernel.Counter, b *batch) *searching {
	s := &searching{seen: 1 << 40, ended: make(chan struct{})}
	s.pulse.Store(s.seen) // Count adds to what others have counted.
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
	case <-time.After(patience):
		t.Fatalf("Count has not returned %v after it was cancelled", patience)
	}
}

// mustStop waits for the search to end as a cancelled one should.
func (s *searching) mustStop(t *testing.T) {
	t.Helper()
	s.wait(t)
	if !errors.Is(s.err, errStop) {
		t.Fatalf("Count returned %v, want the cause of the cancelled context", s.err)
	}
}

// mustAdvance waits for the pulse to rise.
func (s *searching) mustAdvance(t *testing.T) {
	t.Helper()
	look, late := time.NewTicker(time.Millisecond), time.NewTimer(patience)
	defer look.Stop()
	for {
		if now := s.pulse.Load(); now != s.seen {
			if now < s.seen {
				t.Errorf("the pulse fell from %d to %d", s.seen, now)
			}
			s.seen = now
			return
		}
		select {
		case <-look.C:
		case <-s.ended:
			t.Fatalf("the search ended by itself: %v", s.err)
		case <-late.C:
			t.Fatalf("the pulse has not risen for %v", patience)
		}
	}
}
