//go:build (amd64 || arm64) && !purego

package kernel

import "testing"

// Compressing moves the lanes of a mask to the front in order, and expanding moves them back.
func TestShufflesOfLanes(t *testing.T) {
	for m := range compressPerm16 {
		rank := 0
		for lane := range 8 {
			if m>>lane&1 == 0 {
				continue
			}
			compressed, expanded := compressPerm16[m][rank], expandPerm16[m][lane]
			if compressed != [2]uint8{uint8(2 * lane), uint8(2*lane + 1)} ||
				expanded != [2]uint8{uint8(2 * rank), uint8(2*rank + 1)} {
				t.Errorf("lanes %08b: lane %d is compressed from bytes %v and expanded from bytes %v", m, lane,
					compressed, expanded)
			}
			rank++
		}
	}
}
