//go:build unix && (!opencl || !linux)

package main

import (
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// A worker that is built without OpenCL says how to build one with it, in every command that takes a device.
func TestDeviceWithoutOpenCL(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"worker --kernel opencl:0", "worker bench 8 --kernel opencl:0", "worker task --kernel opencl:0,cpu"} {
		r := clitest.Run(t, nil, strings.Fields(words)...)
		if r.Code != 2 || !strings.Contains(r.Stderr, "go build -tags opencl") || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d and %q", words, r.Code, r.Stderr)
		}
	}
}
