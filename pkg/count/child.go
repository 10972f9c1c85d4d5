package count

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

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
}

// stalled is how long the search of a child may show no progress. A kernel does so every few milliseconds; the machine may
// be busy.
const stalled = 2 * time.Minute

// output is what a child writes: an empty line a second while its search shows progress, then the count.
type output struct {
	text  bytes.Buffer
	watch *time.Timer // ends the child
}

func (o *output) Write(part []byte) (int, error) {
	o.watch.Reset(stalled)
	return o.text.Write(part)
}

// InChild counts the task on all cores in a new process of this program: a task that kills processes, by a kernel in assembly or
// a lack of memory, kills only that one. The error says how that process ended.
func (r *Recount) InChild(ctx context.Context) (count uint64, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, program, RecountCommand)
	var stderr bytes.Buffer
	out := output{watch: time.AfterFunc(stalled, func() { stop(fmt.Errorf("its search made no progress for %v", stalled)) })}
	defer out.watch.Stop()
	cmd.Stdout, cmd.Stderr = &out, &stderr
	in, err := cmd.StdinPipe() // stays open: its end tells the child that this process has ended
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, fmt.Errorf("start %s %s: %w", program, RecountCommand, err)
	}
	failed := json.NewEncoder(in).Encode(r)
	if err = errors.Join(cmd.Wait(), failed); err == nil {
		_, err = fmt.Sscan(out.text.String(), &count)
	}
	if err != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		return 0, fmt.Errorf("a recount by kernel %s: %w %s", r.Kernel, errors.Join(context.Cause(ctx), err), said[max(0, len(said)-200):])
	}
	return count, nil
}

// ServeRecount is the child. It reads a task from in and counts it. It writes to out as [Recount.InChild] expects. It ends early
// when in is closed, because then the process that started it has ended.
func ServeRecount(ctx context.Context, in io.Reader, out io.Writer) error {
	var r Recount
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("standard input has no task: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, in)
		stop(errors.New("the process that asked for the recount has ended"))
	}()
	var pulse atomic.Uint64
	var count, last uint64
	var err error
	done := make(chan struct{})
	go func() {
		count, err = r.Run(ctx, &pulse)
		close(done)
	}()
	for tick := time.Tick(time.Second); ; {
		select {
		case <-done:
			if err == nil {
				_, err = fmt.Fprintln(out, count)
			}
			return err
		case <-tick:
			if now := pulse.Load(); now != last {
				last = now
				_, _ = fmt.Fprintln(out) // in is closed too, if nobody reads
			}
		}
	}
}

// Run counts the task in this process, on all cores.
func (r *Recount) Run(ctx context.Context, pulse *atomic.Uint64) (total uint64, err error) {
	k, err := kernel.Choose(r.Kernel)
	if err == nil {
		err = cmp.Or(r.Board.Validate(), queens.ValidatePrefixes(&r.Board, 0, r.Prefixes))
	}
	if err != nil {
		return 0, err
	}
	prefixes := r.Prefixes
	if r.Deeper {
		prefixes = deeper(&r.Board, prefixes)
	}
	threads := max(1, min(runtime.GOMAXPROCS(0), len(prefixes)))
	parts := func(yield func(int, queens.Task) bool) {
		for part := range slices.Chunk(prefixes, max(1, (len(prefixes)+threads-1)/threads)) {
			if !yield(0, queens.Task{Board: r.Board, Prefixes: part}) {
				return
			}
		}
	}
	err = Each(ctx, k, threads, pulse, parts, func(_ int, c queens.TaskCount) error {
		total += c.Count
		return nil
	})
	return total, err
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
