//go:build !purego

package halves

import "golang.org/x/sys/cpu"

// vectorKernels returns the vector kernels that this machine can run. Package cpu reports a feature
// only if the operating system saves its registers.
//
// The kernel avx512 has never run: no machine for it was at hand. So avx2 comes first, and is the
// default, until somebody has tested and timed avx512.
func vectorKernels() (kernels []Kernel) {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasBMI2
	if avx2 {
		kernels = append(kernels, Kernel{"avx2", avx2Build, avx2Fits, avx2Counts})
	}
	if avx2 && x.HasAVX512F && x.HasAVX512VL && x.HasAVX512VPOPCNTDQ {
		kernels = append(kernels, Kernel{"avx512", avx2Build, avx2Fits, avx512Counts})
	}
	return kernels
}
