//go:build opencl && linux

package opencl

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// firstDevice returns the kernel of the first device. Without one the test fails: a skipped test
// would look like a device that counts right.
func firstDevice(t testing.TB) kernel.Kernel {
	t.Helper()
	devices, err := Devices()
	if err != nil {
		t.Fatalf("these tests need a device (Debian: apt-get install pocl-opencl-icd "+
			"ocl-icd-libopencl1): %v", err)
	}
	t.Logf("device: %+v", devices[0])
	k, err := Kernel("opencl:0")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// bothKernels returns the kernels of the first device: the one that is named opencl:0, and
// opencl-warps:0.
func bothKernels(t testing.TB) []kernel.Kernel {
	t.Helper()
	warps, err := Kernel(WarpsPrefix + "0")
	if err != nil {
		t.Fatal(err)
	}
	return []kernel.Kernel{firstDevice(t), warps}
}

// eachKernel calls a test with both kernels of the first device.
func eachKernel(t *testing.T, test func(t *testing.T, k kernel.Kernel)) {
	t.Helper()
	for _, k := range bothKernels(t) {
		t.Run(k.Name, func(t *testing.T) { test(t, k) })
	}
}

// The first device passes the suite that every kernel must pass.
func TestKernel(t *testing.T) {
	for _, k := range bothKernels(t) {
		kerneltest.Run(t, k, exceptions...)
	}
}

func FuzzKernel(f *testing.F) { kerneltest.Fuzz(f, bothKernels(f)...) }

// The device passes the self-test that a worker makes at its start.
func TestSelfTest(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernel.Kernel) {
		if err := kernel.SelfTest(t.Context(), k); err != nil {
			t.Error(err)
		}
	})
}

// All totals up to n = 14 with all symmetries are the published ones.
func TestTotals(t *testing.T) {
	last := 14
	if testing.Short() {
		last = 11
	}
	eachKernel(t, func(t *testing.T, k kernel.Kernel) {
		for n := 1; n <= last; n++ {
			known, _ := queens.KnownTotal(n)
			for _, s := range []queens.Symmetry{queens.Full, queens.Mirror, queens.None} {
				got, err := count.Run(t.Context(),
					count.Job{Method: queens.Prefixes, N: n, Symmetry: s, Kernel: k, Threads: 1})
				if err != nil || got.Cmp(known) != 0 {
					t.Errorf("n=%d %s: %v (error %v), want %v", n, s, got, err, known)
				}
			}
		}
	})
}

// CountTasks returns the count of each task, however many tasks and boards there are. Tasks may
// have prefixes of mixed depths, prefixes without a completion, or no prefixes.
func TestCountTasks(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernel.Kernel) {
		c := kerneltest.NewCounter(t, k)
		reference := kerneltest.NewCounter(t, kernel.Reference())
		rng := rand.New(rand.NewPCG(1, 0))
		for _, n := range []struct{ tasks, boards int }{
			{0, 1}, {1, 1}, {2, 1}, {2, 2}, {100, 1}, {100, 2}, {300, 40}, {maxTasks, 1}, {maxTasks + 3, 3},
		} {
			tasks := randomTasks(rng, n.tasks, n.boards)
			var pulse atomic.Uint64
			got, err := kernel.CountTasks(t.Context(), c, tasks, &pulse)
			if err != nil {
				t.Fatal(err)
			}
			var sum uint64
			for i := range tasks {
				want, err := reference.Count(t.Context(), &tasks[i].Board, tasks[i].Prefixes, &pulse)
				if err != nil {
					t.Fatal(err)
				}
				if got[i].Count != want {
					t.Fatalf("%+v: task %d of %d prefixes counts %d, want %d", n, i, len(tasks[i].Prefixes),
						got[i].Count, want)
				}
				sum += want
			}
			if n.tasks >= 100 && sum == 0 {
				t.Errorf("%+v: tasks without a completion test nothing", n)
			}
		}
	})
}

// randomTasks returns tasks of several boards, in random order. Each board has a row that allows a
// single square.
func randomTasks(rng *rand.Rand, tasks, boards int) []queens.Task {
	all := make([]queens.Board, boards)
	for i := range all {
		all[i] = queens.FullBoard(11 + rng.IntN(3))
		all[i].Allow[7] = 1 << rng.IntN(all[i].N)
	}
	split := make([]queens.Task, tasks)
	for i := range split {
		split[i].Board = all[rng.IntN(boards)]
		for range rng.IntN(6) {
			p := randomPrefix(rng, &split[i].Board, 3+rng.IntN(split[i].Board.N-2))
			split[i].Prefixes = append(split[i].Prefixes, p)
		}
	}
	return split
}

