//go:build !opencl || !linux

package opencl

import (
	"errors"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
)

// errWithout says how to get a binary with OpenCL.
var errWithout = errors.New("this binary is built without OpenCL: " +
	"use the image worker-opencl, or build on Linux with go build -tags opencl ./worker ./coordinator")

// Devices returns no device: this binary is built without OpenCL.
func Devices() ([]Device, error) { return nil, nil }

// LeftOut returns nil: this binary is built without OpenCL.
func LeftOut() error { return nil }

// Kernels returns an error: this binary is built without OpenCL.
func Kernels(string) ([]kernel.Kernel, string, error) { return nil, "", errWithout }

// Kernel returns an error: this binary is built without OpenCL.
func Kernel(string) (kernel.Kernel, error) { return kernel.Kernel{}, errWithout }

// Join returns an error: this binary is built without OpenCL.
func Join(string) (halves.Kernel, error) { return halves.Kernel{}, errWithout }
