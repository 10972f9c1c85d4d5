//go:build (amd64 || arm64) && !purego

package kernel

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
)

// The table in docs/kernel.md names the step that the vector kernels take, for every number of
// rows below, and that of the kernels with alternate steps.
func TestKernelPageSteps(t *testing.T) {
	table := regexp.MustCompile("(?m)^\\| (\\d+)(?: to (\\d+)| or more)? \\| `(\\w+)` \\| `(\\w+)` \\|").FindAllStringSubmatch(kernelPage(t), -1)
	named, alternates := map[int]string{}, map[int]string{}
	for _, line := range table {
		from, _ := strconv.Atoi(line[1]) // a number, by the pattern
		to := from
		switch {
		case line[2] != "":
			to, _ = strconv.Atoi(line[2])
		case strings.Contains(line[0], "or more"):
			to = queens.MaxN - 1
		}
		for below := from; below <= to; below++ {
			named[below], alternates[below] = line[3], line[4]
		}
	}
	for _, k := range vectorKernels() {
		c := newCounter(t, k).(*vectorCounter)
		if c.narrow != nil {
			checkSteps(t, c.narrow.instructionSet, named)
		}
		switch {
		case strings.HasSuffix(k.Name, "-alt"):
			checkAlternates(t, c.wide.instructionSet, alternates)
		case c.wide != nil:
			checkSteps(t, c.wide.instructionSet, named)
		}
	}
}

func checkSteps[T word](t *testing.T, set *instructionSet[T], named map[int]string) {
	for below := 2; below < queens.MaxN; below++ {
		steps := set.steps[min(below, len(set.steps)-1)]
		checkStep(t, below, steps.dense, named[below])
		checkStep(t, below, steps.gaps, named[below]+"Gaps")
	}
}

// checkAlternates checks the steps of a set without steps for rows without gaps.
func checkAlternates[T word](t *testing.T, set *instructionSet[T], named map[int]string) {
	for below := 2; below < queens.MaxN; below++ {
		checkStep(t, below, set.steps[min(below, len(set.steps)-1)].gaps, named[below])
	}
}

func checkStep[T word](t *testing.T, below int, step step[T], want string) {
	function := strings.TrimSuffix(runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name(), ".abi0")
	if want == "" || !strings.HasSuffix(function, want) {
		t.Errorf("%d rows below: the step is %s, docs/kernel.md has %q", below, function, want)
	}
}

// The numbers in docs/kernel.md are those of the code.
func TestKernelPageNumbers(t *testing.T) {
	page := strings.Join(strings.Fields(kernelPage(t)), " ")
	for _, want := range []string{
		fmt.Sprintf("deepest queue that holds %d states or more", minBatch),
		fmt.Sprintf("buffers of a queue have room for %d states", capacity),
		fmt.Sprintf("with the %d in lanes %d KB in 32-bit lanes and %d KB in 16-bit lanes", laneCount,
			unsafe.Sizeof(queue[uint32]{})/1000, unsafe.Sizeof(queue[uint16]{})/1000),
		fmt.Sprintf("while the next queue holds at most %d - %d states, and adds %d at most", capacity, capacity-highWater, laneCount),
		fmt.Sprintf("There are %d queues of 32-bit lanes and %d of 16-bit lanes, %.1f MB a thread in all", queens.MaxN, windowColumns,
			float64(queens.MaxN*unsafe.Sizeof(queue[uint32]{})+windowColumns*unsafe.Sizeof(queue[uint16]{}))/1e6),
		fmt.Sprintf("Every %d steps, queens placed or small searches the kernel checks", pollInterval),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/kernel.md does not say %q", want)
		}
	}
}

func kernelPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kernel.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
