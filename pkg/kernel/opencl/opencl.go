// Package opencl counts on GPUs and other devices of OpenCL 1.2. It is for binaries that are built
// with the tag opencl on Linux; in all others there is no device, and Kernel says how to get such a binary. It does not
// choose a device, and knows nothing of workers, chunks or transport. docs/kernels.md explains the
// kernel.
//
// What must always hold:
//
//  1. A count is exact, or there is an error: no number on the way to a count can overflow.
//  2. The queue of states never overflows, whatever the board, the prefixes and the sizes.
//  3. A cancelled count returns within 50 ms: a launch is bounded by a time, of which a number of
//     steps is only the estimate. If the device hangs, it returns within seconds, and Close does too.
//  4. New finds what the machine lacks, before a worker takes its first chunk.
//  5. A device that is lost is an error that wraps [kernel.ErrDeviceLost], never a count.
//  6. Count does not allocate.
//  7. Each task has its own count, however many tasks of a board one call has.
//  8. Counters share no device memory; any number of them may count at once on one device.
//  9. Close frees everything that New made, also if New fails half way; if the device hangs, once it answers.
//  10. Drivers are loaded only by Devices and by New: a broken one can end the process.
package opencl

// Prefix begins the name of a kernel of this package; the index of its device follows.
const Prefix = "opencl:"

// Device describes a device that [Kernel] can count on.
type Device struct {
	Name   string `json:"device,omitempty"` // as its driver names it, printable
	Vendor string `json:"vendor,omitempty"` // its maker, printable
	Units  int    `json:"units,omitempty"`  // its compute units: multiprocessors of a GPU, threads of a CPU
	Memory uint64 `json:"memory,omitempty"` // its global memory, bytes
	Driver string `json:"driver,omitempty"` // platform and version of its driver, printable
}
