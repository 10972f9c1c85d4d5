//go:build !purego

package kernel

import (
	"golang.org/x/sys/cpu"

	"nqueens/pkg/queens"
)

// internal/asm generates the steps (run scripts/generate); its main.go says how each prunes
// children. The number in a step's name is the least number of rows below the row it serves.

//go:noescape
func avx512x16Spread(to *operands, from *rowMasks[uint16], rows int)

//go:noescape
func avx512x16Rows2(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows2Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows3(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows3Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows4(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows4Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows5(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows5Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows6(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows6Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows10(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x16Rows10Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Spread(to *operands, from *rowMasks[uint32], rows int)

//go:noescape
func avx512x32Rows2(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows2Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows3(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows3Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows4(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows4Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows5(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows5Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows6(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows6Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows10(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx512x32Rows10Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Spread(to *operands, from *rowMasks[uint16], rows int)

//go:noescape
func avx2x16Rows2(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows2Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows3(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows3Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows4(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows4Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows5(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows5Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows6(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows6Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows10(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x16Rows10Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Spread(to *operands, from *rowMasks[uint32], rows int)

//go:noescape
func avx2x32Rows2(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows2Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows3(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows3Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows4(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows4Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows5(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows5Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows6(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows6Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows10(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func avx2x32Rows10Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

var (
	avx512x16 = &instructionSet[uint16]{shifts: shiftCounts[uint16](), spread: avx512x16Spread, steps: byRowsBelow(
		steps[uint16]{dense: avx512x16Rows2, gaps: avx512x16Rows2Gaps},
		steps[uint16]{dense: avx512x16Rows3, gaps: avx512x16Rows3Gaps},
		steps[uint16]{dense: avx512x16Rows4, gaps: avx512x16Rows4Gaps},
		steps[uint16]{dense: avx512x16Rows5, gaps: avx512x16Rows5Gaps},
		steps[uint16]{dense: avx512x16Rows6, gaps: avx512x16Rows6Gaps},
		steps[uint16]{dense: avx512x16Rows10, gaps: avx512x16Rows10Gaps},
	)}
	avx512x32 = &instructionSet[uint32]{shifts: shiftCounts[uint32](), spread: avx512x32Spread, steps: byRowsBelow(
		steps[uint32]{dense: avx512x32Rows2, gaps: avx512x32Rows2Gaps},
		steps[uint32]{dense: avx512x32Rows3, gaps: avx512x32Rows3Gaps},
		steps[uint32]{dense: avx512x32Rows4, gaps: avx512x32Rows4Gaps},
		steps[uint32]{dense: avx512x32Rows5, gaps: avx512x32Rows5Gaps},
		steps[uint32]{dense: avx512x32Rows6, gaps: avx512x32Rows6Gaps},
		steps[uint32]{dense: avx512x32Rows10, gaps: avx512x32Rows10Gaps},
	)}
	avx2x16 = &instructionSet[uint16]{shifts: factors(), spread: avx2x16Spread, steps: byRowsBelow(
		steps[uint16]{dense: avx2x16Rows2, gaps: avx2x16Rows2Gaps},
		steps[uint16]{dense: avx2x16Rows3, gaps: avx2x16Rows3Gaps},
		steps[uint16]{dense: avx2x16Rows4, gaps: avx2x16Rows4Gaps},
		steps[uint16]{dense: avx2x16Rows5, gaps: avx2x16Rows5Gaps},
		steps[uint16]{dense: avx2x16Rows6, gaps: avx2x16Rows6Gaps},
		steps[uint16]{dense: avx2x16Rows10, gaps: avx2x16Rows10Gaps},
	)}
	avx2x32 = &instructionSet[uint32]{shifts: shiftCounts[uint32](), spread: avx2x32Spread, steps: byRowsBelow(
		steps[uint32]{dense: avx2x32Rows2, gaps: avx2x32Rows2Gaps},
		steps[uint32]{dense: avx2x32Rows3, gaps: avx2x32Rows3Gaps},
		steps[uint32]{dense: avx2x32Rows4, gaps: avx2x32Rows4Gaps},
		steps[uint32]{dense: avx2x32Rows5, gaps: avx2x32Rows5Gaps},
		steps[uint32]{dense: avx2x32Rows6, gaps: avx2x32Rows6Gaps},
		steps[uint32]{dense: avx2x32Rows10, gaps: avx2x32Rows10Gaps},
	)}
)

// shiftCounts are the lengths of shifts in either direction.
func shiftCounts[T word]() (shifts [queens.MaxN]shift[T]) {
	for rows := range shifts {
		shifts[rows] = shift[T]{T(rows), T(rows)}
	}
	return shifts
}

// factors are factors that shift 16-bit words: the left one by the low half of the product, the
// right one by the high half.
func factors() (shifts [queens.MaxN]shift[uint16]) {
	for rows := 1; rows < queens.MaxN; rows++ {
		left, right := 1<<rows, 1<<16>>rows
		shifts[rows] = shift[uint16]{uint16(left), uint16(right)}
	}
	return shifts
}

// vectorKernels returns the vector kernels that this machine can run, the fastest first.
// Package cpu reports a feature only where the operating system saves its registers.
func vectorKernels() []Kernel {
	var kernels []Kernel
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasPOPCNT
	switch avx512 := avx2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL; {
	case avx512 && x.HasAVX512VBMI2:
		kernels = kernelsByLanes("avx512", avx512x16, avx512x32)
	case avx512:
		kernels = kernelsByLanes("avx512", nil, avx512x32)
	}
	if avx2 {
		kernels = append(kernels, kernelsByLanes("avx2", avx2x16, avx2x32)...)
	}
	return kernels
}

// compressPerm and expandPerm are permutations for VPERMD, one for each mask m of lanes:
// compressPerm[m] moves the lanes in m to the front, expandPerm[m] moves lanes from the front
// to those in m. Their other entries don't matter.
var compressPerm, expandPerm [256][8]uint32

func init() {
	for m := range compressPerm {
		for rank, lane := range lanesOf(m) {
			compressPerm[m][rank], expandPerm[m][lane] = uint32(lane), uint32(rank)
		}
	}
}
