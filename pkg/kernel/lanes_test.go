//go:build (amd64 || arm64) && !purego

package kernel

// laneKernels returns the vector kernels of this machine, and the kernels of Lanes.
func laneKernels() (kernels []Kernel) {
	for _, l := range instructionSets() {
		kernels = append(kernels, l.kernel())
	}
	return append(kernels, Lanes()...)
}

// Lanes returns kernels that always count in lanes of one width, as their names say. Only tests use
// them.
func Lanes() (kernels []Kernel) {
	for _, l := range instructionSets() {
		if l.narrow != nil {
			kernels = append(kernels, lanes{l.name + "-16", l.narrow, nil}.kernel())
		}
		kernels = append(kernels, lanes{l.name + "-32", nil, l.wide}.kernel())
	}
	return kernels
}
