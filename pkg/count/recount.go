package count

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Recounted is the report on an exported task that was counted again.
type Recounted struct {
	Task    uint64  `json:"task"`             // number of the task
	Count   string  `json:"count"`            // its count now
	Seconds float64 `json:"seconds"`          // time of the search
	Kernel  string  `json:"kernel"`           // kernel that searched
	Agrees  *bool   `json:"agrees,omitempty"` // whether the exported count is the same; absent if there is none
}

// RecountLines counts exported tasks again, on that many threads. It reads a
// [queens.ExportedTask] from each line of in, and writes a [Recounted] for each to out, as
// JSON lines in the same order. It holds a few tasks per thread, or a few times as many
// as the kernel counts at once, however many there are. It ends early with the first line that is not
// a task, with the cause of ctx's end, or with an error of in or out. If counts differ from those of
// their lines, the error wraps [queens.ErrContradiction].
func RecountLines(ctx context.Context, in io.Reader, out io.Writer, k kernel.Kernel, threads int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lines := make(chan line)
	// Nothing waits for the reader: reading from a terminal or a pipe can't be cancelled. It
	// ends after the read, or with the process.
	go readLines(ctx, in, lines)

	var badLine error
	held := make(chan line, 4*threads*max(1, k.AtOnce)) // taken and not reported
	tasks := func(yield func(queens.Task) bool) {
		for {
			select {
			case l, ok := <-lines:
				if badLine = l.err; !ok || badLine != nil || !send(ctx, held, l) || !yield(l.task) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}

	var wrong int           // counts that differ from those of their lines
	var mismatches []string // the first of them
	reports := json.NewEncoder(out)
	err := Each(ctx, k, threads, tasks, func(c Counted) error {
		l := <-held
		r := l.report(&c)
		if r.Agrees != nil && !*r.Agrees {
			if wrong++; wrong <= maxReported {
				mismatches = append(mismatches, fmt.Sprintf("task %d has %d solutions, its line says %d",
					l.exported.Task, c.Count, *l.exported.Count))
			}
		}
		err := reports.Encode(r)
		if err != nil {
			stop(err) // ends tasks, which may be waiting for input
		}
		return err
	})
	if more := wrong - len(mismatches); more > 0 {
		mismatches = append(mismatches, fmt.Sprintf("and %d more", more))
	}
	err = errors.Join(err, badLine)
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %s", queens.ErrContradiction, strings.Join(mismatches, "; ")))
	}
	return err
}

// line is a line of the input: a task, or an error.
type line struct {
	exported queens.ExportedTask
	task     queens.Task
	err      error
}

// maxLine bounds the length of a line in bytes: the largest task has less than a million.
const maxLine = 4 << 20

// readLines sends the lines of in until the end, the first error, or the end of ctx.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) {
	defer close(lines)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for number := 1; ; number++ {
		var l line
		more := scanner.Scan()
		if l.err = scanner.Err(); more {
			if l.err = json.Unmarshal(scanner.Bytes(), &l.exported); l.err != nil {
				l.err = fmt.Errorf("exported task can't be read: %.200w", l.err) // it may quote a literal of any length
			}
		}
		if more && l.err == nil {
			l.task, l.err = l.exported.Search()
		}
		if l.err != nil {
			l.err = fmt.Errorf("line %d: %w", number, l.err)
		}
		if !more && l.err == nil || !send(ctx, lines, l) || l.err != nil {
			return
		}
	}
}

// send reports whether v was taken before ctx ended.
func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// report returns the report on a counted line.
func (l *line) report(c *Counted) Recounted {
	r := Recounted{
		Task: l.task.ID, Count: strconv.FormatUint(c.Count, 10), Seconds: c.Elapsed.Seconds(), Kernel: c.Kernel,
	}
	if want := l.exported.Count; want != nil {
		agrees := c.Count == *want
		r.Agrees = &agrees
	}
	return r
}

// maxReported bounds the tasks that an error names.
const maxReported = 5
