//go:build !purego

package kernel

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// internal/asm generates the steps (run scripts/generate); its main.go says how each prunes
// children. The number in a step's name is the least number of rows below the row it serves.

//go:noescape
func neonx16Spread(to *operands, from *rowMasks[uint16], rows int)

//go:noescape
func neonx16Rows2(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows2Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows3(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows3Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows4(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows4Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows5(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows5Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows6(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows6Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows10(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx16Rows10Gaps(from, to *queue[uint16], masks *operands, flush bool) uint64

//go:noescape
func neonx32Spread(to *operands, from *rowMasks[uint32], rows int)

//go:noescape
func neonx32Rows2(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows2Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows3(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows3Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows4(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows4Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows5(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows5Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows6(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows6Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows10(from, to *queue[uint32], masks *operands, flush bool) uint64

//go:noescape
func neonx32Rows10Gaps(from, to *queue[uint32], masks *operands, flush bool) uint64

var (
	neonx16 = &instructionSet[uint16]{shifts: signedCounts[uint16](), spread: neonx16Spread, steps: byRowsBelow(
		steps[uint16]{dense: neonx16Rows2, gaps: neonx16Rows2Gaps},
		steps[uint16]{dense: neonx16Rows3, gaps: neonx16Rows3Gaps},
		steps[uint16]{dense: neonx16Rows4, gaps: neonx16Rows4Gaps},
		steps[uint16]{dense: neonx16Rows5, gaps: neonx16Rows5Gaps},
		steps[uint16]{dense: neonx16Rows6, gaps: neonx16Rows6Gaps},
		steps[uint16]{dense: neonx16Rows10, gaps: neonx16Rows10Gaps},
	)}
	neonx32 = &instructionSet[uint32]{shifts: signedCounts[uint32](), spread: neonx32Spread, steps: byRowsBelow(
		steps[uint32]{dense: neonx32Rows2, gaps: neonx32Rows2Gaps},
		steps[uint32]{dense: neonx32Rows3, gaps: neonx32Rows3Gaps},
		steps[uint32]{dense: neonx32Rows4, gaps: neonx32Rows4Gaps},
		steps[uint32]{dense: neonx32Rows5, gaps: neonx32Rows5Gaps},
		steps[uint32]{dense: neonx32Rows6, gaps: neonx32Rows6Gaps},
		steps[uint32]{dense: neonx32Rows10, gaps: neonx32Rows10Gaps},
	)}
)

// signedCounts are the counts by which USHL shifts to the left, in the low byte of each word.
func signedCounts[T word]() (shifts [queens.MaxN]shift[T]) {
	for rows := range shifts {
		shifts[rows] = shift[T]{T(rows), T(-rows)}
	}
	return shifts
}

// vectorKernels returns the vector kernels that this machine can run, the fastest first. Every
// arm64 machine has NEON.
func vectorKernels() []Kernel { return kernelsByLanes("neon", neonx16, neonx32) }

// laneWeights16 and laneWeights32 hold the bit of each lane in a mask, laneCounts the number of
// lanes in each mask.
var (
	laneWeights16 [8]uint16
	laneWeights32 [4]uint32
	laneCounts    [256]uint8
)

// compressPerm32 and expandPerm32 are like compressPerm16 and expandPerm16, for the bytes of four
// 32-bit lanes.
var compressPerm32, expandPerm32 [16][4][4]uint8

func init() {
	for lane := range laneWeights16 {
		laneWeights16[lane] = 1 << lane
	}
	for lane := range laneWeights32 {
		laneWeights32[lane] = 1 << lane
	}
	for m := range laneCounts {
		laneCounts[m] = uint8(bits.OnesCount8(uint8(m)))
	}
	for m := range compressPerm32 {
		for rank, lane := range lanesOf(m) {
			for i := range 4 {
				compressPerm32[m][rank][i] = uint8(4*lane + i)
				expandPerm32[m][lane][i] = uint8(4*rank + i)
			}
		}
	}
}
