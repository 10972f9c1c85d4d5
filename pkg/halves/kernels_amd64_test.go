//go:build !purego

package halves

import (
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
