//go:build (!amd64 && !arm64) || purego

package kernel

func laneKernels() []Kernel { return nil }

// Lanes returns the kernels that always count in lanes of one width: none.
func Lanes() []Kernel { return nil }
