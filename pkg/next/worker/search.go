package worker

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// searcher searches loads with a counter of its own until there are no more, or its counter fails: then the worker leaves.
func (w *Worker) searcher(i int, ready func()) {
	began := false
	err := w.cfg.Kernel.WithCounter(func(counter kernel.Counter) error {
		began = true
		ready()
		for l := range w.loads[i] {
			results, err := w.search(counter, i, l)
			if stopped := l.ctx.Err() != nil; err == nil || stopped {
				w.input(func(c *Core, now time.Duration) { c.Searched(now, i, results) })
				continue
			}
			w.input(func(c *Core, now time.Duration) {
				c.Leave(now)
				c.Searched(now, i, results)
			})
			return fmt.Errorf("kernel %s: %w", w.cfg.Kernel.Name, err)
		}
		return nil
	})
	if err != nil {
		w.failure <- err
	}
	if !began {
		ready()
	}
}

// search counts the tasks of a load, and returns the results of those that were counted.
func (w *Worker) search(counter kernel.Counter, i int, l load) ([]queens.Result, error) {
	tasks := l.Chunks[0].Prefixes
	for _, c := range l.Chunks[1:] {
		tasks = append(slices.Clip(tasks), c.Prefixes...)
	}
	counts, err := kernel.CountTasks(l.ctx, counter, &l.Chunks[0].Board, tasks, &w.pulses[i])
	var results []queens.Result
	for j := range l.Chunks {
		c := &l.Chunks[j]
		n := min(len(c.Prefixes), len(counts))
		results = append(results, resultsOf(l.Run, c, counts[:n])...)
		counts = counts[n:]
	}
	return results, err
}

// resultsOf returns the results of the first tasks of a chunk: one, or several if several kernels have counted.
func resultsOf(run string, c *queens.Chunk, counts []queens.TaskCount) (results []queens.Result) {
	var hashes []uint64
	for i, count := range counts {
		if i == 0 || count.Kernel != counts[i-1].Kernel {
			results = append(results, queens.Result{Range: c.Range, Ticket: c.Ticket, Kernel: count.Kernel, Counted: queens.Range{First: c.First + uint64(i)}})
			hashes = hashes[:0]
		}
		r := &results[len(results)-1]
		task := queens.Task{Run: run, ID: c.First + uint64(i), Board: c.Board, Prefixes: c.Prefixes[i]}
		hashes = append(hashes, task.Hash())
		r.Counted.Tasks++
		r.Counts = append(r.Counts, count.Count)
		r.Searched += count.Elapsed
		r.Hash = queens.HashOfRange(hashes)
	}
	return results
}
