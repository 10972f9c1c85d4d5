//go:build opencl && linux

package opencl

import (
	"testing"

	"nqueens/pkg/kernel/opencl/internal/cl"
)

// As many work-groups are resident as a multiprocessor has local memory for. The search has
// problems of 14 rows, as in tasks of n = 20, of five boards with two depths each.
func TestResident(t *testing.T) {
	const kb = 1 << 10
	nvidia := func(units, major, minor int) cl.Device {
		return cl.Device{Vendor: "NVIDIA Corporation", IsGPU: true, Units: units, Major: major,
			Minor: minor, LocalMemory: 48 * kb, GroupSize: 1024}
	}
	for name, c := range map[string]struct {
		device        cl.Device
		groups, warps int // of a multiprocessor; 0: all lanes
	}{
		"H100":        {nvidia(132, 9, 0), 11, 18},
		"H200":        {nvidia(132, 9, 0), 11, 18},
		"A100":        {nvidia(108, 8, 0), 8, 17},
		"L4":          {nvidia(58, 8, 9), 5, 10},
		"RTX 3090":    {nvidia(82, 8, 6), 5, 10},
		"RTX 4090":    {nvidia(128, 8, 9), 5, 10},
		"RTX 5090":    {nvidia(170, 12, 0), 5, 10},
		"T4":          {nvidia(40, 7, 5), 3, 6},
		"a later one": {nvidia(200, 99, 0), 11, 18},
		"MI300": {cl.Device{Vendor: "Advanced Micro Devices, Inc.", IsGPU: true, Units: 304,
			LocalMemory: 64 * kb, GroupSize: 256}, 3, 7},
		"another": {cl.Device{Vendor: "Intel(R) Corporation", IsGPU: true, Units: 32,
			LocalMemory: 64 * kb, GroupSize: 512}, 11, 18},
		"PoCL's cores": {cl.Device{Vendor: "AuthenticAMD", IsCPU: true, Units: 2, LocalMemory: 512 * kb,
			GroupSize: 4096}, 0, 0},
	} {
		tasks := sizes{rows: 5 * (14 + 13), most: 14}
		for _, warps := range []bool{false, true} {
			counter := &counter{settings: settings{warps: warps}}
			counter.choose(&c.device)
			want := c.device.Units * c.groups * counter.group
			if warps {
				want = c.device.Units * c.warps * counter.group
			}
			if c.groups == 0 {
				want = counter.lanes
			}
			if got := counter.resident(tasks); got != want || counter.lanes < got {
				t.Errorf("%s, warps %t: %d of %d lanes are resident, want %d: %+v", name, warps, got,
					counter.lanes, want, counter.unit)
			}
			if need := counter.localRows(tasks) +
				counter.localStates(tasks, counter.fittingGroup(tasks)); need > c.device.LocalMemory {
				t.Errorf("%s, warps %t: a work-group needs %d bytes of local memory and may have %d", name,
					warps, need, c.device.LocalMemory)
			}
		}
	}
}
