//go:build opencl && linux

package opencl

import (
	"fmt"
	"strings"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

// Devices loads the drivers of this machine and returns their devices, in an order that does not
// change until drivers or devices do. The error says why there is none.
func Devices() ([]Device, error) {
	found, err := find()
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(found))
	for i, f := range found {
		devices[i] = Device{
			Index: i, Name: queens.Sanitize(f.Name), Vendor: queens.Sanitize(f.Vendor),
			Units: int(f.Units), Memory: f.Memory,
			Driver: queens.Sanitize(f.Platform + ", driver " + f.Driver),
		}
	}
	return devices, nil
}

// Kernel returns the kernel that counts on the device of that index, which is named after it:
// opencl:0. It loads no driver; the error is about an index that no device can have.
// The kernel's New returns an error if there is no such device or it can't run the kernel.
// Its counters count many tasks at once, see [kernel.BatchCounter].
func Kernel(index int) (kernel.Kernel, error) {
	if index < 0 || index >= maxIndex {
		return kernel.Kernel{}, fmt.Errorf("device index %d is not from 0 to %d", index, maxIndex-1)
	}
	name := fmt.Sprint(Prefix, index)
	return kernel.Kernel{Name: name, AtOnce: atOnce, New: func() (kernel.Counter, error) {
		c, err := open(index, settings{name: name})
		if err != nil {
			return nil, err
		}
		return c, nil
	}}, nil
}

// atOnce is the number of tasks that keep a GPU busy for about a second in one call of CountTasks, if the
// tasks are those of a large run.
const atOnce = 1 << 10

// maxIndex bounds the index of a device.
const maxIndex = 1 << 10

// find returns the devices of all platforms, at least one.
func find() ([]cl.Device, error) {
	platforms, err := cl.Platforms()
	if err != nil {
		return nil, err
	}
	var found []cl.Device
	var names []string
	for _, p := range platforms {
		devices, err := p.Devices()
		if err != nil {
			return nil, fmt.Errorf("list the devices of %s: %w", p.Name, err)
		}
		found = append(found, devices...)
		names = append(names, p.Name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no OpenCL device on this machine: its platforms have none (%s)", strings.Join(names, ", "))
	}
	return found, nil
}

// open returns a counter of the device with that index.
func open(index int, s settings) (*counter, error) {
	found, err := find()
	if err != nil {
		return nil, err
	}
	if index >= len(found) {
		var names []string
		for i, d := range found {
			names = append(names, fmt.Sprintf("%s%d (%s)", Prefix, i, queens.Sanitize(d.Name)))
		}
		return nil, fmt.Errorf("this machine has no device %s%d: it has %s", Prefix, index, strings.Join(names, ", "))
	}
	device := found[index]
	if !device.Available {
		return nil, fmt.Errorf("device %s is not available, or its driver has no compiler", queens.Sanitize(device.Name))
	}
	c, err := newCounter(device, s)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", queens.Sanitize(device.Name), err)
	}
	return c, nil
}
