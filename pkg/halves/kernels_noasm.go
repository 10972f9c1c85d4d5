//go:build (!amd64 && !arm64) || purego

package halves

// vectorKernels returns the vector kernels that this machine can run: none.
func vectorKernels() []Kernel { return nil }
