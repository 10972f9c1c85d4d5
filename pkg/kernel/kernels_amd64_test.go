//go:build !purego

package kernel

import (
	"math/bits"
	"os"
	"regexp"
	"testing"
)

// The AVX2 functions use no register that only AVX-512 has. The assembler would accept one and emit
// AVX-512 code.
func TestAVX2NeedsNoMore(t *testing.T) {
	text, err := os.ReadFile("avx2_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if x := regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`).Find(text); x != nil {
		t.Errorf("avx2 uses register %s", x)
	}
}

// Compressing and then expanding by the same mask restores the lanes of the mask, and compressing
// moves them to the front.
func TestPermutationsOfLanes(t *testing.T) {
	for m := range 256 {
		n := bits.OnesCount(uint(m))
		for lane := range 8 {
			if m>>lane&1 == 0 {
				continue
			}
			if at := expandPerm[m][lane]; int(at) >= n || compressPerm[m][at] != uint32(lane) {
				t.Errorf("lanes %08b: lane %d is packed to %d", m, lane, at)
			}
		}
	}
}
