package count

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

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

// RecountLines counts exported tasks again, on that many threads. It reads a [queens.ExportedTask] from each line of in, and
// writes a [Recounted] for each to out, as JSON lines in the same order. It holds as many tasks as [Each] does. It ends early
// with the first line that is not a task, with the cause of ctx's end, or with an error of in or out. If counts differ from
// those of their lines, the error wraps [queens.ErrContradiction] and names the first.
func RecountLines(ctx context.Context, in io.Reader, out io.Writer, k kernel.Kernel, threads int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lines, read := make(chan queens.ExportedTask), make(chan error, 1)
	// Nothing waits for the reader: reading from a terminal or a pipe can't be cancelled. It ends after the read, or with
	// the process.
	go func() {
		read <- readLines(ctx, in, lines)
		close(lines)
	}()
	var held sync.Map // lines that are not reported, by index
	tasks := func(yield func(queens.Task) bool) {
		for index := 0; ; index++ {
			select {
			case l, ok := <-lines:
				held.Store(index, l)
				if !ok || !yield(queens.Task{ID: l.Task, Board: l.Board, Prefixes: l.Prefixes}) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
	var wrong int // counts that differ from those of their lines
	var first string
	reports := json.NewEncoder(out)
	err := Each(ctx, k, threads, tasks, func(c Counted) error {
		l, _ := held.LoadAndDelete(c.Index)
		r := Recounted{Task: c.Task.ID, Count: strconv.FormatUint(c.Count, 10), Seconds: c.Elapsed.Seconds(), Kernel: c.Kernel}
		if want := l.(queens.ExportedTask).Count; want != nil {
			agrees := c.Count == *want
			if r.Agrees = &agrees; !agrees && wrong == 0 {
				first = fmt.Sprintf("task %d has %d solutions, its line says %d", r.Task, c.Count, *want)
			}
			if !agrees {
				wrong++
			}
		}
		err := reports.Encode(r)
		if err != nil {
			stop(err) // ends tasks, which may be waiting for input
		}
		return err
	})
	select {
	case badLine := <-read:
		err = errors.Join(err, badLine)
	default: // the reader still waits for input
	}
	if wrong > 1 {
		first += fmt.Sprintf("; and %d more", wrong-1)
	}
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %s", queens.ErrContradiction, first))
	}
	return err
}

// maxLine bounds the length of a line in bytes: the largest task has less than a million.
const maxLine = 4 << 20

// readLines sends the tasks of in until the end, the first line that is none, or the end of ctx.
func readLines(ctx context.Context, in io.Reader, lines chan<- queens.ExportedTask) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	number := 1
	for ; scanner.Scan(); number++ {
		var l queens.ExportedTask
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return fmt.Errorf("line %d: exported task can't be read: %.200w", number, err) // it may quote a literal of any length
		}
		if _, err := l.Search(); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	return nil
}
