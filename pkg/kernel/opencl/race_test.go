//go:build opencl && linux && race

package opencl

import "nqueens/pkg/kernel/kerneltest"

// exceptions are tests of the suite that fail under the race detector. It makes sync.Pool drop
// objects at random, and the library that calls C takes an object from a pool for each call.
var exceptions = []kerneltest.Exception{{Property: "no allocation",
	Reason: "calls of C allocate under the race detector"}}