// randomPrefix returns a prefix of at most the given number of rows.
func randomPrefix(rng *rand.Rand, b *queens.Board, rows int) queens.Prefix {
	var p queens.Prefix
	for p.Row < rows && p.Free(b) != 0 {
		free := p.Free(b)
		for range rng.IntN(b.N) {
			if free&(free-1) != 0 {
				free &= free - 1
			}
		}
		p = p.Place(b, free&-free)
	}
	return p
}

// states returns how many queens the search of a full board places below a state. It places none if
// the row after the state's own has no free square.
func states(b *queens.Board, p queens.Prefix) (sum uint64) {
	if p.Row == b.N || p.Row < b.N-1 && b.Allow[p.Row+1]&^(p.Cols|p.Left<<1|p.Right>>1) == 0 {
		return 0
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		sum += 1 + states(b, p.Place(b, free&-free))
	}
	return sum
}

// A lane places a queen in each step, unless it is idle. A counter's only lane is never idle; of 64
// lanes, some are.
func TestSteps(t *testing.T) {
	firstDevice(t)
	board := queens.FullBoard(8)
	want := states(&board, queens.Prefix{})
	for _, s := range []settings{{lanes: 1, group: 1},
		{lanes: 1, group: 1, minBudget: 70, maxBudget: 70}, {lanes: 64, group: 32}} {
		c, err := open(0, s)
		if err != nil {
			t.Fatal(err)
		}
		c.room = 0
		mustCount(t, c, board.N)
		if got := c.room; got < want || (c.lanes == 1) != (got == want) {
			t.Errorf("%d lanes: the launches had room for %d steps, and there are %d", c.lanes, got, want)
		}
		mustClose(t, c)
	}
}

// A canceled CountTasks returns no count, and the next call counts right.
func TestCountTasksCanceled(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernel.Kernel) {
		c := kerneltest.NewCounter(t, k)
		ctx, cancel := cancelAfterPulse(t)
		tasks := slices.Repeat(
			[]queens.Task{{Board: queens.FullBoard(20), Prefixes: []queens.Prefix{{}}}}, 5)
		if counts, err := kernel.CountTasks(ctx, c, tasks, cancel); err == nil || len(counts) > 0 {
			t.Errorf("counts %v and the error %v after the cancellation", counts, err)
		}
		mustCount(t, c, 10)
	})
}

// Counts are right if two open rows are as far apart as they can be. The open rows have column -1
// here and at least two squares; all other rows have a single one.
func TestLongestGaps(t *testing.T) {
	var counters []kernel.Counter
	for _, k := range bothKernels(t) {
		counters = append(counters, kerneltest.NewCounter(t, k))
	}
	reference := kerneltest.NewCounter(t, kernel.Reference())
	for _, columns := range [][]int{
		{-1, 14, 16, 13, 9, 27, 21, 18, 26, 0, 30, 10, 2, 29, 6, 11, 3, 24, 20, 28, 17, 1, 7, 23, 12, 31,
			5, 25, 22, 15, 19, -1},
		{-1, -1, 0, 10, 29, 5, 3, 15, 18, 25, 1, 4, 17, 28, 9, 16, 30, 26, 31, 6, 22, 24, 2, 13, 23, 7,
			12, 21, 11, 8, 14, -1},
		{-1, 11, 14, 17, 21, 8, 12, 0, 15, 22, 31, 26, 10, 4, 25, 23, 18, 9, 1, 13, 29, 7, 2, 24, 28, 20,
			3, 6, 16, 19, -1, -1},
	} {
		board := queens.FullBoard(32)
		for row, column := range columns {
			if column >= 0 {
				board.Allow[row] = 1 << column
			}
		}
		var pulse atomic.Uint64
		want, err := reference.Count(t.Context(), &board, []queens.Prefix{{}}, &pulse)
		if err != nil || want < 2 {
			t.Fatalf("the reference counts %d (error %v)", want, err)
		}
		for i, c := range counters {
			if got, err := c.Count(t.Context(), &board, []queens.Prefix{{}}, &pulse); got != want ||
				err != nil {
				t.Errorf("kernel %d, open rows %v: %d (error %v), want %d", i, columns, got, err, want)
			}
		}
	}
}
