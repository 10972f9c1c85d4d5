//go:build !purego

package kernel

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// signedCounts returns the operands of USHL. It shifts each word to the left by a signed byte, so
// to the right if the byte is negative.
func signedCounts[T word]() (shifts [queens.MaxN]shift) {
	for rows := range shifts {
		shifts[rows] = newShift[T](rows, -rows)
	}
	return shifts
}

// instructionSets returns the instruction sets of this machine for which there is a kernel. Every
// arm64 machine has NEON.
func instructionSets() []lanes { return []lanes{{"neon", neonx16, neonx32}} }

// laneWeights16 and laneWeights32 hold the bit that each lane has in a mask. laneCounts holds the
// number of lanes in each mask.
var (
	laneWeights16 = [8]uint16{1, 2, 4, 8, 16, 32, 64, 128}
	laneWeights32 = [4]uint32{1, 2, 4, 8}
	laneCounts    [256]uint8
)

// compressPerm32 and expandPerm32 are like compressPerm16 and expandPerm16, for the bytes of four
// 32-bit lanes.
var compressPerm32, expandPerm32 [16][4][4]uint8

func init() {
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
