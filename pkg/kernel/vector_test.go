//go:build (amd64 || arm64) && !purego

package kernel

import (
	"slices"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
)

// A counter takes far less memory than the 32 MiB that a thread may use.
func TestCounterIsSmall(t *testing.T) {
	size := unsafe.Sizeof(vectorCounter{}) + windowColumns*unsafe.Sizeof(queue[uint16]{}) +
		queens.MaxN*unsafe.Sizeof(queue[uint32]{})
	if size > 3<<20 {
		t.Errorf("a counter takes %d bytes", size)
	}
}

// BenchmarkLongestStep measures the longest possible step. Its queue is as long as it can be, the
// states have as many free squares as possible, and no child survives, so the step does not stop
// early. A step can't be interrupted, so it must take far less than a millisecond.
func BenchmarkLongestStep(b *testing.B) {
	for _, k := range laneKernels() {
		b.Run(k.Name, func(b *testing.B) {
			c := newCounter(b, k).(*vectorCounter)
			if c.wide == nil {
				benchmarkLongestStep(b, c.narrow, windowColumns)
			} else {
				benchmarkLongestStep(b, c.wide, queens.MaxN)
			}
		})
	}
}

func benchmarkLongestStep[T word](b *testing.B, s *search[T], columns int) {
	rows := make([]Row, columns)
	for i := range rows {
		rows[i].Gap = 1
	}
	rows[0].Allow = uint32(1<<uint(columns) - 1)
	s.prepare(rows, rows[0].Allow)
	for b.Loop() {
		s.clear()
		from, to := &s.queues[0], &s.queues[1]
		from.n = highWater + laneCount
		s.chosen[0](from, to, &s.masks[0], true)
	}
}

// The generator has the same offsets in internal/asm/layout.go.
func TestLayout(t *testing.T) {
	var narrow queue[uint16]
	var wide queue[uint32]
	var masks rowMasks
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"16-bit lanes", unsafe.Offsetof(narrow.lanes), 0},
		{"16-bit cols", unsafe.Offsetof(narrow.cols), 2 * 4 * 128},
		{"16-bit left", unsafe.Offsetof(narrow.left), 2 * (4*128 + 4064)},
		{"16-bit right", unsafe.Offsetof(narrow.right), 2 * (4*128 + 2*4064)},
		{"16-bit n", unsafe.Offsetof(narrow.n), 2 * (4*128 + 3*4064)},
		{"32-bit lanes", unsafe.Offsetof(wide.lanes), 0},
		{"32-bit cols", unsafe.Offsetof(wide.cols), 4 * 4 * 128},
		{"32-bit left", unsafe.Offsetof(wide.left), 4 * (4*128 + 4064)},
		{"32-bit right", unsafe.Offsetof(wide.right), 4 * (4*128 + 2*4064)},
		{"32-bit n", unsafe.Offsetof(wide.n), 4 * (4*128 + 3*4064)},
		{"nextRows", unsafe.Offsetof(masks.nextRows), 4},
		{"last", unsafe.Offsetof(masks.last), 4 * 6},
		{"columns", unsafe.Offsetof(masks.columns), 4 * 7},
		{"shifts", unsafe.Offsetof(masks.shifts), 4 * 8},
		{"vectors", unsafe.Offsetof(masks.vectors), 128},
		{"size of masks", unsafe.Sizeof(masks), 128 + 20*64},
		{"size of a 16-bit queue, in parts of cache lines", unsafe.Sizeof(narrow) % 64, 0},
		{"size of a 32-bit queue, in parts of cache lines", unsafe.Sizeof(wide) % 64, 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

// A vector kernel calls its assembly. A right count does not show that, because a search in plain
// Go would count right too.
func TestAssemblyIsEntered(t *testing.T) {
	for _, k := range laneKernels() {
		for _, n := range []int{10, 20, 28} {
			c, b, calls := newCounter(t, k).(*vectorCounter), queens.FullBoard(n), 0
			if c.narrow != nil {
				c.narrow.instructionSet = countingCalls(c.narrow.instructionSet, &calls)
			}
			if c.wide != nil {
				c.wide.instructionSet = countingCalls(c.wide.instructionSet, &calls)
			}
			prefixes := []queens.Prefix{{}}
			if n > 12 {
				prefixes = deepPrefixes(&b, 9, 200)
			}
			count(t, c, &b, prefixes)
			if calls == 0 {
				t.Errorf("n = %d: %s counts without a step", n, k.Name)
			}
		}
	}
}

// countingCalls returns the instruction set with steps that count their calls.
func countingCalls[T word](set *instructionSet[T], calls *int) *instructionSet[T] {
	counting := func(f step[T]) step[T] {
		if f == nil {
			return nil
		}
		return func(from, to *queue[T], masks *rowMasks, flush bool) uint64 {
			*calls++
			return f(from, to, masks, flush)
		}
	}
	wrapped := *set
	wrapped.steps = slices.Clone(set.steps)
	for i := range wrapped.steps {
		s := &wrapped.steps[i]
		s.dense, s.gaps = counting(s.dense), counting(s.gaps)
	}
	return &wrapped
}

// A search ticks for each residue, also for one that needs no step. Each prefix of this batch has
// its own residue.
func TestPollsWithManyResidues(t *testing.T) {
	b := queens.FullBoard(32)
	b.Allow[20] = 3 << 16 // all prefixes attack these squares
	var prefixes []queens.Prefix
	for left := range uint32(1 << 16) {
		if left>>12&3 == 3 && len(prefixes) < 2000 {
			prefixes = append(prefixes, queens.Prefix{Row: 16, Cols: 1<<16 - 1, Left: left})
		}
	}
	for _, k := range laneKernels() {
		c := newCounter(t, k).(*vectorCounter)
		if c.narrow == nil {
			continue
		}
		if got := count(t, c, &b, prefixes); got != 0 {
			t.Errorf("%s counts %d, want 0", k.Name, got)
		}
		if c.ticks < uint(len(prefixes)) {
			t.Errorf("%s: %d ticks for %d residues", k.Name, c.ticks, len(prefixes))
		}
	}
}

// A kernel counts in 16-bit lanes if at most maxOuter outer columns need a queen, else in 32-bit
// lanes.
func TestChosenLanes(t *testing.T) {
	for _, k := range vectorKernels() {
		c := newCounter(t, k).(*vectorCounter)
		if c.narrow == nil {
			continue
		}
		widest := windowColumns + maxOuter
		for n, narrow := range map[int]bool{8: true, 16: true, 17: true, widest: true, widest + 1: false,
			28: false} {
			b := queens.FullBoard(n)
			c.Start(&b, []queens.Prefix{{}})
			if p, states := c.Take(); c.isNarrow(&p, states) != narrow {
				t.Errorf("%s, n = %d: in 16-bit lanes %v, want %v", k.Name, n, !narrow, narrow)
			}
		}
	}
}

// Every kernel with lanes counts the same as generic, with up to eight outer columns.
func TestLanesAgreeOnEverySide(t *testing.T) {
	reference := newCounter(t, generic)
	for n := 12; n <= windowColumns+8; n++ {
		b := queens.FullBoard(n)
		prefixes := deepPrefixes(&b, 9, 200)
		want := count(t, reference, &b, prefixes)
		if want == 0 {
			t.Errorf("n = %d: no completion", n)
		}
		for _, k := range laneKernels() {
			if got := count(t, newCounter(t, k), &b, prefixes); got != want {
				t.Errorf("n = %d: %s counts %d, want %d", n, k.Name, got, want)
			}
		}
	}
}
