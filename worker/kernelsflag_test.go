//go:build opencl && linux

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// --kernel takes a kernel of the CPU or a list of devices, and with them the CPU; each once.
func TestKernelsFlag(t *testing.T) {
	for _, test := range []struct {
		value   string
		devices []int
		withCPU bool
		message string // of the error
	}{
		{value: "generic"},
		{value: "opencl:0", devices: []int{0}},
		{value: "opencl:2,cpu,opencl:0", devices: []int{2, 0}, withCPU: true},
		{value: "opencl:0,opencl:0", message: "opencl:0 twice"},
		{value: "cpu,opencl:0,cpu", message: "cpu twice"},
		{value: "opencl:0,avx2", message: "a list of devices"},
		{value: "opencl:0,", message: "a list of devices"},
		{value: "opencl:", message: "as in opencl:0"},
		{value: "opencl:65536", message: "as in opencl:0"},
		{value: "opencl:9999", message: "device index 9999"},
	} {
		var o searchOptions
		flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
		o.addFlags(flags)
		err := flags.Set("kernel", test.value)
		switch f := &o.kernels; {
		case test.message != "":
			if err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q: error %v, want %q", test.value, err, test.message)
			}
		case err != nil || !slices.Equal(f.devices, test.devices) || f.withCPU != test.withCPU || f.String() != test.value:
			t.Errorf("%q: error %v, devices %v, CPU %v, value %q", test.value, err, f.devices, f.withCPU, f.String())
		}
	}
}
