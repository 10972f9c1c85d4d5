package count_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// A Recounter makes as many counters as are in use at a time, uses them again, and closes them all.
func TestRecounterKeepsItsCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(func(context.Context) (uint64, error) { time.Sleep(time.Second); return 2, nil })
		fake.LastKernel = "part"
		r := &count.Recounter{Kernel: new(fake.Kernel(t))}
		const atOnce = 3
		for range 5 {
			for range atOnce {
				go func() {
					task := queens.Task{ID: 7}
					got, err := r.Count(t.Context(), &task)
					if want := (queens.TaskCount{Hash: task.Hash(), Count: 2, Kernel: "part", Elapsed: time.Second}); got != want || err != nil {
						t.Errorf("counted %+v (error %v), want %+v", got, err, want)
					}
				}()
			}
			time.Sleep(2 * time.Second)
		}
		if made := fake.Made.Load(); made != atOnce {
			t.Errorf("%d counters are made, want %d", made, atOnce)
		}
		if err := r.Close(); err != nil || fake.Open.Load() != 0 {
			t.Errorf("%d counters are open after Close (error %v)", fake.Open.Load(), err)
		}
	})
}

// A Recounter without a kernel counts with another one than those named.
func TestRecounterChoosesAnotherKernel(t *testing.T) {
	r := new(count.Recounter)
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	task := queens.Task{Board: queens.FullBoard(9), Prefixes: []queens.Prefix{{}}}
	for _, first := range kernel.Available() {
		got, err := r.Count(t.Context(), &task, first.Name)
		if other := kernel.Other(9, first.Name); err != nil || got.Count != 352 || got.Kernel == first.Name && other.Name != first.Name {
			t.Errorf("after %s: counted %+v (error %v), want 352 by %s", first.Name, got, err, other.Name)
		}
	}
}

// Count returns the errors of the kernel and the cause of its context, names the kernel that can't be made
// or closed, and keeps no counter that has failed.
func TestRecounterFails(t *testing.T) {
	cause, errNew, errClose := errors.New("cause"), errors.New("new"), errors.New("close")
	fake := newFake(func(ctx context.Context) (uint64, error) { return 2, context.Cause(ctx) })
	fake.CloseError = errClose
	r := &count.Recounter{Kernel: new(fake.Kernel(t))}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if got, err := r.Count(ctx, new(queens.Task)); !errors.Is(err, cause) || !errors.Is(err, errClose) || got != (queens.TaskCount{}) || fake.Open.Load() != 0 {
		t.Errorf("counted %+v, error %v, %d counters are open", got, err, fake.Open.Load())
	}
	if _, err := r.Count(t.Context(), new(queens.Task)); err != nil {
		t.Errorf("error %v of a later count", err)
	}
	if err := r.Close(); !errors.Is(err, errClose) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("error %v, want %v of fake", err, errClose)
	}
	fake.New = func() error { return errNew }
	if _, err := (&count.Recounter{Kernel: r.Kernel}).Count(t.Context(), new(queens.Task)); !errors.Is(err, errNew) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("error %v, want %v of fake", err, errNew)
	}
}

// BenchmarkRecounter counts a small task again and again.
func BenchmarkRecounter(b *testing.B) {
	r := new(count.Recounter)
	task := queens.Task{Board: queens.FullBoard(8), Prefixes: []queens.Prefix{{}}}
	for b.Loop() {
		if _, err := r.Count(b.Context(), &task, "generic"); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
