//go:build (amd64 || arm64) && !purego

package kernel

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The self-test finds each mutant: a kernel with one wrong function, which loses a child or counts
// one completion too many in each call.
func TestSelfTestFindsEachMutant(t *testing.T) {
	for _, k := range vectorKernels() {
		c := newCounter(t, k).(*vectorCounter)
		var names []string
		if c.narrow != nil {
			names = append(names, stepNames(c.narrow.instructionSet)...)
		}
		if c.wide != nil {
			names = append(names, stepNames(c.wide.instructionSet)...)
		}
		if len(names) < 12 {
			t.Errorf("%s has %d functions", k.Name, len(names))
		}
		for _, name := range names {
			mutant := Kernel{Name: "mutant", New: func() (Counter, error) {
				c := newCounter(t, k).(*vectorCounter)
				if c.narrow != nil {
					c.narrow.instructionSet = mutate(c.narrow.instructionSet, name)
				}
				if c.wide != nil {
					c.wide.instructionSet = mutate(c.wide.instructionSet, name)
				}
				return c, nil
			}}
			if err := SelfTest(t.Context(), mutant); err == nil ||
				!strings.Contains(err.Error(), "kernel mutant counts") {
				t.Errorf("%s passes with a wrong %s: error %v", k.Name, name, err)
			}
		}
	}
}

// stepName returns the name of a step's function.
func stepName[T word](f step[T]) string {
	return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
}

// stepNames returns the names of the functions of an instruction set, each once.
func stepNames[T word](set *instructionSet[T]) (names []string) {
	for _, s := range set.steps {
		for _, f := range []step[T]{s.dense, s.gaps} {
			if f != nil {
				names = append(names, stepName(f))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mutate returns an instruction set in which the function of that name is wrong.
func mutate[T word](set *instructionSet[T], name string) *instructionSet[T] {
	changed := *set
	changed.steps = slices.Clone(set.steps)
	for i := range changed.steps {
		for _, f := range []*step[T]{&changed.steps[i].dense, &changed.steps[i].gaps} {
			if right := *f; right != nil && stepName(right) == name {
				*f = func(from, to *queue[T], masks *rowMasks, flush bool) uint64 {
					before := to.n
					found := right(from, to, masks, flush)
					if i == 2 {
						return found + 1
					}
					to.n = max(before, to.n-1)
					return found
				}
			}
		}
	}
	return &changed
}
