//go:build opencl && linux

package opencl

import (
	"testing"

	"nqueens/pkg/kernel/kerneltest"
)

// The first device passes the suite of every kernel.
func TestKernel(t *testing.T) {
	k, err := Kernel(0)
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Run(t, k)
}
