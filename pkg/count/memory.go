package count

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/halves"
)

// Memory limits how many bytes the searchers of a process take together for the method halves. A
// searcher takes memory while it counts row sets; the memory stays for the next one. If the limit
// is short, lists come in more parts, and then fewer searchers count at a time. The methods are
// safe for concurrent use.
type Memory struct {
	limit   uint64 // in bytes; 0 is none
	threads int

	mu      sync.Mutex
	taken   uint64        // by all counters
	unused  []setCounter  // the one that was used last is the last one
	waiting bool          // a searcher waits for changed
	changed chan struct{} // closed when a searcher gives a counter back
}

// setCounter is a counter of row sets of boards of side n, by the named kernel.
type setCounter struct {
	*halves.Counter
	n      int
	kernel string
}

// NewMemory returns a limit for a number of threads. 0 bytes are no limit.
func NewMemory(bytes uint64, threads int) *Memory {
	return &Memory{limit: bytes, threads: max(1, threads), changed: make(chan struct{})}
}

// MemoryOf returns how much of the memory of a machine the method halves takes at most in the
// worker of a process, unless it is told otherwise, and in a recount. The rest is for other
// processes. 0 stands for a size that is not known.
func MemoryOf(machine uint64) (worker, recount uint64) { return machine / 4 * 3, machine / 8 }

// Of returns how many bytes row sets of boards of side n take on all threads together, and on how
// many threads row sets are counted at a time.
func (m *Memory) Of(n int) (bytes uint64, threads int) {
	each := m.each(n)
	threads = m.threads
	if m.limit > 0 {
		threads = min(threads, int(m.limit/each))
	}
	return each * uint64(threads), threads
}

// each returns how many bytes a counter of boards of side n takes.
func (m *Memory) each(n int) uint64 {
	each := halves.Memory(n)
	if m.limit > 0 {
		each = max(min(each, m.limit/uint64(m.threads)), halves.LeastMemory(n))
	}
	return each
}

// waitPulse is the time between two pulses of a searcher that waits for memory.
const waitPulse = time.Second

// take returns a counter. It waits until there is memory, and increments pulse meanwhile. The
// errors are context.Cause(ctx), and one that says that the limit is too small for a counter.
func (m *Memory) take(
	ctx context.Context, n int, k halves.Kernel, pulse *atomic.Uint64,
) (setCounter, error) {
	each := m.each(n)
	if m.limit > 0 && each > m.limit {
		return setCounter{}, fmt.Errorf("row sets of n = %d need at least %d bytes of memory, and the "+
			"limit is %d: give more", n, each, m.limit)
	}
	for {
		c, changed, err := m.try(n, k, each)
		if changed == nil {
			return c, err
		}
		select {
		case <-changed:
		case <-time.After(waitPulse):
			pulse.Add(1)
		case <-ctx.Done():
			return setCounter{}, context.Cause(ctx)
		}
	}
}

// try returns a counter or, if there is no memory, a channel that is closed when it makes sense to
// try again.
func (m *Memory) try(n int, k halves.Kernel, each uint64) (setCounter, chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, c := range slices.Backward(m.unused) {
		if c.n == n && c.kernel == k.Name {
			m.unused = slices.Delete(m.unused, i, i+1)
			return c, nil, nil
		}
	}
	for _, c := range m.unused { // of other boards
		m.taken -= m.each(c.n)
	}
	clear(m.unused) // their memory is free before another counter takes more
	m.unused = m.unused[:0]
	if m.limit > 0 && m.taken+each > m.limit {
		m.waiting = true
		return setCounter{}, m.changed, nil
	}
	c, err := halves.NewCounter(halves.Config{N: n, Kernel: k, Memory: each})
	if err != nil {
		return setCounter{}, nil, err
	}
	m.taken += each
	return setCounter{c, n, k.Name}, nil, nil
}

// give gives a counter back, for the next searcher. The zero value is no counter.
func (m *Memory) give(c setCounter) {
	if c.Counter == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unused = append(m.unused, c)
	if m.waiting {
		close(m.changed)
		m.waiting, m.changed = false, make(chan struct{})
	}
}
