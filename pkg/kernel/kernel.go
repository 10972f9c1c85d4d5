// Package kernel counts the completions of prefixes: it holds the implementations of the
// search and the choice between them. It knows boards and prefixes, but nothing of symmetry,
// tasks or transport.
//
// Every kernel passes the suite of package kerneltest.
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
	// Name selects the kernel, and every result carries it.
	Name string
	// New returns a Counter with the buffers that the kernel needs. Each thread uses a
	// Counter of its own.
	New func() Counter
}

// Counter counts with one kernel, one call at a time.
type Counter interface {
	// Count returns the number of ways to complete the prefixes of board b with one queen
	// on each remaining row. It does not allocate. It does not check the sum for overflow:
	// no batch that can be counted in a lifetime has 2^64 completions.
	//
	// While Count searches, it increments pulse, so that an observer can tell a running
	// search from a stuck one. When ctx is cancelled, Count returns within 50 ms, with the
	// cause as its error and the count 0.
	//
	// The board and the prefixes must be valid; see their Validate methods.
	Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error)
}

// Auto is the name that selects the fastest kernel of this machine.
const Auto = "auto"

// Available returns the kernels that this machine can run, the fastest first.
func Available() []Kernel {
	return append(vectorKernels(), generic)
}

// Names returns the names that [Choose] accepts on this machine: Auto, then the kernels, the
// fastest first.
func Names() []string {
	names := []string{Auto}
	for _, k := range Available() {
		names = append(names, k.Name)
	}
	return names
}

// Choose returns the kernel with the given name, or the fastest for [Auto]. The error for an
// unknown or unsupported name lists the kernels of this machine.
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
