// Package recount counts a task in a process of its own, on all cores: a task that kills processes, by a kernel in
// assembly or a lack of memory, kills only that one. The coordinator's recounts are the only judge of workers, see
// docs/correctness.md.
package recount

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Command is the name of the subcommand that [Run] starts. It is for no person.
const Command = "recount-task"

// Task is what is counted, and how.
type Task struct {
	Board    queens.Board    `json:"allow"`
	Prefixes []queens.Prefix `json:"prefixes"`
	Kernel   string          `json:"kernel"`
	Deeper   bool            `json:"deeper"` // place one row more before the search: another way to the same count
	Threads  int             `json:"threads"`
}

// answer is a line of the child: the steps of its search so far, or the count.
type answer struct {
	Pulse uint64  `json:"pulse,omitempty"`
	Count *uint64 `json:"count,omitempty"`
}

// stalled is how long the search of a child may show no progress. A kernel does so every few milliseconds; the machine may
// be busy.
const stalled = 2 * time.Minute

// Run counts a task in a new process of this program. The error says how that process ended.
func Run(ctx context.Context, t Task) (uint64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	job, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, Command)
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe() // stays open: its end tells the child that this process has ended
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, fmt.Errorf("start %s %s: %w", program, Command, err)
	}
	watch := time.AfterFunc(stalled, func() { stop(fmt.Errorf("its search made no progress for %v", stalled)) })
	defer watch.Stop()
	_, failed := in.Write(append(job, '\n'))
	count, readErr := read(out, func() { watch.Reset(stalled) })
	if err := cmd.Wait(); err != nil || failed != nil || readErr != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		return 0, fmt.Errorf("a recount by kernel %s: %w %s", t.Kernel, errors.Join(context.Cause(ctx), err, failed, readErr), said[max(0, len(said)-200):])
	}
	return count, nil
}

// read reads the lines of a child to its count.
func read(out io.Reader, progress func()) (count uint64, err error) {
	var last uint64
	var found *uint64
	decoder := json.NewDecoder(out)
	for {
		var a answer
		if err := decoder.Decode(&a); err != nil {
			if errors.Is(err, io.EOF) && found != nil {
				return *found, nil
			}
			return 0, fmt.Errorf("its answer: %w", err)
		}
		if a.Pulse != last || a.Count != nil {
			last = a.Pulse
			progress()
		}
		found = a.Count
	}
}

// Serve is the child. It reads a task from in and counts it. It writes its progress to out every second, and the count at the
// end. It ends early when in is closed, because then the process that started it has ended.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("standard input has no task: %w", err)
	}
	var t Task
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, reader)
		stop(errors.New("the process that asked for the recount has ended"))
	}()
	var pulse atomic.Uint64
	lines := json.NewEncoder(out)
	var count uint64
	done := make(chan error, 1)
	go func() {
		var err error
		count, err = Count(ctx, &t, &pulse)
		done <- err
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return lines.Encode(answer{Count: &count})
		case <-tick.C:
			if err := lines.Encode(answer{Pulse: pulse.Load()}); err != nil {
				return err
			}
		}
	}
}

// Count counts a task in this process on t.Threads threads.
func Count(ctx context.Context, t *Task, pulse *atomic.Uint64) (uint64, error) {
	k, err := kernel.Choose(t.Kernel)
	if err != nil {
		return 0, err
	}
	if err := t.Board.Validate(); err != nil {
		return 0, err
	}
	if err := queens.ValidatePrefixes(&t.Board, 0, t.Prefixes); err != nil {
		return 0, err
	}
	prefixes := t.Prefixes
	if t.Deeper {
		prefixes = deeper(&t.Board, prefixes)
	}
	threads := max(1, min(t.Threads, len(prefixes)))
	var total atomic.Uint64
	group, ctx := errgroup.WithContext(ctx)
	for thread := range threads {
		group.Go(func() error {
			return k.WithCounter(func(c kernel.Counter) error {
				part := prefixes[thread*len(prefixes)/threads : (thread+1)*len(prefixes)/threads]
				if len(part) == 0 {
					return nil
				}
				n, err := c.Count(ctx, &t.Board, part, pulse)
				total.Add(n)
				return err
			})
		})
	}
	err = group.Wait()
	return total.Load(), err
}

// deeper returns the prefixes with a queen on one row more, in every way. Whole solutions stay.
func deeper(b *queens.Board, prefixes []queens.Prefix) (below []queens.Prefix) {
	for _, p := range prefixes {
		if p.Row == b.N {
			below = append(below, p)
			continue
		}
		for free := p.Free(b); free != 0; free &= free - 1 {
			below = append(below, p.Place(b, free&-free))
		}
	}
	return below
}
