package count

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// RecountCommand is the name of the subcommand that [Recount.InChild] starts. It is not meant for
// people.
const RecountCommand = "recount-task"

// Recount says which task a coordinator counts itself, and how. Recounts decide which workers are
// wrong: see docs/correctness.md.
type Recount struct {
	Task queens.ExportedTask `json:"task"`
	// Kernel is the name of a kernel as in a ledger. A task of the method halves may be counted by a
	// kernel of either method: by depth-first search, as [halves.Recount] says.
	Kernel string `json:"kernel"`
	// Deeper places queens on one more row before a depth-first search, which is another way to the
	// count.
	Deeper bool `json:"deeper"`
	// Memory is how many bytes a kernel of the method halves may take; 0 is no limit.
	Memory uint64 `json:"memory"`
}

// stalled is how long a child process may search without progress. A kernel makes progress every
// few milliseconds, but the machine may be busy.
const stalled = 2 * time.Minute

// started is the first line of a child. It has its threads and its task then, and begins to search.
const started = "started"

const (
	// startAgain is the time before the first attempt to start a child again. It doubles with
	// each attempt, up to startLast.
	startAgain = time.Second
	startLast  = time.Minute
)

// InChild counts the task on all cores, in a new process of the given image. A fault of the kernel
// or a lack of memory ends only the child process; the error says how it ended. A child that can't
// start shows nothing about the task: InChild calls say with the reason, and tries again until ctx
// ends. The error wraps [ErrReplaced] if the file of the image is another program by now.
func (r *Recount) InChild(
	ctx context.Context, image *Image, say func(error),
) (count uint64, err error) {
	for wait := startAgain; ; wait = min(2*wait, startLast) {
		count, began, err := r.inChild(ctx, image)
		if began || err == nil || errors.Is(err, ErrReplaced) || ctx.Err() != nil {
			return count, err
		}
		say(fmt.Errorf("can't start a recount, and tries again in %v: %w", wait, err))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// inChild counts the task in one child. It also reports whether the child has begun to search.
func (r *Recount) inChild(ctx context.Context, image *Image) (count uint64, began bool, err error) {
	program, err := image.program()
	if err != nil {
		return 0, false, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, program, RecountCommand)
	cmd.Args[0] = os.Args[0]
	var stderr bytes.Buffer
	out := output{watch: time.AfterFunc(stalled, func() {
		stop(fmt.Errorf("its search made no progress for %v", stalled))
	})}
	defer out.watch.Stop()
	cmd.Stdout, cmd.Stderr = &out, &stderr
	// stays open: when it closes, the child knows that this process has ended
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, false, fmt.Errorf("start %s %s: %w", program, RecountCommand, err)
	}
	failed := json.NewEncoder(in).Encode(r)
	err = errors.Join(cmd.Wait(), failed)
	count, began, unread := out.read()
	if err = cmp.Or(err, unread); err != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		said = said[max(0, len(said)-200):]
		err = fmt.Errorf("a recount by kernel %s: %w %s", r.Kernel, errors.Join(context.Cause(ctx), err),
			said)
		return 0, began, err
	}
	return count, true, nil
}

// output receives what a child process writes: that it has started, an empty line each second while
// its search makes progress, then the count.
type output struct {
	text  bytes.Buffer
	watch *time.Timer // ends the child
}

func (o *output) Write(part []byte) (int, error) {
	o.watch.Reset(stalled)
	return o.text.Write(part)
}

// read returns the count, and whether the search had begun.
func (o *output) read() (count uint64, began bool, err error) {
	words := strings.Fields(o.text.String())
	began = len(words) > 0 && words[0] == started
	if !began || len(words) != 2 {
		return 0, began, fmt.Errorf("its output is %.80q", o.text.String())
	}
	count, err = strconv.ParseUint(words[1], 10, 64)
	return count, began, err
}

