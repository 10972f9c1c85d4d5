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
			Name: "avx512", newBin: binsOf(avx512Build, avx512Counts), build: avx2Build, fits: avx2Fits,
		})
	}
	return append(kernels, Kernel{
		Name: "avx2", newBin: binsOf(avx2Build, avx2Counts), build: avx2Build, fits: avx2Fits,
	})
}
