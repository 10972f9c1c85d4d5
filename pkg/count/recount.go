package count

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// Recounted is the report on an exported task that was counted again.
type Recounted struct {
	Task    uint64  `json:"task"`    // number of the task
	Count   string  `json:"count"`   // its count now
	Seconds float64 `json:"seconds"` // time of the search
	Kernel  string  `json:"kernel"`  // kernel that searched
	// whether the exported count is the same; absent if the line has no count
	Agrees *bool `json:"agrees,omitempty"`
}

// RecountLines counts exported tasks again, on the given number of threads. It reads a
// [queens.ExportedTask] from each line of its input, and writes a [Recounted] for each task to its
// output, as JSON lines in the same order. It holds as many tasks as [Each] does. It returns early,
// with an error, at the first line that is not a task, when ctx ends, or if the input, the output
// or the kernel fails. If counts differ from the counts in their lines, the error wraps
// [queens.ErrContradiction] and names the first such task.
func RecountLines(ctx context.Context, in io.Reader, out io.Writer, by Kernels, threads int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// A read from a terminal or a pipe can't be canceled, so nothing waits for this goroutine. It ends
	// after its read, or with the process.
	lines, to := io.Pipe()
	go func() {
		_, err := io.Copy(to, in)
		_ = to.CloseWithError(err) // never fails
	}()
	context.AfterFunc(ctx, func() { _ = lines.Close() }) // never fails
	var badLine error
	tasks := func(yield func(*queens.ExportedTask, queens.Task) bool) {
		badLine = readTasks(lines, yield)
	}
	var wrong int    // counts that differ from the counts in their lines
	var first string // what differs in the first of them
	reports := json.NewEncoder(out)
	err := Each(ctx, by, threads, new(atomic.Uint64), tasks,
		func(l *queens.ExportedTask, c queens.TaskCount) error {
			r := Recounted{Task: l.Task, Count: strconv.FormatUint(c.Count, 10),
				Seconds: c.Elapsed.Seconds(),
				Kernel:  c.Kernel}
			if l.Count != nil {
				r.Agrees = new(c.Count == *l.Count)
				if !*r.Agrees {
					wrong++
					first = cmp.Or(first,
						fmt.Sprintf("task %d has %d solutions, its line says %d", l.Task, c.Count, *l.Count))
				}
			}
			err := reports.Encode(r)
			if err != nil {
				stop(err) // ends the sequence of tasks, which may be waiting for input
			}
			return err
		})
	if !errors.Is(badLine, io.ErrClosedPipe) {
		err = errors.Join(err, badLine)
	}
	if wrong > 0 {
		err = errors.Join(err,
			fmt.Errorf("%w: counts that differ: %d; %s", queens.ErrContradiction, wrong, first))
	}
	return err
}

// maxLine is the greatest length of a line in bytes. The line of the largest task has less than a
// million bytes.
const maxLine = 4 << 20

// readTasks yields the task of each line. It returns an error at the first line that is not a task.
func readTasks(in io.Reader, yield func(*queens.ExportedTask, queens.Task) bool) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for number := 1; ; number++ {
		if !scanner.Scan() && scanner.Err() == nil {
			return nil
		}
		l := new(queens.ExportedTask)
		var task queens.Task
		err := cmp.Or(scanner.Err(), json.Unmarshal(scanner.Bytes(), l))
		if err == nil {
			task, err = l.Search()
		}
		if err != nil {
			return fmt.Errorf("line %d: %.200w", number, err) // err may quote a literal of any length
		}
		if !yield(l, task) {
			return nil
		}
	}
}
