//go:build (amd64 || arm64) && !purego

package kernel

import "testing"

// A recount of what was counted in some lanes takes other lanes of the same instruction set where
// these are fast, and the next instruction set where they are not, on any machine. Decision 21 has
// what each costs.
func TestOtherByMachine(t *testing.T) {
	narrow, wide := new(instructionSet[uint16]), new(instructionSet[uint32])
	avx512, avx2 := kernelsByLanes("avx512", beforeVectors, narrow, wide), kernelsByLanes("avx2", beforeGeneric, narrow, wide)
	machines := map[string][]Kernel{
		"avx512":          append(append(avx512, avx2...), generic),
		"avx512 in 32":    append(append(kernelsByLanes("avx512", 0, nil, wide), avx2...), generic),
		"avx2":            append(avx2, generic),
		"neon":            append(kernelsByLanes("neon", beforeGeneric, narrow, wide), generic),
		"without vectors": {generic},
	}
	for _, c := range []struct {
		machine, counted string
		n                int
		want             string
	}{
		{"avx512", "avx512-16", 20, "avx512-32"},
		{"avx512", "avx512-16", 27, "avx512-32"},
		{"avx512", "avx512-32", 22, "avx512-16"},
		{"avx512", "avx512-32", 23, "avx2"},
		{"avx512", "avx2-16", 20, "avx512"},
		{"avx512", "generic", 27, "avx512"},
		{"avx512 in 32", "avx512-32", 20, "avx2"},
		{"avx512 in 32", "avx512-16", 20, "avx512-32"},
		{"avx2", "avx2-16", 20, "avx2-32"},
		{"avx2", "avx2-32", 20, "avx2-16"},
		{"avx2", "avx2-32", 26, "avx2-16"},
		{"avx2", "avx2-32", 27, "generic"},
		{"avx2", "avx512-16", 20, "avx2"},
		{"neon", "neon-16", 27, "neon-32"},
		{"neon", "neon-32", 26, "neon-16"},
		{"neon", "neon-32", 27, "generic"},
		{"without vectors", "generic", 20, "generic"},
	} {
		if got := other(machines[c.machine], c.counted, c.n).Name; got != c.want {
			t.Errorf("machine with %s, n = %d: %s counts again what %s counted, want %s", c.machine, c.n, got, c.counted, c.want)
		}
	}
}
