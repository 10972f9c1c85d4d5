package halves

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// help starts goroutines that help, and returns a function that ends them.
func help(t testing.TB, c *Counter, helpers int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for range helpers {
		ended.Go(func() { c.Help(ctx, new(atomic.Uint64)) })
	}
	return func() {
		cancel()
		ended.Wait()
	}
}

// crewCounter returns a counter for a number of helpers, with lists that come in parts or not.
func crewCounter(t testing.TB, n int, k Kernel, helpers int, parts bool) *Counter {
	t.Helper()
	c, err := NewCounter(Config{N: n, Kernel: k, Helpers: helpers})
	if err != nil {
		t.Fatal(err)
	}
	if parts {
		shorten(c)
	}
	return c
}

// The sums are the same with helpers, also if lists come in parts, and if helpers come and go.
func TestHelpers(t *testing.T) {
	const helpers = 3
	most, large := 13, []int{18, 19, 20}
	if testing.Short() {
		most, large = 11, large[:2]
	}
	for _, k := range Available() {
		for _, parts := range []bool{false, true} {
			for n := 1; n <= most; n++ {
				c := crewCounter(t, n, k, helpers, parts)
				stop := help(t, c, helpers)
				known, _ := queens.KnownTotal(n)
				if got := count(t, c, 0, Sets(n)); got != known.Uint64() {
					t.Errorf("n = %d, kernel %s, parts %v: the total is %d, want %d", n, k.Name, parts, got, known)
				}
				stop()
			}
			for _, n := range large {
				want := count(t, newCounter(t, n, k, false), 0, 1)
				c := crewCounter(t, n, k, helpers, parts)
				come := make(chan struct{})
				var going sync.WaitGroup
				going.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-come:
							return
						default:
						}
						help(t, c, 1+i%helpers)()
					}
				})
				stop := help(t, c, 1) // not all places: one helper at least comes and goes
				for range 3 {
					if got := count(t, c, 0, 1); got != want {
						t.Errorf("n = %d, kernel %s, parts %v: %d with helpers, want %d", n, k.Name, parts, got, want)
					}
				}
				close(come)
				going.Wait()
				stop()
			}
		}
	}
}

// All helpers are in a phase at the same time as the goroutine of Count. There are no more of them
// than the Counter has room for. A helper is in each phase once. The crew measures how long they
// are in the phases of a Count.
func TestCrew(t *testing.T) {
	const helpers, phases = 3, 5
	var c crew
	c.reserve(1+helpers, generic)
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for range helpers {
		ended.Go(func() { c.help(ctx, new(atomic.Uint64)) })
	}
	testkit.Eventually(t, "all helpers", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.free) == 0
	})
	c.help(t.Context(), new(atomic.Uint64)) // no place is free
	c.start(t.Context(), new(atomic.Uint64))
	for range phases {
		var in, calls atomic.Int64
		all := make(chan struct{})
		c.run(func(*member) {
			calls.Add(1)
			if in.Add(1) == 1+helpers {
				close(all)
			}
			<-all
			time.Sleep(time.Millisecond)
		})
		if got := calls.Load(); got != 1+helpers {
			t.Errorf("%d calls, want %d", got, 1+helpers)
		}
	}
	if least := helpers * phases * time.Millisecond; c.helped < least {
		t.Errorf("helpers have worked for %v, less than %v", c.helped, least)
	}
	c.start(t.Context(), new(atomic.Uint64))
	if c.helped != 0 {
		t.Errorf("helpers have worked for %v before the first phase", c.helped)
	}
	cancel()
	ended.Wait()
	if len(c.free) != helpers {
		t.Errorf("%d free places, want %d", len(c.free), helpers)
	}
}

// A helper that is told to end takes no further unit, though the phase goes on.
func TestHelperLeaves(t *testing.T) {
	var c crew
	c.reserve(2, generic)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		c.help(ctx, new(atomic.Uint64))
		close(ended)
	}()
	c.start(t.Context(), new(atomic.Uint64))
	c.run(func(m *member) {
		if m == c.all[0] {
			testkit.Eventually(t, "units", func() bool { return c.next.Load() > 0 })
			cancel()
			select {
			case <-ended:
			case <-time.After(testkit.Stall):
				t.Fatal("the helper does not leave")
			}
			return
		}
		for ok := true; ok; {
			_, ok = m.take(math.MaxInt)
		}
	})
}

// A canceled Count with helpers returns the cause. Its helpers stay, and the next Count is right.
func TestCancelWithHelpers(t *testing.T) {
	const n, helpers = 20, 2
	reason := errors.New("not wanted")
	c := crewCounter(t, n, Available()[0], helpers, false)
	defer help(t, c, helpers)()
	want := count(t, newCounter(t, n, generic, false), 3, 1)
	for range 10 {
		ctx, cancel := context.WithCancelCause(t.Context())
		var pulse atomic.Uint64
		ended := make(chan error)
		go func() {
			_, err := c.Count(ctx, 0, Sets(n), &pulse)
			ended <- err
		}()
		testkit.Eventually(t, "pulses", func() bool { return pulse.Load() > 100 })
		cancel(reason)
		if err := <-ended; !errors.Is(err, reason) {
			t.Errorf("error %v, want %v", err, reason)
		}
		if got := count(t, c, 3, 1); got != want {
			t.Errorf("after a cancellation: %d, want %d", got, want)
		}
	}
}
