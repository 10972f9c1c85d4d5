//go:build !purego

package halves

import "golang.org/x/sys/cpu"

// vectorKernels returns the vector kernels that this machine can run, the fastest first. Package
// cpu reports a feature only if the operating system saves its registers.
func vectorKernels() (kernels []Kernel) {
	x := &cpu.X86
	if !x.HasAVX2 || !x.HasBMI2 {
		return nil
	}
	if x.HasAVX512F && x.HasAVX512VPOPCNTDQ {
		kernels = append(kernels, Kernel{
			"avx512", binsOf(avx512Build, avx512Counts), avx2Build, avx2Fits,
		})
	}
	return append(kernels, Kernel{"avx2", binsOf(avx2Build, avx2Counts), avx2Build, avx2Fits})
}
