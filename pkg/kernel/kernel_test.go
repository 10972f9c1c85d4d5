package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// Every kernel of this machine passes the suite, also if it always counts in 16-bit or in 32-bit
// lanes. NQUEENS_REQUIRE_KERNEL lists the kernels that this machine must have, separated by commas.
func TestKernels(t *testing.T) {
	for _, name := range strings.FieldsFunc(os.Getenv("NQUEENS_REQUIRE_KERNEL"), func(r rune) bool {
		return r == ','
	}) {
		if !slices.Contains(names(), name) {
			t.Errorf("NQUEENS_REQUIRE_KERNEL wants %q: this machine has %v", name, names())
		}
	}
	for _, k := range append(kernel.Available(), kernel.Lanes()...) {
		if testing.Short() && strings.HasSuffix(k.Name, "-32") {
			continue // the kernel that chooses its lanes has the same functions
		}
		kerneltest.Run(t, k)
	}
}

func FuzzKernels(f *testing.F) {
	kerneltest.Fuzz(f, append(kernel.Available(), kernel.Lanes()...)...)
}

// Names of kernels are unique, none is auto, and the portable kernel is always available.
func TestAvailable(t *testing.T) {
	all := names()
	unique := slices.Compact(slices.Sorted(slices.Values(all)))
	if len(unique) != len(all) || slices.Contains(all, kernel.Auto) ||
		!slices.Contains(all, "generic") {
		t.Errorf("the kernels are named %q", all)
	}
}

// Choose selects a kernel by its name, and the fastest for auto.
func TestChoose(t *testing.T) {
	wants := map[string]string{kernel.Auto: names()[0]}
	for _, name := range names() {
		wants[name] = name
	}
	for name, want := range wants {
		if k, err := kernel.Choose(name); k.Name != want || err != nil {
			t.Errorf("Choose(%q) is %q (error %v), want %q", name, k.Name, err, want)
		}
	}
}

// Differing returns the fastest kernel that is not named, and the reference kernel if all are
// named.
func TestDiffering(t *testing.T) {
	all := names()
	for i, name := range all {
		want := all[0]
		if i == 0 && len(all) > 1 {
			want = all[1]
		}
		if got := kernel.Differing(name).Name; got != want {
			t.Errorf("got %s for a recount of counts by %s, want %s", got, name, want)
		}
	}
	if got := kernel.Differing("of another machine").Name; got != all[0] {
		t.Errorf("got %s for a recount of counts by another machine, want %s", got, all[0])
	}
	if got := kernel.Differing(all...).Name; got != "generic" {
		t.Errorf("got %s for a recount of counts by all kernels, want generic", got)
	}
}

// Names returns auto and the names of the kernels, in their order.
func TestNames(t *testing.T) {
	if got, want := kernel.Names(), append([]string{kernel.Auto}, names()...); !slices.Equal(got,
		want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

// The error for an unknown kernel names it and the available ones.
func TestChooseUnknown(t *testing.T) {
	for _, name := range []string{"abacus", "", "Generic"} {
		_, err := kernel.Choose(name)
		if err == nil {
			t.Errorf("Choose(%q) finds a kernel", name)
			continue
		}
		for _, part := range append(names(), fmt.Sprintf("%q", name)) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("Choose(%q): %v: does not name %s", name, err, part)
			}
		}
	}
}

// BenchmarkKernel counts the solutions of full boards, below all prefixes of two rows in one call.
func BenchmarkKernel(b *testing.B) {
	for _, k := range kernel.Available() {
		for _, n := range []int{10, 12, 14, 16} {
			b.Run(fmt.Sprintf("%s/n=%d", k.Name, n), func(b *testing.B) {
				board := queens.FullBoard(n)
				known, _ := queens.KnownTotal(n)
				prefixes, counter := twoRows(&board), kerneltest.NewCounter(b, k)
				var pulse atomic.Uint64
				for b.Loop() {
					got, err := counter.Count(b.Context(), &board, prefixes, &pulse)
					if got != known.Uint64() || err != nil {
						b.Fatalf("counted %d (error %v), want %v", got, err, known)
					}
				}
				solutions := float64(known.Uint64()) * float64(b.N)
				b.ReportMetric(solutions/b.Elapsed().Seconds(), "solutions/s")
			})
		}
	}
}

// BenchmarkCancel measures how long a search continues after its context was canceled. The contract
// of kernel.Counter allows 50 ms.
func BenchmarkCancel(b *testing.B) {
	for _, k := range kernel.Available() {
		b.Run(k.Name, func(b *testing.B) {
			board, counter := queens.FullBoard(20), kerneltest.NewCounter(b, k)
			var worst time.Duration
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				var pulse atomic.Uint64
				ended := make(chan time.Time)
				go func() {
					_, _ = counter.Count(ctx, &board, []queens.Prefix{{}}, &pulse) // ends with the error of ctx
					ended <- time.Now()
				}()
				for pulse.Load() == 0 {
					time.Sleep(time.Millisecond)
				}
				canceled := time.Now()
				cancel()
				worst = max(worst, (<-ended).Sub(canceled))
			}
			b.ReportMetric(float64(worst.Microseconds())/1e3, "worst-ms")
		})
	}
}

// twoRows returns all prefixes of two rows.
func twoRows(board *queens.Board) []queens.Prefix {
	prefixes := []queens.Prefix{{}}
	for range 2 {
		var next []queens.Prefix
		for _, p := range prefixes {
			for free := p.Free(board); free != 0; free &= free - 1 {
				next = append(next, p.Place(board, free&-free))
			}
		}
		prefixes = next
	}
	return prefixes
}

// names returns the names of the kernels of this machine.
func names() []string {
	var names []string
	for _, k := range kernel.Available() {
		names = append(names, k.Name)
	}
	return names
}

// WithCounter joins the errors of the function that it calls and of Close. It closes the counter
// once, even if use panics.
func TestWithCounter(t *testing.T) {
	errUse, errClose := errors.New("use"), errors.New("close")
	fake := kerneltest.Fake{CloseError: errClose}
	k := fake.Kernel(t)
	if err := k.WithCounter(func(kernel.Counter) error {
		return errUse
	}); !errors.Is(err, errUse) || !errors.Is(err, errClose) {
		t.Errorf("error %v, want %v and %v", err, errUse, errClose)
	}
	func() {
		defer func() {
			if r := recover(); r != "a bug" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = k.WithCounter(func(kernel.Counter) error { panic("a bug") })
	}()
	if made, open := fake.Made.Load(), fake.Open.Load(); made != 2 || open != 0 {
		t.Errorf("%d counters are made and %d not closed, want 2 and 0", made, open)
	}
}
