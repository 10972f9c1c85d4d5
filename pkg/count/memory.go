package count

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/halves"
)

// Memory limits how many bytes the counters of a process take for the method halves. A searcher
// needs a counter while it counts row sets. A counter stays for the next searcher, until another
// board or kernel needs one: then it is closed, and the garbage collector frees it. If no memory is
// left, a searcher waits, and helps another one meanwhile. The methods are safe for concurrent use.
type Memory struct {
	limit   uint64 // in bytes; 0 means no limit
	threads int

	mu       sync.Mutex
	taken    uint64 // by all counters
	counters []*setCounter
	waiting  []*waiter // the first is the next
}

// setCounter is a counter of row sets of boards of side n, by the named kernel.
type setCounter struct {
	*halves.Counter
	n       int
	kernel  string
	bytes   uint64
	inUse   bool
	helpers int // that it has now
	most    int // helpers that it has room for
}

// fits reports whether it counts row sets of boards of side n by a kernel.
func (c *setCounter) fits(n int, k halves.Kernel) bool { return c.n == n && c.kernel == k.Name }

// waiter is a searcher that waits for a counter.
type waiter struct {
	n      int
	kernel halves.Kernel
	got    *setCounter        // its counter; nil if it should try again
	wake   context.CancelFunc // ends the wait
}

// NewMemory returns a limit for a number of threads. 0 bytes are no limit.
func NewMemory(bytes uint64, threads int) *Memory {
	return &Memory{limit: bytes, threads: max(1, threads)}
}

// MemoryOf returns how much of the memory of a machine the method halves takes at most in the
// worker of a process, unless it is told otherwise, and in a recount. The rest is for other
// processes. 0 stands for a size that is not known.
func MemoryOf(machine uint64) (worker, recount uint64) { return machine / 4 * 3, machine / 8 }

// Of returns how many bytes row sets of boards of side n take on all threads together, how many row
// sets are counted at a time, and on how many threads. All are 0 if the limit is too small.
func (m *Memory) Of(n int) (bytes uint64, sets, threads int) {
	counters, helpers, each := m.shares(n)
	if m.limit > 0 && each > m.limit {
		return 0, 0, 0
	}
	return each * uint64(counters), counters, min(m.threads, counters*(1+helpers))
}

// shares returns how many counters of boards of side n there may be at a time, and how many helpers
// and bytes each of them has. Each thread has its own counter on boards below side
// [halves.SharedFrom], if there is memory for so many. Otherwise the threads share counters.
func (m *Memory) shares(n int) (counters, helpers int, bytes uint64) {
	counters = m.threads
	if n >= halves.SharedFrom {
		counters = 1
	}
	for ; counters >= 1; counters-- {
		helpers = (m.threads - 1) / counters
		bytes = halves.Memory(n, helpers)
		if m.limit == 0 || bytes <= m.limit/uint64(counters) {
			return counters, helpers, bytes
		}
	}
	for helpers = m.threads - 1; helpers > 0 && halves.LeastMemory(n, helpers) > m.limit; {
		helpers--
	}
	return 1, helpers, max(m.limit, halves.LeastMemory(n, helpers))
}

// waitPulse is the time between two pulses of a searcher that waits and can't help. After each, it
// tries again to help.
const waitPulse = time.Second

// take returns a counter. Until there is memory for one, it helps other searchers, and increments
// pulse. The errors are context.Cause(ctx), and one that says that the limit is too small for a
// counter.
func (m *Memory) take(
	ctx context.Context, n int, k halves.Kernel, pulse *atomic.Uint64,
) (*setCounter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil {
		c, err := m.try(n, k)
		if c != nil || err != nil {
			return c, err
		}
		c = m.wait(ctx, n, k, pulse)
		if c != nil {
			return c, nil
		}
	}
	return nil, context.Cause(ctx)
}

// try returns a counter, or nil if there is no memory for one.
func (m *Memory) try(n int, k halves.Kernel) (*setCounter, error) {
	counters, helpers, bytes := m.shares(n)
	if m.limit > 0 && bytes > m.limit {
		return nil, fmt.Errorf("row sets of n = %d need at least %d bytes of memory, and the limit is "+
			"%d: give more", n, bytes, m.limit)
	}
	alike := 0
	for _, c := range m.counters {
		if !c.fits(n, k) {
			continue
		}
		if !c.inUse {
			c.inUse = true
			return c, nil
		}
		alike++
	}
	before := len(m.counters)
	if err := m.closeUnused(); err != nil { // they are of other boards
		return nil, err
	}
	if len(m.counters) < before {
		debug.FreeOSMemory() // the new lists take the place of the old ones
	}
	if alike == counters || m.limit > 0 && bytes > m.limit-m.taken {
		return nil, nil
	}
	counter, err := halves.NewCounter(halves.Config{N: n, Kernel: k, Memory: bytes, Helpers: helpers})
	if err != nil {
		return nil, err
	}
	c := &setCounter{
		Counter: counter, n: n, kernel: k.Name, bytes: bytes, inUse: true, most: helpers,
	}
	m.counters = append(m.counters, c)
	m.taken += bytes
	return c, nil
}

// Close closes all counters. None may be in use.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closeUnused()
}

// closeUnused closes the counters that are not in use.
func (m *Memory) closeUnused() (err error) {
	m.counters = slices.DeleteFunc(m.counters, func(c *setCounter) bool {
		if !c.inUse {
			m.taken -= c.bytes
			err = errors.Join(err, c.Close())
		}
		return !c.inUse
	})
	return err
}

// wait helps another searcher, if it can, until a counter is handed over, which it returns, or it
// makes sense to try again. A searcher that helps increments pulse only while it works, so that it
// hides no search that makes no progress. The lock is held before and after.
func (m *Memory) wait(
	ctx context.Context, n int, k halves.Kernel, pulse *atomic.Uint64,
) *setCounter {
	ctx, wake := context.WithCancel(ctx)
	defer wake()
	w := &waiter{n: n, kernel: k, wake: wake}
	m.waiting = append(m.waiting, w)
	for ctx.Err() == nil {
		if c := m.fewestHelpers(n, k); c != nil {
			c.helpers++
			m.mu.Unlock()
			c.Help(ctx, pulse) // until ctx ends, because there is room
			m.mu.Lock()
			c.helpers--
			continue
		}
		m.mu.Unlock()
		select {
		case <-time.After(waitPulse): // meanwhile a helper may have left
			pulse.Add(1)
		case <-ctx.Done():
		}
		m.mu.Lock()
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(x *waiter) bool { return x == w })
	return w.got
}

// fewestHelpers returns the counter in use that has the fewest helpers and room for another one, or
// nil.
func (m *Memory) fewestHelpers(n int, k halves.Kernel) (fewest *setCounter) {
	for _, c := range m.counters {
		if c.inUse && c.fits(n, k) && c.helpers < c.most &&
			(fewest == nil || c.helpers < fewest.helpers) {
			fewest = c
		}
	}
	return fewest
}

// give gives a counter back. If it fits the searcher that has waited longest, that one gets it.
// Otherwise all that wait try again, in any order. nil is no counter.
func (m *Memory) give(c *setCounter) {
	if c == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) > 0 && c.fits(m.waiting[0].n, m.waiting[0].kernel) {
		next := m.waiting[0]
		m.waiting = m.waiting[1:]
		next.got = c
		next.wake()
		return
	}
	c.inUse = false
	for _, w := range m.waiting {
		w.wake()
	}
	m.waiting = nil
}
