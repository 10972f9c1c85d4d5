//go:build opencl && linux

package opencl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

// Devices loads the drivers of this machine and returns their devices: GPUs first, and faster ones
// before slower ones. The index of a device is its place in the list, which does not change until
// drivers or devices do. If there is no device, the error says why.
func Devices() ([]Device, error) {
	found, err := cl.Devices()
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(found))
	for i, f := range found {
		devices[i] = Device{
			Name: queens.Sanitize(f.Name), Vendor: queens.Sanitize(f.Vendor), Units: f.Units,
			Memory: f.Memory,
			Driver: queens.Sanitize(f.Driver),
		}
	}
	return devices, nil
}

// LeftOut returns an error that says which drivers of this machine can't be loaded, and why; nil if
// there are none.
func LeftOut() error { return cl.LeftOut() }

// Kernels returns the kernels of a name. The name All is that of all GPUs of this machine, the
// fastest first. If there is none, it is that of the processors for which there is a driver; then
// note says so. AllWarps is that of their second search. Any other name is that of one device: see
// [Kernel].
func Kernels(name string) (kernels []kernel.Kernel, note string, err error) {
	if name != All && name != AllWarps {
		k, err := Kernel(name)
		return []kernel.Kernel{k}, "", err
	}
	found, err := cl.Devices()
	if err != nil {
		return nil, "", err
	}
	gpus, err := usable(found, cl.LeftOut())
	if err != nil {
		return nil, "", err
	}
	for _, i := range gpus {
		k, err := Kernel(fmt.Sprint(name, ":", i))
		if err != nil {
			return nil, "", err
		}
		kernels = append(kernels, k)
	}
	if first := found[gpus[0]]; first.IsCPU {
		note = queens.Sanitize(
			fmt.Sprintf("this machine has no GPU with an OpenCL driver: %s, %s, is its processor",
				kernels[0].Name, first.Name))
	}
	return kernels, note, nil
}

var errUnavailable = errors.New(
	"no OpenCL device of this machine is available, or their drivers have no compiler")

// usable returns the indices of all available devices of the best kind: GPUs, else other devices,
// else processors. leftOut says which drivers can't be loaded. If these may have GPUs, processors
// are not used.
func usable(found []cl.Device, leftOut error) (indices []int, err error) {
	for i, d := range found {
		if d.Available && d.Class() == found[0].Class() {
			indices = append(indices, i)
		}
	}
	var missing cl.MissingError
	switch {
	case len(indices) == 0:
		return nil, errors.Join(errUnavailable, leftOut)
	case found[0].IsCPU && errors.As(leftOut, &missing):
		return nil, fmt.Errorf("no OpenCL driver for a GPU: %w", missing)
	}
	return indices, nil
}

// Kernel returns the kernel of a name such as opencl:0, which counts on the device of that index.
// It loads no driver. It returns an error if what follows opencl: is no index from 0 to 65535. The
// kernel's New returns an error if there is no such device, or the device can't run the kernel. Its
// counters count many tasks at once, see [kernel.BatchCounter].
//
// A name such as opencl-warps:0 selects the second search of the same device: see warps.cl. It
// takes two thirds of the steps, but nobody has measured it on a GPU yet.
func Kernel(name string) (kernel.Kernel, error) {
	number, warps := strings.CutPrefix(name, WarpsPrefix)
	index, err := strconv.ParseUint(strings.TrimPrefix(number, Prefix), 10, 16)
	if err != nil {
		return kernel.Kernel{},
			fmt.Errorf("a device has a name like %s0, with an index up to 65535, not %q", Prefix, name)
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

// atOnce is the number of tasks of a large run that keep a GPU busy for about a second in one call
// of CountTasks.
const atOnce = 1 << 10
