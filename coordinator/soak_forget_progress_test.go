//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nqueens/pkg/cli/clitest"
)

// forgetProgress is how far a run is, as its coordinator says.
type forgetProgress struct {
	coordinator       *clitest.Process
	done, republished int
}

var forgetDone, forgetRepublished = regexp.MustCompile(`"done":(\d+)`), regexp.MustCompile(`"republished":(\d+)`)

// progress asks the coordinator of a run how far it is.
func (f *forget) progress(r *soakRun) forgetProgress {
	p := forgetProgress{coordinator: r.coordinator}
	if r.coordinator.Lines(counting) == 0 {
		return p // a signal would kill it
	}
	_ = r.coordinator.Cmd.Process.Signal(syscall.SIGUSR1)
	elapse(f.t, 100*time.Millisecond)
	lines := strings.Split(r.coordinator.Log(), "\n")
	for _, line := range slices.Backward(lines) {
		if !strings.Contains(line, `"message":"progress"`) {
			continue
		}
		if m := forgetDone.FindStringSubmatch(line); m != nil {
			p.done, _ = strconv.Atoi(m[1])
		}
		if m := forgetRepublished.FindStringSubmatch(line); m != nil {
			p.republished, _ = strconv.Atoi(m[1])
		}
		break
	}
	return p
}

// table lists what each kind of fault has caused.
func (f *forget) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %5s %10s %10s %11s %8s %8s\n", "fault", "times", "median", "longest", "republished", "restarts", "commands")
	for _, name := range slices.Sorted(maps.Keys(f.tallies)) {
		t := f.tallies[name]
		slices.Sort(t.stalls)
		var median, longest time.Duration
		if n := len(t.stalls); n > 0 {
			median, longest = t.stalls[n/2], t.stalls[n-1]
		}
		fmt.Fprintf(&b, "%-40s %5d %10v %10v %11d %8d %8d\n", name, t.times, median.Round(time.Second/10), longest.Round(time.Second/10), t.republished, t.restarts, t.commands)
	}
	return b.String()
}
