//go:build opencl && linux

// Package cl calls OpenCL 1.2 without cgo: the 25 functions that a search needs. It is no general
// binding, and knows nothing of queens.
//
// What must always hold:
//
//   - No driver is loaded before the first call of [Platforms].
//   - Nothing that C is given a pointer to moves or is freed before the call returns, and C keeps no
//     such pointer: all reads and writes of buffers are blocking.
//   - A call that a search repeats does not allocate.
//   - What is created is released once; [Live] counts what is not.
package cl

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// function is a function of OpenCL: its position in the table of an ICD, and its name. The table is part of
// the extension cl_khr_icd: its first functions never move.
type function struct {
	index int
	name  string
}

var (
	getPlatformIDs          = function{0, "clGetPlatformIDs"}
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
	getKernelWorkGroupInfo  = function{40, "clGetKernelWorkGroupInfo"}
	getEventInfo            = function{42, "clGetEventInfo"}
	releaseEvent            = function{44, "clReleaseEvent"}
	flush                   = function{46, "clFlush"}
	finish                  = function{47, "clFinish"}
	enqueueReadBuffer       = function{48, "clEnqueueReadBuffer"}
	enqueueWriteBuffer      = function{49, "clEnqueueWriteBuffer"}
	enqueueNDRangeKernel    = function{59, "clEnqueueNDRangeKernel"}
)

// tableLength is the number of functions of a table up to the last of these.
const tableLength = 60

// table has the addresses of the functions of a driver.
type table [tableLength]uintptr

// call calls a function that returns a status. Arguments that are pointers to memory of Go are
// converted in the call itself, so that the memory stays where it is.
//
//go:uintptrescapes
func (t *table) call(f function, args ...uintptr) error {
	if status, _, _ := purego.SyscallN(t[f.index], args...); int32(status) != success {
		return Error{f, Status(int32(status))}
	}
	return nil
}

// create calls a function that returns an object, and has a pointer to a status as its last
// argument.
//
//go:uintptrescapes
func (t *table) create(f function, status *int32, args ...uintptr) (uintptr, error) {
	object, _, _ := purego.SyscallN(t[f.index], args...)
	if *status != success {
		return 0, Error{f, Status(*status)}
	}
	if object == 0 {
		return 0, Error{f, InvalidValue}
	}
	live.Add(1)
	return object, nil
}

// release releases an object that create returned.
func (t *table) release(f function, object uintptr) error {
	if object == 0 {
		return nil
	}
	live.Add(-1)
	return t.call(f, object)
}

var live atomic.Int64

// Live returns the number of objects of OpenCL that this process has created and not released.
func Live() int64 { return live.Load() }

// Status is the status of a call or a command: negative for errors.
type Status int32

// The statuses that the program tells apart.
const (
	success                 = 0
	DeviceNotFound   Status = -1
	AllocationFailed Status = -4
	OutOfResources   Status = -5
	OutOfHostMemory  Status = -6
	BuildFailed      Status = -11
	InvalidValue     Status = -30
	InvalidSize      Status = -61
	PlatformNotFound Status = -1001
)

func (s Status) String() string {
	switch s {
	case DeviceNotFound:
		return "device not found"
	case AllocationFailed:
		return "memory allocation failed"
	case OutOfResources:
		return "out of resources"
	case OutOfHostMemory:
		return "out of host memory"
	case BuildFailed:
		return "the program can't be built"
	case InvalidValue:
		return "invalid value"
	case InvalidSize:
		return "invalid buffer size"
	case PlatformNotFound:
		return "no platform"
	}
	return fmt.Sprintf("status %d", int32(s))
}

// IsMemory reports whether the device may have less memory than the call needs.
func (s Status) IsMemory() bool {
	return s == AllocationFailed || s == OutOfResources || s == OutOfHostMemory || s == InvalidSize
}

// Error is the failure of a call.
type Error struct {
	function function
	Status   Status
}

func (e Error) Error() string { return e.function.name + ": " + e.Status.String() }

// address returns the address of the first element, 0 of an empty slice. The caller keeps the slice
// alive and converts in the call: see table.call.
func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
