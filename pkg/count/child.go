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

// RecountCommand is the name of the subcommand that [Recount.InChild] starts. It is not meant for people.
const RecountCommand = "recount-task"

// Recount says which task a coordinator counts itself, and how. Recounts decide which workers are wrong: see
// docs/correctness.md.
type Recount struct {
	Board    queens.Board    `json:"allow"`
	Prefixes []queens.Prefix `json:"prefixes"`
	Kernel   string          `json:"kernel"`
	Deeper   bool            `json:"deeper"` // place queens on one more row before the search: another way to the same count
}

// stalled is how long a child process may search without progress. A kernel makes progress every few milliseconds, but the
// machine may be busy.
const stalled = 2 * time.Minute

// output receives what a child process writes: an empty line each second while its search makes progress, then the count.
type output struct {
	text  bytes.Buffer
	watch *time.Timer // ends the child
}

func (o *output) Write(part []byte) (int, error) {
	o.watch.Reset(stalled)
	return o.text.Write(part)
}

// InChild counts the task on all cores in a new process of this program. A fault of the kernel or a lack of memory ends only
// the child process. The error says how the child ended.
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
	in, err := cmd.StdinPipe() // stays open: when it closes, the child knows that this process has ended
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
		said = said[max(0, len(said)-200):]
		return 0, fmt.Errorf("a recount by kernel %s: %w %s", r.Kernel, errors.Join(context.Cause(ctx), err), said)
	}
	return count, nil
}

// ServeRecount is what the child runs. It reads a task from its input, counts it, and writes to its output what
// [Recount.InChild] expects. It ends early when its input is closed, because the process that started it has then ended.
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
	go func() { // ends with the process
		var last uint64
		for range time.Tick(time.Second) {
			if now := pulse.Load(); now != last {
				last = now
				_, _ = fmt.Fprintln(out) // if nobody reads the output, the input is closed too
			}
		}
	}()
	count, err := r.Run(ctx, &pulse)
	if err == nil {
		_, err = fmt.Fprintln(out, count)
	}
	return err
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

// deeper extends the prefixes by a queen on one more row, in every possible way. A prefix of all rows stays as it is.
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
