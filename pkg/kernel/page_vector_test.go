//go:build (amd64 || arm64) && !purego

package kernel

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"nqueens/pkg/testkit"
)

// docs/dev/kernels.md has the step for every number of rows below, and that of a recount.
func TestGeneratedKernelSteps(t *testing.T) {
	kernels := vectorKernels()
	if len(kernels) == 0 {
		t.Skip("this machine has no vector kernel")
	}
	set := newCounter(t, kernels[0]).(*vectorCounter).wide.instructionSet
	most := len(set.steps) - 1
	table := "| rows below | step | alternate |\n|---:|---|---|\n"
	for last := most; last >= 2; {
		step, first := functionOf(set.steps[last].dense), last
		for functionOf(set.steps[first-1].dense) == step {
			first--
		}
		rows := fmt.Sprint(last)
		switch {
		case last == most:
			rows += " or more"
		case first < last:
			rows = fmt.Sprintf("%d to %d", first, last)
		}
		table += "| " + rows + " | `" + step + "` | `" + functionOf(set.alternates[last].gaps) + "` |\n"
		last = first - 1
	}
	testkit.Generated(t, "docs/dev/kernels.md", "steps", table)
}

// functionOf returns the name of a step without that of its instruction set, none of no step.
func functionOf(f step[uint32]) string {
	if f == nil {
		return ""
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimSuffix(name[strings.LastIndex(name, "Rows"):], ".abi0")
}
