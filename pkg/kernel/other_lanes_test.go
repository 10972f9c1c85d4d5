//go:build (amd64 || arm64) && !purego

package kernel

import (
	"reflect"
	"strings"
	"testing"
)

// A recount of what was counted in some lanes takes other lanes of the same instruction set where
// these are fast, and other steps in the same lanes where they are not, on any machine. Decision 21 has
// what each costs.
func TestOtherByMachine(t *testing.T) {
	narrow, wide := new(instructionSet[uint16]), new(instructionSet[uint32])
	avx512, avx2 := kernelsByLanes("avx512", narrow, wide), kernelsByLanes("avx2", narrow, wide)
	machines := map[string][]Kernel{
		"avx512":          append(append(avx512, avx2...), generic),
		"avx512 in 32":    append(append(kernelsByLanes("avx512", nil, wide), avx2...), generic),
		"avx2":            append(avx2, generic),
		"neon":            append(kernelsByLanes("neon", narrow, wide), generic),
		"without vectors": {generic},
	}
	for _, c := range []struct {
		machine, counted string // names of kernels, separated by spaces
		n                int
		want             string
	}{
		{"avx512", "avx512-16", 20, "avx512-32"},
		{"avx512", "avx512-16", 27, "avx512-32"},
		{"avx512", "avx512-32", 22, "avx512-16"},
		{"avx512", "avx512-32", 23, "avx512-32-alt"},
		{"avx512", "avx512-32-alt", 27, "avx512"},
		{"avx512", "avx2-16", 20, "avx512"},
		{"avx512", "generic", 27, "avx512"},
		{"avx512", "avx512-16 avx2-16", 20, "avx512-32"},
		{"avx512", "avx512-16 avx512-32 generic", 20, "avx512-32-alt"},
		{"avx512 in 32", "avx512-32", 20, "avx512-32-alt"},
		{"avx512 in 32", "avx512-16", 20, "avx512-32"},
		{"avx2", "avx2-16", 20, "avx2-32"},
		{"avx2", "avx2-32", 20, "avx2-16"},
		{"avx2", "avx2-32", 23, "avx2-32-alt"},
		{"avx2", "avx2-32-alt", 20, "avx2"},
		{"avx2", "avx512-16", 20, "avx2"},
		{"neon", "neon-16", 27, "neon-32"},
		{"neon", "neon-32", 22, "neon-16"},
		{"neon", "neon-32", 27, "neon-32-alt"},
		{"without vectors", "generic", 20, "generic"},
	} {
		if got := other(machines[c.machine], c.n, strings.Fields(c.counted)).Name; got != c.want {
			t.Errorf("machine with %s, n = %d: %s counts again what %s counted, want %s", c.machine, c.n, got, c.counted, c.want)
		}
	}
}

// A row takes another function in a kernel of 32-bit lanes and in the one that counts again, but for the row of
// the step that counts if there are gaps.
func TestAlternateStepsAreOthers(t *testing.T) {
	steps := map[string][]steps[uint32]{}
	for _, k := range vectorKernels() {
		if c := newCounter(t, k).(*vectorCounter); c.wide != nil {
			steps[k.Name] = c.wide.steps
		}
	}
	for name, others := range steps {
		of, alternate := strings.CutSuffix(name, "-alt")
		if !alternate {
			continue
		}
		for below := 2; below < len(others); below++ {
			taken, other := steps[of][below], others[below]
			if other.dense != nil || other.gaps == nil {
				t.Fatalf("%s, %d rows below: not the same function with gaps and without", name, below)
			}
			if same(other.gaps, taken.dense) || same(other.gaps, taken.gaps) != (below == 2) {
				t.Errorf("%s, %d rows below: the step is that of %s", name, below, of)
			}
		}
	}
}

// same reports whether two steps are one function.
func same(a, b step[uint32]) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
