//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// internal/asm generates the steps (run scripts/generate); its main.go says how each prunes
// children. The number in a step's name is the least number of rows below the row it serves.

//go:noescape
func avx512Rows2(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx512Rows3(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx512Rows4(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx512Rows5(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx512Rows6(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx512Rows10(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows2(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows3(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows4(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows5(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows6(from, to *queue, masks *rowMasks, flush bool) uint64

//go:noescape
func avx2Rows10(from, to *queue, masks *rowMasks, flush bool) uint64

// avx512 counts with sixteen 32-bit lanes.
var avx512 = Kernel{Name: "avx512", New: func() Counter {
	return newVectorCounter([]step{
		2: avx512Rows2, 3: avx512Rows3, 4: avx512Rows4, 5: avx512Rows5,
		6: avx512Rows6, 7: avx512Rows6, 8: avx512Rows6, 9: avx512Rows6,
		10: avx512Rows10,
	})
}}

// avx2 counts with eight 32-bit lanes.
var avx2 = Kernel{Name: "avx2", New: func() Counter {
	return newVectorCounter([]step{
		2: avx2Rows2, 3: avx2Rows3, 4: avx2Rows4, 5: avx2Rows5,
		6: avx2Rows6, 7: avx2Rows6, 8: avx2Rows6, 9: avx2Rows6,
		10: avx2Rows10,
	})
}}

// vectorKernels returns the vector kernels that this machine can run, the fastest first.
// Package cpu reports a feature only where the operating system saves its registers.
func vectorKernels() []Kernel {
	var kernels []Kernel
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX2 && x.HasPOPCNT {
		kernels = append(kernels, avx512)
	}
	if x.HasAVX2 && x.HasPOPCNT {
		kernels = append(kernels, avx2)
	}
	return kernels
}