// ServeRecount is what the child runs. It reads a task from its input, counts it, and writes to its
// output what [Recount.InChild] expects. It ends early when its input is closed, because the
// process that started it has then ended.
func ServeRecount(ctx context.Context, in io.Reader, out io.Writer) error {
	var r Recount
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("standard input has no task: %w", err)
	}
	startThreads()
	if _, err := fmt.Fprintln(out, started); err != nil {
		return err
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

// startThreads makes the system start all threads of the search. If the system has no room for
// them, the process dies here, before it has begun.
func startThreads() {
	var all sync.WaitGroup
	threads := runtime.GOMAXPROCS(0)
	all.Add(threads)
	for range threads {
		go func() {
			runtime.LockOSThread() // until the others have threads of their own
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		}()
	}
	all.Wait()
}

// Run counts the task in this process, on all cores.
func (r *Recount) Run(ctx context.Context, pulse *atomic.Uint64) (total uint64, err error) {
	task, err := r.Task.Search()
	if err != nil {
		return 0, err
	}
	threads := max(1, runtime.GOMAXPROCS(0)-1) // one core is left to the coordinator
	if queens.MethodOf(r.Kernel) == queens.Halves {
		return r.join(ctx, &task, threads, pulse)
	}
	k, err := kernel.Choose(r.Kernel)
	if err != nil {
		return 0, err
	}
	return r.search(ctx, &task, k, threads, pulse)
}

// search counts a task depth-first.
func (r *Recount) search(
	ctx context.Context, task *queens.Task, k kernel.Kernel, threads int, pulse *atomic.Uint64,
) (uint64, error) {
	c := &allCores{kernel: k, threads: threads}
	if r.Deeper {
		c.deeper = 1
	}
	if task.Method() == queens.Prefixes {
		return c.Count(ctx, &task.Board, task.Prefixes, pulse)
	}
	return halves.Recount(ctx, c, task.Board.N, task.Sets.First, task.Sets.Number, pulse)
}

// join counts a task of the method halves by a kernel of that method, each row set on one thread.
func (r *Recount) join(
	ctx context.Context, task *queens.Task, threads int, pulse *atomic.Uint64,
) (total uint64, err error) {
	k, err := halves.Choose(strings.TrimPrefix(r.Kernel, queens.HalvesPrefix))
	if err != nil {
		return 0, err
	}
	if task.Method() != queens.Halves {
		return 0, fmt.Errorf("kernel %s counts row sets, and the task has none", r.Kernel)
	}
	rowSets := func(yield func(int, queens.Task) bool) {
		for i := range task.Sets.Number {
			one := queens.RowSets{First: task.Sets.First + i, Number: 1}
			if !yield(0, queens.Task{Board: task.Board, Sets: one}) {
				return
			}
		}
	}
	memory := r.memory(task, threads)
	by := Kernels{Prefixes: kernel.Reference(), Halves: k, Memory: memory}
	err = Each(ctx, by, memory.threads, pulse, rowSets, func(_ int, c queens.TaskCount) error {
		var carry uint64
		total, carry = bits.Add64(total, c.Count, 0)
		if carry != 0 {
			return errors.New("the sum of the row sets passes 64 bits")
		}
		return nil
	})
	return total, err
}

// memory returns the memory of a recount by row sets, for up to the given number of threads. It is
// for no more threads than can count at a time: each of the others would wait, and its pulse would
// hide a search that makes no progress.
func (r *Recount) memory(task *queens.Task, threads int) *Memory {
	m := NewMemory(r.Memory, min(threads, int(task.Sets.Number)))
	_, _, busy := m.Of(task.Board.N)
	return NewMemory(r.Memory, busy)
}

// allCores is a [kernel.Counter] that divides each search among several threads.
type allCores struct {
	kernel  kernel.Kernel
	threads int
	deeper  int // rows by which it extends all prefixes
}

// prefixesOfThread is how many prefixes each thread should have: their searches differ in time.
const prefixesOfThread = 16

// Count counts as [kernel.Counter] says, but it allocates.
func (c *allCores) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (total uint64, err error) {
	for range c.deeper {
		prefixes = deeper(b, prefixes)
	}
	single := len(prefixes) == 1 // it is divided by its next rows
	for row := 0; single && row < b.N/2 && len(prefixes) < prefixesOfThread*c.threads; row++ {
		prefixes = deeper(b, prefixes)
	}
	if len(prefixes) == 0 {
		return 0, nil
	}
	threads := min(c.threads, len(prefixes))
	part := (len(prefixes) + threads - 1) / threads
	if single {
		part = 1
	}
	parts := func(yield func(int, queens.Task) bool) {
		for some := range slices.Chunk(prefixes, part) {
			if !yield(0, queens.Task{Board: *b, Prefixes: some}) {
				return
			}
		}
	}
	err = Each(ctx, Kernels{Prefixes: c.kernel}, threads, pulse, parts,
		func(_ int, c queens.TaskCount) error {
			total += c.Count
			return nil
		})
	return total, err
}

// Close has nothing to free.
func (c *allCores) Close() error { return nil }

// deeper extends the prefixes by a queen on one more row, in every possible way. A prefix of all
// rows stays as it is.
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
