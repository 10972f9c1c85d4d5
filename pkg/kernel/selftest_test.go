package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// Every kernel of this machine passes the self-test.
func TestCheck(t *testing.T) {
	for _, k := range kernel.Available() {
		if err := kernel.SelfTest(t.Context(), k); err != nil {
			t.Error(err)
		}
	}
}

// A kernel that is wrong for one side fails. The error names the kernel, the side and both numbers.
func TestCheckOfAWrongKernel(t *testing.T) {
	for n := 1; n <= kernel.SelfTestN; n++ {
		known, _ := queens.KnownTotal(n)
		err := kernel.SelfTest(t.Context(), offByOne(n))
		if err == nil {
			t.Errorf("a kernel that is wrong for n = %d passes", n)
			continue
		}
		for _, part := range []string{
			"kernel wrong", fmt.Sprintf("n = %d,", n), fmt.Sprintf(" %v:", known),
			fmt.Sprintf(" %d ", known.Uint64()+1),
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: does not say %q", err, part)
			}
		}
	}
}

// A kernel that is wrong only for wide boards fails.
func TestCheckOfAKernelWrongForWideBoards(t *testing.T) {
	for _, n := range []int{20, 28} {
		err := kernel.SelfTest(t.Context(), offByOne(n))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("n = %d,", n)) {
			t.Errorf("a kernel that is wrong for n = %d: error %v", n, err)
		}
	}
}

// A canceled self-test of any kernel returns the context.Cause of its context.
func TestCheckEndsWithItsContext(t *testing.T) {
	reason := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, k := range kernel.Available() {
		if err := kernel.SelfTest(ctx, k); !errors.Is(err, reason) {
			t.Errorf("kernel %s: error %v, want %v", k.Name, err, reason)
		}
	}
}

// offByOne returns a kernel that counts one solution too many on boards of side n.
func offByOne(n int) kernel.Kernel {
	return kernel.Kernel{Name: "wrong", New: func() (kernel.Counter, error) {
		right, err := kernel.Choose("generic")
		if err != nil {
			return nil, err
		}
		c, err := right.New()
		return wrongCounter{c, n}, err
	}}
}

type wrongCounter struct {
	kernel.Counter
	n int
}

func (w wrongCounter) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	found, err := w.Counter.Count(ctx, b, prefixes, pulse)
	if err == nil && b.N == w.n {
		found++
	}
	return found, err
}

// A kernel fails if it can't make a counter on this machine, or can't close it.
func TestCheckWithoutACounter(t *testing.T) {
	reason := errors.New("no such device")
	none := kerneltest.Fake{New: func() error { return reason }}
	if err := kernel.SelfTest(t.Context(), none.Kernel(t)); !errors.Is(err, reason) ||
		!strings.Contains(err.Error(), "kernel fake") {
		t.Errorf("New fails: error %v, want kernel fake and %v", err, reason)
	}
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	unclosed := kerneltest.Fake{CloseError: reason, Count: kerneltest.NewCounter(t, generic).Count}
	if err = kernel.SelfTest(t.Context(), unclosed.Kernel(t)); !errors.Is(err, reason) ||
		!strings.Contains(err.Error(), "kernel fake") {
		t.Errorf("Close fails: error %v, want kernel fake and %v", err, reason)
	}
}

// A kernel that counts many tasks at once fails its self-test if it mixes up their counts.
func TestSelfTestComparesTasks(t *testing.T) {
	reference := kerneltest.NewCounter(t, kernel.Reference())
	for name, place := range map[string]func(i int) int{
		"right":    func(i int) int { return i },
		"mixed up": func(i int) int { return i ^ 1 },
	} {
		countTasks := func(
			ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64, counts []uint64,
		) (n int, err error) {
			for i := range tasks {
				task := &tasks[min(place(i), len(tasks)-1)]
				if counts[i], err = reference.Count(ctx, &task.Board, task.Prefixes, pulse); err != nil {
					return i, err
				}
			}
			return len(tasks), nil
		}
		fake := &kerneltest.Fake{CountTasks: countTasks}
		if err := kernel.SelfTest(t.Context(), fake.Kernel(t)); (err == nil) != (name == "right") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
