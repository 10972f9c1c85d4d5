//go:build !purego

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

	"nqueens/pkg/queens"
)

// The table in docs/kernel.md names the step that both kernels take, for every number of
// rows below.
func TestKernelPageSteps(t *testing.T) {
	table := regexp.MustCompile("(?m)^\\| (\\d+)(?: to (\\d+)| or more)? \\| `(\\w+)` \\|").FindAllStringSubmatch(kernelPage(t), -1)
	named := map[int]string{}
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
			named[below] = line[3]
		}
	}
	for _, k := range []Kernel{avx512, avx2} {
		steps := k.New().(*vectorCounter).steps
		for below := 2; below < queens.MaxN; below++ {
			function := runtime.FuncForPC(reflect.ValueOf(steps[min(below, len(steps)-1)]).Pointer()).Name()
			want := "." + k.Name + named[below]
			if function = strings.TrimSuffix(function, ".abi0"); !strings.HasSuffix(function, want) {
				t.Errorf("%d rows below: %s steps with %s, docs/kernel.md has %s", below, k.Name, function, want)
			}
		}
	}
}

// The numbers in docs/kernel.md are those of the code.
func TestKernelPageNumbers(t *testing.T) {
	page := strings.Join(strings.Fields(kernelPage(t)), " ")
	for _, want := range []string{
		fmt.Sprintf("deepest queue that holds %d states or more", minBatch),
		fmt.Sprintf("buffers of a queue have room for %d states", capacity),
		fmt.Sprintf("with the %d in lanes", laneCount),
		fmt.Sprintf("while the next queue holds at most %d - %d states, and adds %d at most", capacity, capacity-highWater, laneCount),
		fmt.Sprintf("There are %d queues, %.1f MB a thread", queens.MaxN, float64(reflect.TypeFor[vectorCounter]().Size())/1e6),
		fmt.Sprintf("Every %d steps the kernel checks", pollInterval),
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
