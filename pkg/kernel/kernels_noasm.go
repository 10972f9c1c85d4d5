//go:build (!amd64 && !arm64) || purego

package kernel

// vectorKernels returns the vector kernels that this machine can run: none.
func vectorKernels() []Kernel { return nil }
