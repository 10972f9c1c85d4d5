package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// recountReport is what is printed of each task.
type recountReport struct {
	Task    uint64  `json:"task"`
	Count   string  `json:"count"`
	Seconds float64 `json:"seconds"`
	Kernel  string  `json:"kernel"`
	// Agrees says whether the count is that of the line, where the line has one.
	Agrees *bool `json:"agrees,omitempty"`
}

// line is a line of the input on its way through recount.
type line struct {
	subtotal queens.ExportedTask
	count    uint64
	elapsed  time.Duration
	// counted gets one value: nil when count and elapsed are set, or why not.
	counted chan error
}

// recount counts the tasks of in again, a [queens.Subtotal] a line, and writes a report
// on each to out, in the same order. It holds a few tasks a thread, however many there
// are. It ends early with the first line that is none, with the cause of ctx, or with an
// error of in or out. Where counts differ from those of their lines, the error wraps
// [queens.ErrContradiction].
func recount(ctx context.Context, in io.Reader, out io.Writer, k kernel.Kernel, threads int) error {
	ctx, stop := context.WithCancel(ctx)
	lines, todo := make(chan *line, 4*threads), make(chan *line)
	// Nobody waits for the reader: to read from a terminal or a pipe can't be called
	// off. It ends after a read, or with the process.
	go readLines(ctx, in, lines, todo)
	var counting sync.WaitGroup
	for range threads {
		counting.Go(func() { countLines(ctx, k, todo) })
	}
	err := reportLines(ctx, lines, out, k.Name)
	stop()
	counting.Wait()
	return err
}

// maxLine bounds the length of a line in bytes: that of the largest task has less than
// a million.
const maxLine = 4 << 20

// readLines passes each line on, to be counted and to be reported.
func readLines(ctx context.Context, in io.Reader, lines, todo chan<- *line) {
	defer close(todo)
	defer close(lines)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for number := 1; ; number++ {
		l := &line{counted: make(chan error, 1)}
		more := scanner.Scan()
		err := scanner.Err()
		if more {
			err = json.Unmarshal(scanner.Bytes(), &l.subtotal)
		}
		if err != nil {
			l.counted <- fmt.Errorf("line %d: %w", number, err)
			send(ctx, lines, l)
			return
		}
		if !more || !send(ctx, lines, l) || !send(ctx, todo, l) {
			return
		}
	}
}

// send reports whether the line was taken before ctx ended.
func send(ctx context.Context, to chan<- *line, l *line) bool {
	select {
	case to <- l:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive returns the next line, or nil when there is none before ctx ends.
func receive(ctx context.Context, from <-chan *line) *line {
	select {
	case l := <-from:
		return l
	case <-ctx.Done():
		return nil
	}
}

// countLines counts on one thread, until there is no more to count or ctx ends.
func countLines(ctx context.Context, k kernel.Kernel, todo <-chan *line) {
	counter := k.New()
	var pulse atomic.Uint64
	for l := receive(ctx, todo); l != nil; l = receive(ctx, todo) {
		task, err := l.subtotal.Task()
		if err == nil {
			start := time.Now()
			l.count, err = counter.Count(ctx, &task.Board, task.Prefixes, &pulse)
			l.elapsed = time.Since(start)
		}
		l.counted <- err
	}
}

// reportLines writes the reports, in the order of the lines.
func reportLines(ctx context.Context, lines <-chan *line, out io.Writer, kernelName string) error {
	var differ differences
	reports := json.NewEncoder(out)
	for l := receive(ctx, lines); l != nil; l = receive(ctx, lines) {
		var err error
		select {
		case err = <-l.counted:
		case <-ctx.Done(): // it may never be counted
			err = context.Cause(ctx)
		}
		if err == nil {
			err = reports.Encode(l.report(kernelName, &differ))
		}
		if err != nil {
			return errors.Join(err, differ.err())
		}
	}
	return errors.Join(context.Cause(ctx), differ.err())
}

// report returns what is to be said of a line that was counted, and notes a difference.
func (l *line) report(kernelName string, differ *differences) recountReport {
	r := recountReport{
		Task: l.subtotal.ID, Count: strconv.FormatUint(l.count, 10), Seconds: l.elapsed.Seconds(), Kernel: kernelName,
	}
	if l.subtotal.Counted {
		agrees := l.count == l.subtotal.Count
		r.Agrees = &agrees
		if !agrees {
			differ.add(l)
		}
	}
	return r
}

// maxNamed bounds the tasks that an error names.
const maxNamed = 5

// differences are the tasks whose counts differ from those of their lines.
type differences struct {
	number uint64
	named  []string
}

func (d *differences) add(l *line) {
	d.number++
	if len(d.named) < maxNamed {
		d.named = append(d.named, fmt.Sprintf("task %d of run %s has %d solutions, its line says %d",
			l.subtotal.ID, l.subtotal.Run, l.count, l.subtotal.Count))
	}
}

// err returns nil where there are none.
func (d *differences) err() error {
	if d.number == 0 {
		return nil
	}
	named := strings.Join(d.named, "; ")
	if more := d.number - uint64(len(d.named)); more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("%w: %s", queens.ErrContradiction, named)
}
