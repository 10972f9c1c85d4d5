package count

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

// RecountCommand is the name of the subcommand that [Recount.InChild] starts. It is for no person.
const RecountCommand = "recount-task"

// Recount is a task of which a coordinator makes a recount, the only judge of workers, and how: see docs/correctness.md.
type Recount struct {
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

// InChild counts the task in a new process of this program: a task that kills processes, by a kernel in assembly or a lack of
// memory, kills only that one. The error says how that process ended.
func (r *Recount) InChild(ctx context.Context) (uint64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	job, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, RecountCommand)
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
		return 0, fmt.Errorf("start %s %s: %w", program, RecountCommand, err)
	}
	watch := time.AfterFunc(stalled, func() { stop(fmt.Errorf("its search made no progress for %v", stalled)) })
	defer watch.Stop()
	_, failed := in.Write(append(job, '\n'))
	count, readErr := readAnswer(out, func() { watch.Reset(stalled) })
	if err := cmd.Wait(); err != nil || failed != nil || readErr != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		return 0, fmt.Errorf("a recount by kernel %s: %w %s", r.Kernel, errors.Join(context.Cause(ctx), err, failed, readErr), said[max(0, len(said)-200):])
	}
	return count, nil
}

// readAnswer reads the lines of a child to its count.
func readAnswer(out io.Reader, progress func()) (count uint64, err error) {
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

// ServeRecount is the child. It reads a task from in and counts it. It writes its progress to out every second, and the count at the
// end. It ends early when in is closed, because then the process that started it has ended.
func ServeRecount(ctx context.Context, in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("standard input has no task: %w", err)
	}
	var r Recount
	if err := json.Unmarshal(line, &r); err != nil {
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
		count, err = r.Run(ctx, &pulse)
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

// Run counts the task in this process on r.Threads threads.
func (r *Recount) Run(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
	k, err := kernel.Choose(r.Kernel)
	if err != nil {
		return 0, err
	}
	if err := r.Board.Validate(); err != nil {
		return 0, err
	}
	if err := queens.ValidatePrefixes(&r.Board, 0, r.Prefixes); err != nil {
		return 0, err
	}
	prefixes := r.Prefixes
	if r.Deeper {
		prefixes = deeper(&r.Board, prefixes)
	}
	threads := max(1, min(r.Threads, len(prefixes)))
	var total atomic.Uint64
	group, ctx := errgroup.WithContext(ctx)
	for thread := range threads {
		group.Go(func() error {
			return k.WithCounter(func(c kernel.Counter) error {
				part := prefixes[thread*len(prefixes)/threads : (thread+1)*len(prefixes)/threads]
				if len(part) == 0 {
					return nil
				}
				n, err := c.Count(ctx, &r.Board, part, pulse)
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
