// Package kernel counts the completions of prefixes. It has the kernels that run on the CPU, and
// chooses between them. It knows boards and prefixes, but nothing of symmetry, runs or transport.
//
// Every kernel passes the suite of package kerneltest.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// Kernel is an implementation of the search.
type Kernel struct {
	// Name selects the kernel.
	Name string
	// New returns a Counter with the buffers and devices that it needs. Each thread makes its own
	// Counter, and closes it. The error says what the machine lacks or what failed; it need not name
	// the kernel. See [Kernel.WithCounter].
	New func() (Counter, error)
	// AtOnce is the number of tasks of a large run that keep a [BatchCounter] busy for about a second.
	// It is 0 if New returns a Counter that is no BatchCounter.
	AtOnce int
}

// WithCounter makes a Counter, calls the function use with it, and closes it, even if use panics,
// all on the goroutine of the caller. If New fails, WithCounter returns its error and does not call
// use. Otherwise the error joins those of use and Close. An error of New or Close names the kernel.
func (k Kernel) WithCounter(use func(Counter) error) (err error) {
	c, err := k.New()
	if err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	defer func() {
		if closeErr := c.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close kernel %s: %w", k.Name, closeErr))
		}
	}()
	return use(c)
}

// Counter counts with one kernel. Only one of its methods may run at a time.
type Counter interface {
	// Count returns how many completions the prefixes of board b have together. A completion puts a
	// queen on an allowed square of each remaining row, so that no queen attacks another. A Count
	// without an error does not allocate. It does not check the sum for overflow: no batch that can be
	// counted in a lifetime has 2^64 completions.
	//
	// While Count searches, it increments pulse, so that an observer can tell a running search from a
	// stuck one. If ctx ends first, Count returns 0 and context.Cause(ctx) within 50 ms. The only
	// other errors are those of a device; see [ErrDeviceLost].
	//
	// The board and the prefixes must be valid; see their Validate methods.
	Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix,
		pulse *atomic.Uint64) (uint64, error)
	// Close frees what the Counter holds, also after a Count with an error. The caller must call it
	// once, after all other methods. The error says what could not be freed; all counts before it are
	// right nevertheless.
	Close() error
}

// Auto is the name that selects the fastest kernel of this machine's CPU.
const Auto = "auto"

// Available returns the kernels that this machine's CPU can run, the fastest first.
func Available() []Kernel {
	return append(vectorKernels(), generic)
}

// Reference returns the kernel that every machine can run: plain Go, without assembly.
func Reference() Kernel { return generic }

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
	return Kernel{}, fmt.Errorf("no kernel %q on this machine: it has %s", name,
		strings.Join(Names()[1:], ", "))
}

// Differing returns the fastest kernel of this machine that is not one of the named kernels, or the
// reference kernel if all are named. Unless all are named, a search by this kernel runs other code
// in its inner loop than searches by the named kernels.
func Differing(names ...string) Kernel { return differing(Available(), names) }

// differing is [Differing] for a machine with the given kernels, the fastest first.
func differing(available []Kernel, names []string) Kernel {
	for _, k := range available {
		if !slices.Contains(names, k.Name) {
			return k
		}
	}
	return generic
}
