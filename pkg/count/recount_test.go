package count_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// Reports come in the order of the lines, whichever search ends first. They name the kernel.
func TestReportsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks = 50
		var in, out bytes.Buffer
		for id := range uint64(tasks) {
			in.WriteString(exported(t, id, nil))
		}
		var calls atomic.Int64
		fake := newFake(func(context.Context) (uint64, error) {
			// The first call takes the longest, and each later one takes less.
			time.Sleep(time.Hour / time.Duration(calls.Add(1)))
			return 2, nil
		})
		if err := count.RecountLines(t.Context(), &in, &out, count.Kernels{Prefixes: fake.Kernel(t)},
			3); err != nil {
			t.Fatal(err)
		}
		reports := json.NewDecoder(&out)
		for id := range uint64(tasks) {
			var r count.Recounted
			if err := reports.Decode(&r); err != nil || r.Task != id || r.Count != "2" || r.Seconds == 0 ||
				r.Kernel != "fake" {
				t.Fatalf("report %d is %+v (error %v)", id, r, err)
			}
		}
	})
}

// While nobody reads the reports, a recount reads only a few lines for each thread, plus a buffer.
// Canceling the context ends the recount.
func TestRecountStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads = 2
		in := &endless{line: exported(t, 1, nil)}
		from, to := io.Pipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			ended <- count.RecountLines(ctx, in, to, count.Kernels{Prefixes: fakeKernel(t, instantly)},
				threads)
		}()
		synctest.Wait() // the first report is not read
		if limit := 16*threads + 8192/len(in.line); in.given > limit {
			t.Errorf("%d lines are read while no report is, want at most %d", in.given, limit)
		}
		reason := errors.New("stopped by the test")
		cancel(reason)
		_ = from.Close() // never fails, see io.Pipe
		if err := <-ended; !errors.Is(err, reason) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("error %v, want %v or %v", err, reason, io.ErrClosedPipe)
		}
	})
}

// A recount that is canceled waits neither for input nor for a search to complete.
func TestRecountEndsWithItsContext(t *testing.T) {
	for name, line := range map[string]string{"waiting": "", "searching": exported(t, 1, nil)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, typed := io.Pipe()
				reason := errors.New("stopped by the test")
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error)
				search := func(ctx context.Context) (uint64, error) {
					<-ctx.Done()
					return 0, context.Cause(ctx)
				}
				go func() {
					ended <- count.RecountLines(ctx, in, io.Discard,
						count.Kernels{Prefixes: fakeKernel(t, search)}, 2)
				}()
				if _, err := io.WriteString(typed, line); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				cancel(reason)
				if err := <-ended; !errors.Is(err, reason) {
					t.Errorf("error %v, want %v", err, reason)
				}
				_ = typed.Close() // ends the last read
			})
		})
	}
}

// The error says how many counts differ, and names the first such task.
func TestManyMismatches(t *testing.T) {
	var in, out bytes.Buffer
	wrong := uint64(3) // the right count is 2
	for id := range uint64(1000) {
		in.WriteString(exported(t, id, &wrong))
	}
	err := count.RecountLines(t.Context(), &in, &out,
		count.Kernels{Prefixes: fakeKernel(t, instantly)}, 2)
	if !errors.Is(err, queens.ErrContradiction) ||
		!strings.Contains(err.Error(), "differ: 1000; task ") || len(err.Error()) > 1000 {
		t.Errorf("error of %d bytes: %v", len(err.Error()), err)
	}
	if got := strings.Count(out.String(), `"agrees":false`); got != 1000 {
		t.Errorf("%d tasks are reported as different, want 1000", got)
	}
}

// If a line is longer than that of any task, or can't be decoded, the error is short and has the
// number of the line.
func TestLongLine(t *testing.T) {
	tooLong := &endless{line: strings.Repeat(" ", 1<<20)}
	longNumber := strings.NewReader(`{"task":7` + strings.Repeat("0", 1<<16) + "}")
	for _, line := range []io.Reader{tooLong, longNumber} {
		in := io.MultiReader(strings.NewReader(exported(t, 1, nil)), line)
		err := count.RecountLines(t.Context(), in, io.Discard,
			count.Kernels{Prefixes: fakeKernel(t, instantly)}, 2)
		if err == nil || !strings.Contains(err.Error(), "line 2: ") || len(err.Error()) > 500 {
			t.Errorf("error %v, want a short one about line 2", err)
		}
	}
}

// exported returns the line of a task: the empty prefix on the full board of side 4.
func exported(t *testing.T, id uint64, counted *uint64) string {
	t.Helper()
	line, err := json.Marshal(queens.ExportedTask{
		Task: id, Weight: 8, Board: queens.FullBoard(4), Prefixes: []queens.Prefix{{}}, Count: counted,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n", line)
}

// endless is a reader of the same line, repeated without end.
type endless struct {
	line  string
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	e.given++
	return copy(p, e.line), nil
}

func instantly(context.Context) (uint64, error) { return 2, nil }

// fakeSearch takes the place of a kernel's Count.
type fakeSearch func(ctx context.Context) (uint64, error)

func fakeKernel(t testing.TB, search fakeSearch) kernel.Kernel {
	return newFake(search).Kernel(t)
}

func newFake(search fakeSearch) *kerneltest.Fake {
	return &kerneltest.Fake{Count: func(ctx context.Context, _ *queens.Board, _ []queens.Prefix,
		_ *atomic.Uint64) (uint64, error) {
		return search(ctx)
	}}
}
