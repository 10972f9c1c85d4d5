//go:build !opencl || !linux

package opencl

import (
	"strings"
	"testing"
)

// Without OpenCL there is no device, and Kernel says how to get a binary that has it.
func TestWithout(t *testing.T) {
	if devices, err := Devices(); len(devices) != 0 || err != nil {
		t.Errorf("devices %v, error %v", devices, err)
	}
	if kernels, _, err := Kernels(All); len(kernels) != 0 || err == nil || Validate(All) == nil {
		t.Errorf("kernels %v, error %v", kernels, err)
	}
	if _, err := Kernel("opencl:0"); err == nil || !strings.Contains(err.Error(), "-tags opencl") {
		t.Errorf("Kernel returns the error %v, which does not say how to get OpenCL", err)
	}
}
