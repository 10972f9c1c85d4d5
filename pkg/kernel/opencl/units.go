//go:build opencl && linux

package opencl

import "nqueens/pkg/kernel/opencl/internal/cl"

// unit describes the multiprocessors of a GPU. It is the zero value for processors.
type unit struct {
	units    int // multiprocessors
	local    int // bytes of local memory that the work-groups on a multiprocessor share
	reserved int // bytes that the driver takes of it for each work-group
	groups   int // the most work-groups on a multiprocessor at a time
}

// capability describes multiprocessors of NVIDIA with a compute capability: its shared memory in
// KB, and the most blocks.
//
// References: [CUDA] NVIDIA, "CUDA C++ Programming Guide", table "Technical Specifications per
// Compute Capability".
type capability struct{ major, minor, shared, blocks int }

var capabilities = []capability{
	{5, 0, 64, 32}, {5, 2, 96, 32}, {5, 3, 64, 32},
	{6, 0, 64, 32}, {6, 1, 96, 32}, {6, 2, 64, 32},
	{7, 0, 96, 32}, {7, 2, 96, 32}, {7, 5, 64, 16},
	{8, 0, 164, 32}, {8, 6, 100, 16}, {8, 7, 164, 16}, {8, 9, 100, 24},
	{9, 0, 228, 32},
	{10, 0, 228, 32}, {10, 3, 228, 32}, {11, 0, 228, 24}, {12, 0, 100, 24}, {12, 1, 100, 24},
}

// unknown describes multiprocessors that are not in the table like those of the H100, on which the
// sizes were measured. Work-groups that find no room wait until others end.
var unknown = capability{shared: 228, blocks: 32}

// unitOf returns the unit of a device. OpenCL does not report the local memory of a multiprocessor,
// only that of a work-group. On AMD's GPUs both are the same.
func unitOf(d *cl.Device) unit {
	if d.IsCPU {
		return unit{}
	}
	if d.IsAMD() {
		return unit{units: d.Units, local: d.LocalMemory, groups: 32}
	}
	c := unknown
	for _, known := range capabilities {
		if known.major == d.Major && known.minor == d.Minor {
			c = known
		}
	}
	// From capability 8.0 on the driver takes 1 KB for each block; earlier ones take less.
	return unit{units: d.Units, local: c.shared << 10, reserved: 1 << 10, groups: c.blocks}
}
