//go:build opencl && linux

// Package cl calls OpenCL 1.2 without cgo: the 23 functions that a search needs. It is no general
// binding, and knows nothing of queens.
//
// What must always hold:
//
//   - No driver is loaded before the first call of [Devices].
//   - Memory to which a call passes a pointer stays where it is until the call returns. C keeps no
//     such pointer, because all reads and writes of buffers are blocking.
//   - A call that a search repeats does not allocate.
//   - Each object that is created is released once; [Live] counts those that are not released yet.
package cl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// function describes a function of OpenCL: its name, and its position in the table of functions
// that each driver has. The extension cl_khr_icd defines the table; its first functions never move.
type function struct {
	index int
	name  string
}

var (
	getPlatformInfo         = function{1, "clGetPlatformInfo"}
	getDeviceIDs            = function{2, "clGetDeviceIDs"}
	getDeviceInfo           = function{3, "clGetDeviceInfo"}
	createContext           = function{4, "clCreateContext"}
	releaseContext          = function{7, "clReleaseContext"}
	createCommandQueue      = function{9, "clCreateCommandQueue"}
	releaseCommandQueue     = function{11, "clReleaseCommandQueue"}
	createBuffer            = function{14, "clCreateBuffer"}
	releaseMemObject        = function{18, "clReleaseMemObject"}
	createProgramWithSource = function{26, "clCreateProgramWithSource"}
	releaseProgram          = function{29, "clReleaseProgram"}
	buildProgram            = function{30, "clBuildProgram"}
	getProgramBuildInfo     = function{33, "clGetProgramBuildInfo"}
	createKernel            = function{34, "clCreateKernel"}
	releaseKernel           = function{37, "clReleaseKernel"}
	setKernelArg            = function{38, "clSetKernelArg"}
	getEventInfo            = function{42, "clGetEventInfo"}
	releaseEvent            = function{44, "clReleaseEvent"}
	flush                   = function{46, "clFlush"}
	finish                  = function{47, "clFinish"}
	enqueueReadBuffer       = function{48, "clEnqueueReadBuffer"}
	enqueueWriteBuffer      = function{49, "clEnqueueWriteBuffer"}
	enqueueNDRangeKernel    = function{59, "clEnqueueNDRangeKernel"}
)

// table has the addresses of a driver's functions, up to the last one that is called here.
type table [60]uintptr

// tableOf returns the functions of the driver to which an object belongs. The object begins with a
// pointer to this table.
func tableOf(object uintptr) *table { return **(***table)(unsafe.Pointer(&object)) }

// caller calls functions of a driver. After a call that fails, err is its error, and the caller
// makes no more calls.
type caller struct {
	functions *table
	err       error
	status    int32 // calls write a status here
	args      [9]uintptr
}

// call calls a function that returns a status. Pointers to memory of Go must be converted to
// uintptr in the call of this method, so that the memory stays where it is.
//
//go:uintptrescapes
func (c *caller) call(f function, args ...uintptr) {
	if c.err != nil {
		return
	}
	if status, _, _ := purego.SyscallN(c.functions[f.index], args...); int32(status) != success {
		c.err = Error{f.name, int32(status)}
	}
}

// repeat does what call does, but does not allocate. A search uses it for the calls that it
// repeats. A function with fewer arguments ignores the others. Commands wait for no event, so their
// arguments 6 and 7 are 0. The arguments of a variadic function with uintptrescapes would be
// allocated on the heap, so repeat copies them to an array that is already there.
//
//go:uintptrescapes
func (c *caller) repeat(f function, a0, a1, a2, a3, a4, a5, event uintptr) {
	c.args = [...]uintptr{a0, a1, a2, a3, a4, a5, 0, 0, event}
	c.call(f, c.args[:]...)
}

// text returns a property of a platform or a device.
func (c *caller) text(f function, object, property uintptr) string {
	var buffer [1024]byte
	c.call(f, object, property, uintptr(len(buffer)), uintptr(unsafe.Pointer(&buffer)), 0)
	return cText(buffer[:])
}

// cText returns the text before the first zero byte, without white space around it.
func cText(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(text)
}

// number returns a property of a device that is a number of 32 or 64 bits.
func (c *caller) number(device, property uintptr) (n uint64) {
	c.call(getDeviceInfo, device, property, unsafe.Sizeof(n), uintptr(unsafe.Pointer(&n)), 0)
	return n
}

// release calls a function that releases an object, also after a call has failed. Without an error
// it does not allocate.
func (c *caller) release(f function, object uintptr) {
	failed := c.err
	c.err = nil
	c.repeat(f, object, 0, 0, 0, 0, 0, 0)
	c.err = errors.Join(failed, c.err)
	live.Add(-1)
}

var live atomic.Int64

// Live returns the number of objects of OpenCL that this process has created and not released.
func Live() int64 { return live.Load() }

// Statuses of a call or a command: negative for errors.
const (
	success           = 0
	deviceNotFound    = -1
	allocationFailed  = -4
	outOfResources    = -5
	outOfHostMemory   = -6
	buildFailed       = -11
	invalidBufferSize = -61
)

var statuses = map[int32]string{
	deviceNotFound:    "device not found",
	allocationFailed:  "memory allocation failed",
	outOfResources:    "out of resources",
	outOfHostMemory:   "out of host memory",
	-30:               "invalid value",
	-46:               "invalid name of a kernel",
	-54:               "invalid size of a work-group",
	invalidBufferSize: "invalid buffer size",
	-1001:             "no platform",
}

// ErrMemory is the error of a device that has too little memory.
var ErrMemory error = Error{createBuffer.name, allocationFailed}

// OutOfMemory reports whether an error says that a device or its driver has too little memory. A
// driver may find this out when a buffer is first used.
func OutOfMemory(err error) bool {
	noMemory := []int32{allocationFailed, outOfResources, outOfHostMemory, invalidBufferSize}
	var e Error
	return errors.As(err, &e) && slices.Contains(noMemory, e.Status)
}

// Error is the failure of a call.
type Error struct {
	Function string // its name
	Status   int32
}

func (e Error) Error() string {
	return e.Function + ": " + cmp.Or(statuses[e.Status], fmt.Sprintf("status %d", e.Status))
}

// address returns the address of the first element. The caller must keep the slice alive, and
// convert the address in the call; see caller.call.
func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
