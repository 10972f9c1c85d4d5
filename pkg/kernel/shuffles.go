//go:build (amd64 || arm64) && !purego

package kernel

import "math/bits"

// compressPerm16 and expandPerm16 have a shuffle of 16 bytes for each mask m of eight 16-bit lanes.
// compressPerm16[m] moves the lanes in m to the front. expandPerm16[m] moves lanes from the front
// to the lanes in m. The other entries of a shuffle don't matter.
var compressPerm16, expandPerm16 [256][8][2]uint8

func init() {
	for m := range compressPerm16 {
		for rank, lane := range lanesOf(m) {
			compressPerm16[m][rank] = [2]uint8{uint8(2 * lane), uint8(2*lane + 1)}
			expandPerm16[m][lane] = [2]uint8{uint8(2 * rank), uint8(2*rank + 1)}
		}
	}
}

// lanesOf returns the numbers of the lanes in a mask.
func lanesOf(mask int) []int {
	var lanes []int
	for rest := uint(mask); rest != 0; rest &= rest - 1 {
		lanes = append(lanes, bits.TrailingZeros(rest))
	}
	return lanes
}
