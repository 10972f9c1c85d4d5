package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Export writes all tasks of the ledger at path, in order, each as a line of JSON: see
// [queens.ExportedTask]. A task that is not done has no count. While a coordinator counts, Export
// writes what the ledger has when Export begins. If ctx ends, Export returns context.Cause(ctx).
// Other errors come from [ledger.Load] or w, or say that this program does not make the tasks of
// the manifest.
func Export(ctx context.Context, path string, w io.Writer) error {
	s, _, err := ledger.Load(path)
	if err != nil {
		return err
	}
	m := &s.Header().Manifest
	index, err := split.Check(ctx, m, nil)
	if err != nil {
		return err
	}
	seconds, err := secondsOf(path, s)
	if err != nil {
		return err
	}
	return split.InOrder(ctx, index, func(tasks []queens.Task) ([]byte, error) {
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		for _, task := range tasks {
			weight := m.Classes[m.ClassOf(task.ID)].Weight
			line := queens.Exported(&task, weight)
			if c, done := countOf(s, task.ID); done {
				line.Count, line.User, line.Machine, line.Kernel = &c.Count, c.Machine.User, c.Machine.Name,
					c.Kernel
				line.Seconds = math.Round(float64(seconds[task.ID])*1e6) / 1e6
			}
			if err := encoder.Encode(line); err != nil {
				return nil, err
			}
		}
		return lines.Bytes(), nil
	}, func(lines []byte) error {
		_, err := w.Write(lines)
		return err
	})
}

// countOf returns a recorded count that equals the outcome of a task, and whether the task is done.
// It prefers the count of a worker to a recount. It leaves out the counts of banned machines, but
// not their recounts: a verdict holds even if its recounts are void.
func countOf(s *ledger.State, task uint64) (count ledger.Count, done bool) {
	o := s.Task(task)
	for _, c := range s.Counts(task) {
		if o.Done && c.Count == o.Count && (c.Recount || !c.Void) && (!done || count.Recount) {
			count, done = c, true
		}
	}
	return count, done
}

// secondsOf returns the search time of each task: an equal part of the time of the result from
// which [countOf] takes the count.
func secondsOf(path string, s *ledger.State) ([]float32, error) {
	seconds := make([]float32, s.Header().Manifest.Tasks)
	return seconds, ledger.Read(path, func(r ledger.Record) error {
		if r, ok := r.(*ledger.Result); ok && r.Validate(uint64(len(seconds))) == nil {
			for task := r.First; task < r.End(); task++ {
				c, done := countOf(s, task)
				if done && !c.Recount && c.Machine == r.Machine && c.Kernel == r.Kernel &&
					c.Count == r.Counts[task-r.First] {
					seconds[task] = float32(r.Searched.Seconds() / float64(r.Tasks))
				}
			}
		}
		return nil
	})
}
