//go:build (amd64 || arm64) && !purego

package kernel

// laneKernels returns the kernels of this machine's instruction sets, and kernels that always count in lanes of one width, which
// their names say: only tests choose the lanes.
func laneKernels() (kernels []Kernel) {
	for _, l := range instructionSets() {
		kernels = append(kernels, l.kernel())
	}
	return append(kernels, Lanes()...)
}

// Lanes returns the kernels that always count in lanes of one width.
func Lanes() (kernels []Kernel) {
	for _, l := range instructionSets() {
		if l.narrow != nil {
			kernels = append(kernels, lanes{l.name + "-16", l.narrow, nil}.kernel())
		}
		kernels = append(kernels, lanes{l.name + "-32", nil, l.wide}.kernel())
	}
	return kernels
}
