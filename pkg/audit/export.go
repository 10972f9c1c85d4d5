package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Export writes all tasks of the ledger at path, in order, each as a line of JSON: see [queens.ExportedTask]. A task that is
// not done has no count. Beside a coordinator that counts it writes what the ledger has when it begins. The error is one of
// [ledger.Load] or of w, or the cause of ctx's end; or it says that this program does not make the tasks of the manifest.
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
	a, err := attribute(path, s)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	err = split.InOrder(ctx, index, func(tasks []queens.Task) ([]byte, error) {
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		for _, task := range tasks {
			line := queens.ExportedTask{Task: task.ID, Weight: m.Classes[m.ClassOf(task.ID)].Weight, Board: task.Board, Prefixes: task.Prefixes}
			a.enter(&line)
			if err := encoder.Encode(line); err != nil {
				return nil, err
			}
		}
		return lines.Bytes(), nil
	}, func(lines []byte) error {
		_, err := out.Write(lines)
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// attribution says whose count each task has.
type attribution struct {
	counts  []attributed // by task
	sources []source
}

type source struct{ machine, kernel string }

type attributed struct {
	count   uint64
	source  uint32 // index in sources, 0 for none
	seconds float32
}

// attribute finds a result of each task that is done whose count the run has. A task that only the coordinator
// has counted has no machine.
func attribute(path string, s *ledger.State) (*attribution, error) {
	tasks := s.Header().Manifest.Tasks
	a := &attribution{counts: make([]attributed, tasks), sources: make([]source, 1)}
	ids := make(map[source]uint32)
	id := func(machine, kernel string) uint32 {
		of := source{machine, kernel}
		if ids[of] == 0 {
			ids[of] = uint32(len(a.sources))
			a.sources = append(a.sources, of)
		}
		return ids[of]
	}
	err := ledger.Read(path, func(r ledger.Record) error {
		result, ok := r.(*ledger.Result)
		if !ok || s.Banned(result.Machine) {
			return nil
		}
		by := id(result.Machine, result.Kernel)
		for i, count := range result.Counts {
			task := result.First + uint64(i)
			if o := s.Task(task); o.Done && o.Count == count && a.counts[task].source == 0 {
				a.counts[task] = attributed{count, by, float32(result.Searched.Seconds() / float64(len(result.Counts)))}
			}
		}
		return nil
	})
	for task := range tasks {
		if a.counts[task].source != 0 {
			continue
		}
		if o := s.Task(task); o.Done {
			a.counts[task] = attributed{count: o.Count, source: id("", s.Counts(task)[0].Kernel)}
		}
	}
	return a, err
}

// enter enters the count of a task, if it is done.
func (a *attribution) enter(line *queens.ExportedTask) {
	of := &a.counts[line.Task]
	if of.source != 0 {
		line.Count, line.Seconds = &of.count, math.Round(float64(of.seconds)*1e6)/1e6
		line.Machine, line.Kernel = a.sources[of.source].machine, a.sources[of.source].kernel
	}
}
