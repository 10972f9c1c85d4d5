// Package kernel counts the completions of prefixes. It has the implementations of the search, and chooses between them. It
// knows boards and prefixes, but nothing of symmetry, tasks or transport.
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
	// New returns a Counter with the buffers and devices that it needs. Each thread makes its own Counter, and closes it. The
	// error says what the machine lacks; it need not name the kernel. See [Kernel.WithCounter].
	New func() (Counter, error)
	// AtOnce is 0 unless New returns a [BatchCounter]. Then it is the number of tasks that keep the Counter busy for about a
	// second.
	AtOnce int
}

// WithCounter calls use with a new Counter, and then closes the Counter, all on the goroutine of the caller. If New fails, it
// does not call use. It returns the errors of New, use and Close, joined. An error of New or Close names the kernel.
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
	// Count returns the number of completions of all the prefixes of board b. A completion adds one queen on each remaining
	// row. Count does not allocate. It does not check the sum for overflow: no batch that can be counted in a lifetime has
	// 2^64 completions.
	//
	// While Count searches, it increments pulse, so that an observer can tell a running search from a stuck one. When ctx is
	// cancelled, Count returns the count 0 and the cause of ctx within 50 ms.
	//
	// The board and the prefixes must be valid; see their Validate methods.
	Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error)
	// Close frees what the Counter holds, also after a Count with an error. It is called once, after all other methods. The
	// error says what could not be freed; all counts before it are right nevertheless.
	Close() error
}

// Auto is the name that selects the fastest kernel of this machine.
const Auto = "auto"

// Available returns the kernels that this machine can run, the fastest first.
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
	return Kernel{}, fmt.Errorf("no kernel %q on this machine: it has %s", name, strings.Join(Names()[1:], ", "))
}

// Differing returns the fastest kernel of this machine that is not one of the named kernels, or the reference kernel if all
// are named. A recount uses it, so that a count and its recount share little code.
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
