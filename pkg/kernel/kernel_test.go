package kernel_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// Every kernel that this machine can run passes the suite. Where a kernel must not
// be missing, NQUEENS_REQUIRE_KERNEL names it, or several, separated by commas.
func TestKernels(t *testing.T) {
	for _, name := range strings.FieldsFunc(os.Getenv("NQUEENS_REQUIRE_KERNEL"), func(r rune) bool { return r == ',' }) {
		if !slices.Contains(names(), name) {
			t.Errorf("NQUEENS_REQUIRE_KERNEL wants %q: this machine has %v", name, names())
		}
	}
	for _, k := range kernel.Available() {
		kerneltest.Run(t, k)
	}
}

func FuzzKernels(f *testing.F) {
	kerneltest.Fuzz(f, kernel.Available()...)
}

// Each name is one kernel's, auto is none's, and the portable one is always there.
func TestAvailable(t *testing.T) {
	all := names()
	unique := slices.Compact(slices.Sorted(slices.Values(all)))
	if len(unique) != len(all) || slices.Contains(all, kernel.Auto) || !slices.Contains(all, "generic") {
		t.Errorf("the kernels are named %q", all)
	}
}

// A kernel is chosen by its name; auto is the first.
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

// The names to choose from are auto and those of the kernels, in their order.
func TestNames(t *testing.T) {
	if got, want := kernel.Names(), append([]string{kernel.Auto}, names()...); !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

// The error for a kernel that is not there names it and those that are.
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

// BenchmarkKernel counts full boards from all prefixes of two rows, in one call.
func BenchmarkKernel(b *testing.B) {
	for _, k := range kernel.Available() {
		for _, n := range []int{10, 12, 14, 16} {
			b.Run(fmt.Sprintf("%s/n=%d", k.Name, n), func(b *testing.B) {
				board := queens.FullBoard(n)
				known, _ := queens.KnownTotal(n)
				prefixes, counter := twoRows(&board), k.New()
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

// names returns the names of the kernels that this machine can run.
func names() []string {
	var names []string
	for _, k := range kernel.Available() {
		names = append(names, k.Name)
	}
	return names
}
