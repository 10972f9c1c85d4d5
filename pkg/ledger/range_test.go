package ledger_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"nqueens/pkg/run"
)

// Goroutines that read ranges of a ledger at once, with a cursor and by key, all see what one of all tasks
// yields of them.
func TestReadRangesAtOnce(t *testing.T) {
	const tasks, readers = 3000, 4
	l := create(t, t.TempDir(), tasks)
	rng := rand.New(rand.NewPCG(1, 2))
	var batch []run.Result
	for task := range uint64(tasks) {
		if rng.IntN(10) > 0 {
			batch = append(batch, result(task, rng.Uint64(), 1))
		}
	}
	accept(t, l, position(1), batch...)
	var all []run.Result
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	var group sync.WaitGroup
	for reader := range readers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(reader)))
			for range 50 {
				first := rng.Uint64N(tasks)
				end := first + rng.Uint64N(tasks)
				var got []run.Result
				for r, err := range l.Range(first, end) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, r)
				}
				var want []run.Result
				for _, r := range all {
					if r.Task >= first && r.Task < end {
						want = append(want, r)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d results from task %d to %d, want %d", len(got), first, end, len(want))
				}
				got, err := l.Results(first, make([]run.Result, 0, 5))
				want = want[:0]
				for task := first; len(want) < 5 && l.Has(task); task++ {
					i, _ := slices.BinarySearchFunc(all, task, func(r run.Result, task uint64) int { return int(r.Task) - int(task) })
					want = append(want, all[i])
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("results of task %d: %+v (error %v), want %+v", first, got, err, want)
				}
			}
		})
	}
	group.Wait()
}
