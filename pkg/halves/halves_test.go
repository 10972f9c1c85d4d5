package halves

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// newCounter returns a counter. If the parameter parts is true, its lists are so short that a list
// comes in many parts.
func newCounter(t testing.TB, n int, k Kernel, parts bool) *Counter {
	t.Helper()
	return crewCounter(t, n, k, 0, parts)
}

// shorten makes lists so short that a list comes in many parts.
func shorten(c *Counter) {
	const masks = roundMasks + 3000
	c.masks = c.masks[:3*masks]
}

// count counts row sets and checks that the pulse rises.
func count(t testing.TB, c *Counter, first, sets uint64) uint64 {
	t.Helper()
	var pulse atomic.Uint64
	sum, err := c.Count(t.Context(), first, sets, &pulse)
	if err != nil {
		t.Fatal(err)
	}
	if sets > 0 && pulse.Load() == 0 {
		t.Error("Count does not increment the pulse")
	}
	return sum
}

func recount(t testing.TB, n int, first, sets uint64) uint64 {
	t.Helper()
	c := kerneltest.NewCounter(t, kernel.Available()[0])
	sum, err := Recount(t.Context(), c, n, first, sets, new(atomic.Uint64))
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Each row set of small boards has the weighted sum that docs/halves.md defines. Count and Recount
// find it.
func TestEveryRowSet(t *testing.T) {
	for n := 1; n <= 11; n++ {
		sums := weightedSums(n)
		for _, k := range Available() {
			c := newCounter(t, n, k, false)
			for number := range Sets(n) {
				s := Set(n, number)
				if got := count(t, c, number, 1); got != sums[s] {
					t.Errorf("n = %d, rows %b: kernel %s counts %d, want %d", n, s, k.Name, got, sums[s])
				}
			}
		}
		for number := range Sets(n) {
			s := Set(n, number)
			if got := recount(t, n, number, 1); got != sums[s] {
				t.Errorf("n = %d, rows %b: the recount is %d, want %d", n, s, got, sums[s])
			}
		}
	}
}

// weightedSums looks at each solution of the board of side n, and returns the weighted sum of each
// row set.
func weightedSums(n int) map[RowSet]uint64 {
	sums := map[RowSet]uint64{}
	for columns := range oracle.Boards(n) {
		rows, inverted := RowSet(0), RowSet(0)
		long, inEast, centre := 0, false, false
		for row, column := range columns {
			east := column >= n/2
			if east {
				rows |= 1 << row
				inverted |= 1 << (n - 1 - row)
			}
			switch main, anti := row == column, row+column == n-1; {
			case main && anti:
				centre = true
			case main || anti:
				long++
				inEast = inEast || east
			}
		}
		if inEast {
			continue
		}
		weight := []uint64{1, 2, 4}[long]
		switch {
		case long > 0:
		case n%2 == 0 || centre:
			weight = exchangedBy(n, columns)
		case rows>>(n/2)&1 == 1:
			weight = 0
		default:
			weight = 2
		}
		if rows != inverted {
			weight *= 2
		}
		sums[rows] += weight
	}
	return sums
}

// exchangedBy looks for the first row on whose queen, and on that of the row's mirror image, a
// left-right reflection has the same effect. It returns 2 if the reflection moves both to the west,
// 0 if it moves both to the east, and 1 if there is no such row. A queen in the middle column
// stays.
func exchangedBy(n int, columns []int) uint64 {
	for row, column := range columns {
		mirrored := columns[n-1-row]
		inEast, mirroredInEast := 2*column >= n, 2*mirrored >= n
		if 2*row+1 == n || inEast != mirroredInEast {
			continue
		}
		if inEast {
			return 2
		}
		return 0
	}
	return 1
}

// The weighted sums of all row sets add up to the published total.
func TestTotals(t *testing.T) {
	most := 16
	if testing.Short() {
		most = 12
	}
	if testkit.Full() {
		most = 18
	}
	for i, k := range Available() {
		for n := 1; n <= most; n++ {
			if i > 0 && n > 14 && !testkit.Full() {
				break // the other kernels take longer
			}
			known, _ := queens.KnownTotal(n)
			for _, parts := range []bool{false, true} {
				if parts && n > 13 {
					continue
				}
				if got := count(t, newCounter(t, n, k, parts), 0, Sets(n)); got != known.Uint64() {
					t.Errorf("n = %d, kernel %s, parts %v: the total is %d, want %d", n, k.Name, parts, got, known)
				}
			}
		}
	}
}

// The depth-first search of turned boards finds the published totals too.
func TestRecountTotals(t *testing.T) {
	for n := 1; n <= 13; n++ {
		known, _ := queens.KnownTotal(n)
		if got := recount(t, n, 0, Sets(n)); got != known.Uint64() {
			t.Errorf("n = %d: the total is %d, want %d", n, got, known)
		}
	}
}

// Random row sets of large boards have the same weighted sum by both methods, also if the lists of
// half-boards come in parts.
func TestLargeRowSets(t *testing.T) {
	sides := []int{18, 19, 20, 21, 22, 23}
	if testing.Short() {
		sides = sides[:3]
	}
	for _, n := range sides {
		var numbers []uint64
		for seed := range uint64(20) {
			numbers = append(numbers, rand.New(rand.NewPCG(seed, uint64(n))).Uint64N(Sets(n)))
		}
		for _, number := range testkit.Sample(t, max(1, 24-n), numbers) {
			want := recount(t, n, number, 1)
			for _, k := range Available() {
				for _, parts := range []bool{false, true} {
					if parts && n > 20 {
						continue // takes long
					}
					if got := count(t, newCounter(t, n, k, parts), number, 1); got != want {
						t.Errorf("n = %d, row set %d, kernel %s, parts %v: %d, by depth-first search %d",
							n, number, k.Name, parts, got, want)
					}
				}
			}
		}
	}
}

// The sum of a range is the sum of its row sets, for both methods. An empty range has the sum 0.
func TestRanges(t *testing.T) {
	const n, first, sets = 12, 100, 20
	c := newCounter(t, n, generic, false)
	want := uint64(0)
	for number := uint64(first); number < first+sets; number++ {
		want += count(t, c, number, 1)
	}
	if got := count(t, c, first, sets); got != want {
		t.Errorf("the sum of a range is %d, want %d", got, want)
	}
	if got := recount(t, n, first, sets); got != want {
		t.Errorf("the recount of a range is %d, want %d", got, want)
	}
	if got := count(t, c, Sets(n), 0); got != 0 {
		t.Errorf("the sum of no row set is %d", got)
	}
}

// Ranges that do not exist are refused.
func TestMissingRowSets(t *testing.T) {
	const n = 10
	c := newCounter(t, n, generic, false)
	for _, r := range []struct{ first, sets uint64 }{
		{Sets(n), 1}, {0, Sets(n) + 1}, {1, math.MaxUint64}, {math.MaxUint64, 1},
	} {
		if _, err := c.Count(t.Context(), r.first, r.sets, new(atomic.Uint64)); err == nil {
			t.Errorf("Count takes %d row sets from number %d", r.sets, r.first)
		}
		d := kerneltest.NewCounter(t, kernel.Reference())
		if _, err := Recount(t.Context(), d, n, r.first, r.sets, new(atomic.Uint64)); err == nil {
			t.Errorf("Recount takes %d row sets from number %d", r.sets, r.first)
		}
	}
}

// A sum that passes 64 bits is an error.
func TestOverflow(t *testing.T) {
	for _, x := range []struct {
		sum, weight, count, want uint64
		fits                     bool
	}{
		{1, 4, 5, 21, true},
		{3, 4, math.MaxUint64/4 - 1, math.MaxUint64 - 4, true},
		{0, 2, 1 << 63, 0, false},
		{math.MaxUint64, 1, 1, 0, false},
	} {
		if got, err := add(x.sum, x.weight, x.count); got != x.want || (err == nil) != x.fits {
			t.Errorf("%d + %d·%d is %d (error %v)", x.sum, x.weight, x.count, got, err)
		}
	}
}

// A canceled Count returns the cause and no sum, soon. After that, the counter counts right.
func TestCancel(t *testing.T) {
	reason := errors.New("not wanted")
	c := newCounter(t, 22, Available()[0], false)
	want := count(t, c, 5, 1)
	for range 5 {
		ctx, cancel := context.WithCancelCause(t.Context())
		var pulse atomic.Uint64
		ended := make(chan error)
		go func() {
			sum, err := c.Count(ctx, 0, Sets(22), &pulse)
			if sum != 0 {
				err = fmt.Errorf("the sum is %d beside the error %w", sum, err)
			}
			ended <- err
		}()
		testkit.Eventually(t, "pulses", func() bool { return pulse.Load() > 300 })
		cancel(reason)
		atCancel := pulse.Load()
		select {
		case err := <-ended:
			if !errors.Is(err, reason) {
				t.Errorf("error %v, want %v", err, reason)
			}
		case <-time.After(testkit.Stall):
			t.Fatal("Count does not end with its context")
		}
		if late := pulse.Load() - atCancel; late > 2 {
			t.Errorf("%d pulses after the cancellation", late)
		}
	}
	if got := count(t, c, 5, 1); got != want {
		t.Errorf("after a cancellation the counter counts %d, want %d", got, want)
	}
}

// A counter allocates no more than it may when it is made, and nothing when it counts.
func TestMemory(t *testing.T) {
	for n := 1; n <= 24; n++ {
		for _, limit := range []uint64{LeastMemory(n, 0), LeastMemory(n, 0)*3/2 + 1000, Memory(n, 0)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := NewCounter(Config{N: n, Kernel: generic, Memory: limit})
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > limit {
				t.Errorf("n = %d: a counter with %d bytes allocates %d (error %v)", n, limit, got, err)
			}
			if n > 14 {
				continue
			}
			var pulse atomic.Uint64
			counting := func() { _, _ = c.Count(t.Context(), 0, min(3, Sets(n)), &pulse) }
			if allocs := testing.AllocsPerRun(2, counting); allocs != 0 {
				t.Errorf("n = %d: %v allocations in a Count", n, allocs)
			}
		}
	}
	if got := Memory(24, 0); got > 30e6 {
		t.Errorf("n = 24 takes %d bytes a thread, want at most 30 MB", got)
	}
}

// A list is sorted by no more bits than two passes can sort by, also if it is as long as the
// longest one of [Memory].
func TestDepth(t *testing.T) {
	for length := 1; length <= 1<<30; length *= 2 {
		for _, l := range []int{length - 1, length} {
			if d := depthOf(l); d < 1 || d > 2*digitBits {
				t.Errorf("lists of %d are sorted by %d bits", l, d)
			}
		}
	}
}

// A configuration with a wrong side, no kernel or too little memory is refused, and the error says
// what is wrong.
func TestValidate(t *testing.T) {
	for text, cfg := range map[string]Config{
		"side":   {N: queens.MaxN + 1, Kernel: generic},
		"kernel": {N: 20},
		"memory": {N: 20, Kernel: generic, Memory: LeastMemory(20, 0) - 1},
	} {
		if _, err := NewCounter(cfg); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: error %v, want one about %s", cfg, err, text)
		}
	}
}

// Recount refuses counts that can't be right: a board with more squares has no fewer solutions, and
// the differences are numbers of solutions.
func TestRecountOfBrokenKernel(t *testing.T) {
	broken := func(counts ...uint64) error {
		_, err := Recount(t.Context(), &scripted{counts: counts}, 8, 0, 1, new(atomic.Uint64))
		return err
	}
	// 9-7-6+4 = 0 solutions with two queens on long diagonals
	if err := broken(9, 7, 6, 4); err != nil {
		t.Errorf("possible counts: %v", err)
	}
	for _, counts := range [][]uint64{{9, 3, 6, 4}, {9, 7, 3, 4}, {8, 7, 6, 4}, {3, 4, 4, 4}} {
		if err := broken(counts...); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("counts %d: error %v", counts, err)
		}
	}
}

// scripted returns given counts.
type scripted struct {
	kernel.Counter
	counts []uint64
}

func (s *scripted) Count(
	context.Context, *queens.Board, []queens.Prefix, *atomic.Uint64,
) (uint64, error) {
	n := s.counts[0]
	s.counts = s.counts[1:]
	return n, nil
}
