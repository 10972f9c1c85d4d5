// Package opencl has kernels for GPUs and other devices of OpenCL 1.2. It works in binaries that
// are built with the tag opencl on Linux. In other binaries there is no device, and the error of
// Kernel says how to build with the tag. The package does not choose a device, and knows nothing of
// workers, chunks or transport. docs/kernels.md explains the kernel.
//
// What must always hold:
//
//  1. A count is exact, or there is an error: no overflow can change it.
//  2. The queue of states never overflows, whatever the board, the prefixes and the sizes.
//  3. A canceled count returns within 50 ms, because launches are short: the times of earlier
//     launches decide how many steps the next one has. If the device hangs, a count ends after 30 s
//     of silence, or at most 5 s after its context ends, and Close returns within 5 s.
//  4. The kernel's New finds what the machine lacks, before a worker takes its first chunk.
//  5. If the device is lost, the result is an error that wraps [kernel.ErrDeviceLost], never a
//     count.
//  6. Count does not allocate.
//  7. Each task has its own count, however many tasks a call has.
//  8. Counters share no device memory; any number of them may count at once on one device.
//  9. Close frees everything that New made. If New fails halfway, it frees everything itself. If
//     the device hangs, its memory is freed when it answers.
//  10. Only Devices and New load drivers, because a broken driver can end the process.
package opencl

import (
	"fmt"
	"strings"
	"sync/atomic"

	"nqueens/pkg/kernel"
)

// Prefix begins the name of a kernel of this package; the index of its device follows. WarpsPrefix
// begins the name of the second search of the same device.
const (
	Prefix      = All + ":"
	WarpsPrefix = AllWarps + ":"
)

// All and AllWarps are the names of all devices: see [Kernels].
const (
	All      = "opencl"
	AllWarps = "opencl-warps"
)

// JoinPrefix begins the name of a join of the method halves; the index of its device follows.
const JoinPrefix = "opencl-join:"

// Joins reports whether a name selects a join, also if it is none of a device.
func Joins(name string) bool { return strings.HasPrefix(name, JoinPrefix) }

// Selects reports whether a name selects devices, also if it is none of a device.
func Selects(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return name == All || name == AllWarps
}

// Validate returns an error if a name that selects devices is not right. It loads no driver.
func Validate(name string) error {
	if name == All || name == AllWarps {
		name += ":0"
	}
	_, err := Kernel(name)
	return err
}

// Together returns a kernel whose counters count on several devices: each on the next one, and
// after the last on the first again.
func Together(name string, kernels []kernel.Kernel) kernel.Kernel {
	var made atomic.Uint64
	next := func() (kernel.Counter, error) {
		k := kernels[(made.Add(1)-1)%uint64(len(kernels))]
		c, err := k.New()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Name, err)
		}
		return c, nil
	}
	return kernel.Kernel{Name: name, AtOnce: kernels[0].AtOnce, New: next}
}

// Device describes a device for which [Kernel] has a kernel.
type Device struct {
	Name   string `json:"device,omitempty"` // as its driver names it, printable
	Vendor string `json:"vendor,omitempty"` // its maker, printable
	// its compute units: multiprocessors of a GPU, threads of a CPU
	Units  int    `json:"units,omitempty"`
	Memory uint64 `json:"memory,omitempty"` // its global memory, bytes
	Driver string `json:"driver,omitempty"` // platform and version of its driver, printable
}
