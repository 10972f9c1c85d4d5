package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
)

// What [Equivalent] searches: prefixes of a board that leave so many rows, which take a thread some
// 0.1 ms each, in tasks of a few, until a call takes long enough.
const (
	rateSide  = 18
	rateRows  = 14 // left
	rateTask  = 16 // prefixes
	rateTime  = 200 * time.Millisecond
	rateMost  = 1 << 20 // prefixes, which take 16 MiB
	rateFirst = 64
)

// MaxEquivalent bounds what [Equivalent] returns.
const MaxEquivalent = 1 << 12

// Equivalent measures how many threads with the kernel thread search as fast as one Counter of kernel
// device, from 1 to [MaxEquivalent]. That takes about a second, if nothing else uses either. The error
// is that of a kernel, or the cause of ctx's end.
func Equivalent(ctx context.Context, device, thread Kernel) (int, error) {
	fast, err := rate(ctx, device)
	if err != nil {
		return 0, err
	}
	slow, err := rate(ctx, thread)
	if err != nil {
		return 0, err
	}
	return int(min(max(math.Round(fast/slow), 1), MaxEquivalent)), nil
}

// rate returns how many prefixes a kernel counts in a second.
func rate(ctx context.Context, k Kernel) (perSecond float64, err error) {
	err = k.WithCounter(func(c Counter) error {
		board := queens.FullBoard(rateSide)
		var pulse atomic.Uint64
		count := func(tasks [][]queens.Prefix) error {
			_, err := CountTasks(ctx, c, &board, tasks, &pulse)
			return err
		}
		if err := count(sample(&board, rateFirst)); err != nil { // a driver may load its code in the first call
			return err
		}
		for prefixes := rateFirst; ; prefixes *= 2 {
			tasks := sample(&board, prefixes)
			start := time.Now()
			if err := count(tasks); err != nil {
				return err
			}
			if took := time.Since(start); took >= rateTime || prefixes == rateMost {
				perSecond = float64(prefixes) / max(took, 1).Seconds()
				return nil
			}
		}
	})
	return perSecond, err
}

// sample returns tasks with that number of prefixes, always the same.
func sample(b *queens.Board, prefixes int) (tasks [][]queens.Prefix) {
	rng := rand.New(rand.NewPCG(rateSide, rateRows))
	for range prefixes / rateTask {
		task := make([]queens.Prefix, 0, rateTask)
		for len(task) < rateTask {
			task = append(task, randomPrefix(rng, b, b.N-rateRows))
		}
		tasks = append(tasks, task)
	}
	return tasks
}
