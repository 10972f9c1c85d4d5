package count_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// Both methods count the same for random tasks of large boards, of one row set each. With
// NQUEENS_TEST_FULL=1 it takes about 20 minutes of processor time.
func TestMethodsAgreeOnRandomTasks(t *testing.T) {
	by := count.Kernels{Prefixes: kernel.Available()[0]}
	for _, sample := range []struct{ n, tasks, short int }{{20, 1000, 8}, {22, 1000, 1}} {
		rng := rand.New(rand.NewPCG(uint64(sample.n), 1))
		numbers := make([]uint64, sample.tasks)
		for i := range numbers {
			numbers[i] = rng.Uint64N(halves.Sets(sample.n))
		}
		var first, second time.Duration
		for _, number := range testkit.Sample(t, sample.short, numbers) {
			task := queens.Task{Board: queens.FullBoard(sample.n),
				Sets: queens.RowSets{First: number, Number: 1}}
			one, err := count.One(t.Context(), by, &task)
			if err != nil {
				t.Fatal(err)
			}
			other, err := count.ByDepthFirst(t.Context(), by.Prefixes, &task)
			if err != nil || other.Count != one.Count {
				t.Errorf("n = %d, row set %d: %d by %s, %d by depth-first search, %v", sample.n, number,
					one.Count, one.Kernel, other.Count, err)
			}
			first, second = first+one.Elapsed, second+other.Elapsed
		}
		t.Logf("n = %d, %d row sets: %v, by depth-first search %v", sample.n, len(numbers), first, second)
	}
}
