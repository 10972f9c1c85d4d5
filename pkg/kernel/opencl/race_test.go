//go:build opencl && linux && race

package opencl

import "nqueens/pkg/kernel/kerneltest"

// exceptions of the suite: sync.Pool drops objects at random under the race detector, and the library
// that calls C takes one for each call.
var exceptions = []kerneltest.Exception{{Property: "no allocation", Reason: "calls of C allocate under the race detector"}}
