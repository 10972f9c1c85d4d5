package kernel_test

import (
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Other returns a kernel that never counts as the named one, on small and on wide boards,
// unless the machine has one kernel only; for a kernel of other machines, the fastest.
func TestOther(t *testing.T) {
	available := kernel.Available()
	fastest := available[0].Name
	if got := kernel.Other(27, "warp").Name; got != fastest {
		t.Errorf("other than a foreign kernel: %s, want %s", got, fastest)
	}
	for _, first := range available {
		for _, n := range []int{8, 12, 19, 24, 32} {
			counted := lastKernel(t, first, n)
			other := kernel.Other(n, counted)
			if got := lastKernel(t, other, n); got == counted && len(available) > 1 {
				t.Errorf("n = %d: %s counted as %s, and so does the other kernel, %s", n, first.Name, counted, other.Name)
			}
		}
	}
	if got := kernel.Other(27, "generic").Name; got != fastest {
		t.Errorf("other than generic: %s, want %s", got, fastest)
	}
}

// lastKernel returns the name as which a kernel counts a prefix that leaves it little to do.
func lastKernel(t *testing.T, k kernel.Kernel, n int) (name string) {
	t.Helper()
	b := queens.FullBoard(n)
	var p queens.Prefix
	for p.Row < n-4 { // the lowest free square each time
		free := p.Free(&b)
		if free == 0 {
			break
		}
		p = p.Place(&b, free&-free)
	}
	err := k.WithCounter(func(c kernel.Counter) error {
		_, err := c.Count(t.Context(), &b, []queens.Prefix{p}, new(atomic.Uint64))
		name = c.LastKernel()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}
