package worker

import (
	"fmt"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker/core"
)

// kernels returns what each searcher counts with.
func (w *Worker) kernels() count.Kernels {
	return count.Kernels{Prefixes: w.cfg.Kernel, Halves: w.cfg.Halves, Memory: w.cfg.Memory}
}

// searcher searches loads with its own counter until there are no more. If the counter fails, the
// worker leaves. searcher calls the function ready when it has its counter, or can't make one.
func (w *Worker) searcher(i int, ready func()) error {
	defer ready()
	by := w.kernels()
	return by.WithSearcher(func(s *count.Searcher) error {
		ready()
		if s.Note != "" {
			w.cfg.Log.Warn().Str("kernel", w.cfg.Kernel.Name).
				Str(humanize.LogField, w.cfg.line(s.Note)).Msg("note of the kernel")
		}
		for l := range w.loads[i] {
			results, err := w.search(s, i, l)
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
func (w *Worker) search(s *count.Searcher, i int, l load) ([]queens.Result, error) {
	var tasks []queens.Task
	for j := range l.Chunks {
		c := &l.Chunks[j]
		for k := range c.Tasks {
			tasks = append(tasks, c.Task(int(k)))
		}
	}
	w.sayMemory(tasks)
	counts, err := s.Count(l.ctx, tasks, &w.pulses[i])
	var results []queens.Result
	for j := range l.Chunks {
		c := &l.Chunks[j]
		if n := min(int(c.Tasks), len(counts)); n > 0 {
			results = append(results, result(c, tasks[:n], counts[:n]))
			tasks, counts = tasks[n:], counts[n:]
		}
	}
	return results, err
}

// sayMemory logs how much memory the worker takes for row sets of a board, when it gets the first
// ones.
func (w *Worker) sayMemory(tasks []queens.Task) {
	if len(tasks) == 0 || tasks[0].Method() != queens.Halves {
		return
	}
	n := tasks[0].Board.N
	if w.rowSetsOf.Swap(int64(n)) == int64(n) {
		return
	}
	most, sets, threads := w.cfg.Memory.Of(n)
	text := fmt.Sprintf("row sets of n = %d take at most %s of memory: %s at a time, on %s", n,
		humanize.Bytes(most), humanize.Plural(sets, "row set"), humanize.Plural(threads, "thread"))
	w.cfg.Log.Info().Int("n", n).Uint64("memory", most).Int("sets", sets).Int("threads", threads).
		Str(humanize.LogField, w.cfg.line(text)).Msg("memory")
}

// result makes the result of a chunk from its first tasks and their counts.
func result(c *queens.Chunk, tasks []queens.Task, counts []queens.TaskCount) queens.Result {
	r := queens.Result{
		Range: c.Range, Ticket: c.Ticket,
		Counted: queens.Range{First: c.First, Tasks: uint64(len(counts))},
		Counts:  make([]uint64, len(counts)), Kernel: counts[0].Kernel,
	}
	hashes := make([]uint64, len(counts))
	for i, count := range counts {
		hashes[i] = tasks[i].Hash()
		r.Counts[i] = count.Count
		r.Searched += count.Elapsed
	}
	r.Hash = queens.HashOfRange(hashes)
	return r
}
