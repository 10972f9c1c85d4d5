//go:build !purego

package kernel

import (
	"golang.org/x/sys/cpu"

	"nqueens/pkg/queens"
)

// shiftCounts returns the operands of instructions that shift by a count: the number of rows, in
// either direction.
func shiftCounts[T word]() (shifts [queens.MaxN]shift) {
	for rows := range shifts {
		shifts[rows] = newShift[T](rows, rows)
	}
	return shifts
}

// factors returns the operands of multiplications that shift 16-bit words. If a word is multiplied
// by the left factor, the low half of the product is the word shifted to the left. If it is
// multiplied by the right factor, the high half is the word shifted to the right.
func factors() (shifts [queens.MaxN]shift) {
	for rows := 1; rows < queens.MaxN; rows++ {
		shifts[rows] = newShift[uint16](1<<rows, 1<<16>>rows)
	}
	return shifts
}

// instructionSets returns the instruction sets of this machine for which there is a kernel, the
// fastest first. Package cpu reports a feature only if the operating system saves its registers.
func instructionSets() (sets []lanes) {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasPOPCNT
	switch avx512 := avx2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL; {
	case avx512 && x.HasAVX512VBMI2:
		sets = append(sets, lanes{"avx512", avx512x16, avx512x32})
	case avx512:
		sets = append(sets, lanes{"avx512", nil, avx512x32})
	}
	if avx2 {
		sets = append(sets, lanes{"avx2", avx2x16, avx2x32})
	}
	return sets
}

// compressPerm and expandPerm have a permutation for VPERMD for each mask m of lanes.
// compressPerm[m] moves the lanes in m to the front. expandPerm[m] moves lanes from the front to
// the lanes in m. The other entries of a permutation don't matter.
var compressPerm, expandPerm [256][8]uint32

func init() {
	for m := range compressPerm {
		for rank, lane := range lanesOf(m) {
			compressPerm[m][rank], expandPerm[m][lane] = uint32(lane), uint32(rank)
		}
	}
}
