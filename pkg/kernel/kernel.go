// Package kernel counts the completions of prefixes: the search itself, and the
// choice between its implementations. It knows boards and prefixes, and nothing
// of symmetry, tasks or transport.
//
// Every kernel is held to the same suite, package kerneltest.
package kernel

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// Kernel is an implementation of the search.
type Kernel struct {
	// Name is what --kernel takes and every result carries.
	Name string
	// New returns a Counter with whatever buffers the kernel needs. Each thread
	// has its own.
	New func() Counter
}

// Counter counts with one kernel, one call at a time.
type Counter interface {
	// Count returns the number of ways to complete the prefixes, all of board b,
	// with one queen on each remaining row. It allocates nothing. No batch that could
	// be counted in a lifetime has 2^64 completions, so the sum is not checked.
	//
	// While it searches it adds to pulse, so that an observer can tell a search
	// that advances from one that is stuck. It returns within 50 ms of ctx being
	// cancelled, with the cause as its error and no count.
	//
	// The board and the prefixes must be valid; see their Validate methods.
	Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error)
}

// Auto is the name that stands for the fastest kernel this machine has.
const Auto = "auto"

// Available returns the kernels that this machine can run, the fastest first.
func Available() []Kernel {
	return append(vectorKernels(), generic)
}

// Names returns the names that [Choose] takes on this machine: Auto, and the kernels from
// the fastest on.
func Names() []string {
	names := []string{Auto}
	for _, k := range Available() {
		names = append(names, k.Name)
	}
	return names
}

// Choose returns the kernel of that name, or the fastest for [Auto]. The error
// for a kernel that this machine lacks lists those it has.
func Choose(name string) (Kernel, error) {
	available := Available()
	if name == Auto {
		return available[0], nil
	}
	for _, k := range available {
		if k.Name == name {
			return k, nil
		}
	}
	return Kernel{}, fmt.Errorf("no kernel %q on this machine: it has %s", name, strings.Join(Names()[1:], ", "))
}
