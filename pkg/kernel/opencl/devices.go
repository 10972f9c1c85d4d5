//go:build opencl && linux

package opencl

import (
	"errors"

	"nqueens/pkg/kernel"
)

// Devices loads the drivers of this machine and returns their devices, in an order that does not
// change until drivers or devices do. The error says why there is none.
func Devices() ([]Device, error) { return nil, errors.New("not written yet") }

// Kernel returns the kernel that counts on the device of that index, which is named after it:
// opencl:0. It loads no driver; the error is about an index that no device can have.
// The kernel's New returns an error if there is no such device or it can't run the kernel.
// Its counters count many tasks at once, see [kernel.BatchCounter].
func Kernel(index int) (kernel.Kernel, error) { return kernel.Kernel{}, errors.New("not written yet") }
