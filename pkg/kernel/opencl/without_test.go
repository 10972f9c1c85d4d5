//go:build !opencl || !linux

package opencl

import (
	"strings"
	"testing"
)

// Without OpenCL, both functions say how to get a binary that has it.
func TestWithout(t *testing.T) {
	_, errDevices := Devices()
	_, errKernel := Kernel(0)
	for name, err := range map[string]error{"Devices": errDevices, "Kernel": errKernel} {
		if err == nil || !strings.Contains(err.Error(), "-tags opencl") {
			t.Errorf("%s returns the error %v, which does not say how to get OpenCL", name, err)
		}
	}
}
