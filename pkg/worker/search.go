package worker

import (
	"fmt"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker/core"
)

// searcher searches loads with its own counter until there are no more. If the counter fails, the worker leaves. searcher calls
// the function ready when it has its counter, or can't make one.
func (w *Worker) searcher(i int, ready func()) error {
	defer ready()
	return w.cfg.Kernel.WithCounter(func(counter kernel.Counter) error {
		ready()
		for l := range w.loads[i] {
			results, err := w.search(counter, i, l)
			failed := err != nil && l.ctx.Err() == nil // it was not stopped
			w.input(func(c *core.Core, now time.Duration) {
				if failed {
					c.Leave(now)
				}
				c.Searched(now, i, results)
			})
			if failed {
				return fmt.Errorf("kernel %s: %w", w.cfg.Kernel.Name, err)
			}
		}
		return nil
	})
}

// search counts the tasks of a load, and returns the results of those that were counted.
func (w *Worker) search(counter kernel.Counter, i int, l load) ([]queens.Result, error) {
	var tasks []queens.Task
	for j := range l.Chunks {
		for _, prefixes := range l.Chunks[j].Prefixes {
			tasks = append(tasks, queens.Task{Board: l.Chunks[j].Board, Prefixes: prefixes})
		}
	}
	counts, err := kernel.CountTasks(l.ctx, counter, tasks, &w.pulses[i])
	var results []queens.Result
	for j := range l.Chunks {
		c := &l.Chunks[j]
		if n := min(len(c.Prefixes), len(counts)); n > 0 {
			results = append(results, w.result(l.Run, c, counts[:n]))
			counts = counts[n:]
		}
	}
	return results, err
}

// result makes the result of a chunk from the counts of its first tasks.
func (w *Worker) result(run string, c *queens.Chunk, counts []queens.TaskCount) queens.Result {
	r := queens.Result{
		Range: c.Range, Ticket: c.Ticket, Counted: queens.Range{First: c.First, Tasks: uint64(len(counts))},
		Counts: make([]uint64, len(counts)), Kernel: w.cfg.Kernel.Name,
	}
	hashes := make([]uint64, len(counts))
	for i, count := range counts {
		task := queens.Task{Run: run, ID: c.First + uint64(i), Board: c.Board, Prefixes: c.Prefixes[i]}
		hashes[i] = task.Hash()
		r.Counts[i] = count.Count
		r.Searched += count.Elapsed
	}
	r.Hash = queens.HashOfRange(hashes)
	return r
}
