//go:build opencl && linux && !race

package opencl

import "nqueens/pkg/kernel/kerneltest"

var exceptions []kerneltest.Exception
