//go:build opencl && linux

package opencl

import (
	"fmt"
	"strconv"
	"strings"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

// Devices loads the drivers of this machine and returns their devices. The index of a device is its place in the list, which
// does not change until drivers or devices do. If there is no device, the error says why.
func Devices() ([]Device, error) {
	found, err := cl.Devices()
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(found))
	for i, f := range found {
		devices[i] = Device{
			Name: queens.Sanitize(f.Name), Vendor: queens.Sanitize(f.Vendor), Units: f.Units, Memory: f.Memory,
			Driver: queens.Sanitize(f.Driver),
		}
	}
	return devices, nil
}

// Kernel returns the kernel of a name such as opencl:0, which counts on the device of that index. It loads no driver. It
// returns an error if what follows opencl: is no index from 0 to 65535. The kernel's New returns an error if there is no such
// device, or the device can't run the kernel. Its counters count many tasks at once, see [kernel.BatchCounter].
//
// A name such as opencl-warps:0 selects the second search of the same device: see warps.cl. It takes two thirds of the steps,
// but nobody has measured it on a GPU yet.
func Kernel(name string) (kernel.Kernel, error) {
	number, warps := strings.CutPrefix(name, WarpsPrefix)
	index, err := strconv.ParseUint(strings.TrimPrefix(number, Prefix), 10, 16)
	if err != nil {
		return kernel.Kernel{}, fmt.Errorf("a device has a name like %s0, with an index up to 65535, not %q", Prefix, name)
	}
	newCounter := func() (kernel.Counter, error) { return open(int(index), settings{warps: warps}) }
	return kernel.Kernel{Name: nameOf(int(index), warps), AtOnce: atOnce, New: newCounter}, nil
}

// nameOf returns the name of a kernel.
func nameOf(index int, warps bool) string {
	if warps {
		return fmt.Sprint(WarpsPrefix, index)
	}
	return fmt.Sprint(Prefix, index)
}

// atOnce is the number of tasks of a large run that keep a GPU busy for about a second in one call of CountTasks.
const atOnce = 1 << 10
