//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

// firstJoin returns the join on the first device.
func firstJoin(t testing.TB) halves.Kernel {
	t.Helper()
	firstDevice(t)
	k, err := Join(JoinPrefix + "0")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newJoin returns a counter of row sets that joins on the first device.
func newJoin(t testing.TB, n int, memory uint64) *halves.Counter {
	t.Helper()
	before := cl.Live()
	c, err := halves.NewCounter(halves.Config{N: n, Kernel: firstJoin(t), Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil || cl.Live() != before {
			t.Errorf("%d objects of OpenCL after Close, %d before: %v", cl.Live(), before, err)
		}
	})
	return c
}

// The join passes the self-test that a worker makes at its start.
func TestJoinSelfTest(t *testing.T) {
	if err := halves.SelfTest(t.Context(), firstJoin(t)); err != nil {
		t.Error(err)
	}
}

// All row sets of a board together have the published total.
func TestJoinTotals(t *testing.T) {
	last := 16
	if testing.Short() {
		last = 14
	}
	for n := 12; n <= last; n++ {
		c, pulse := newJoin(t, n, 0), new(atomic.Uint64)
		known, _ := queens.KnownTotal(n)
		got, err := c.Count(t.Context(), 0, halves.Sets(n), pulse)
		if err != nil || got != known.Uint64() || pulse.Load() == 0 {
			t.Errorf("n=%d: %d (error %v), want %v", n, got, err, known)
		}
	}
}

// Row sets of larger boards have the counts that the threads count, also if lists come in parts.
func TestJoinRowSets(t *testing.T) {
	for _, c := range []struct {
		n      int
		memory uint64
		sets   uint64
	}{{20, 0, 8}, {21, 0, 8}, {20, halves.LeastMemory(20, 0), 4}, {24, 0, 2}} {
		if c.n == 24 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprintf("n=%d,memory=%d", c.n, c.memory), func(t *testing.T) {
			device, pulse := newJoin(t, c.n, c.memory), new(atomic.Uint64)
			threads, err := halves.NewCounter(halves.Config{N: c.n, Kernel: halves.Available()[0]})
			if err != nil {
				t.Fatal(err)
			}
			for number := range c.sets {
				want, err := threads.Count(t.Context(), number, 1, pulse)
				if err != nil {
					t.Fatal(err)
				}
				got, err := device.Count(t.Context(), number, 1, pulse)
				if err != nil || got != want {
					t.Errorf("row set %d has %d (error %v), want %d", number, got, err, want)
				}
			}
		})
	}
}

// smallRoom is the size of small lists.
var smallRoom = halves.Room{Masks: 1 << 10, Cells: 1 << 10}

// A canceled count returns in time. The same counter then counts right.
func TestJoinCancel(t *testing.T) {
	const n = 20
	c := newJoin(t, n, 0)
	want, err := c.Count(t.Context(), 5, 1, new(atomic.Uint64))
	if err != nil {
		t.Fatal(err)
	}
	ctx, pulse := cancelAfterPulse(t)
	got, err := c.Count(ctx, 0, halves.Sets(n), pulse)
	if got != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled count returns %d with the error %v", got, err)
	}
	if got, err := c.Count(t.Context(), 5, 1, pulse); got != want || err != nil {
		t.Errorf("the next count returns %d with the error %v, want %d", got, err, want)
	}
}

// If a device hangs, a join ends with ErrDeviceLost, and so do all that follow.
func TestJoinOnHangingDevice(t *testing.T) {
	firstDevice(t)
	j, err := openJoiner(0, smallRoom)
	if err != nil {
		t.Fatal(err)
	}
	j.tick = time.Millisecond
	answer := make(chan struct{})
	j.steps <- func(*joiner) error { <-answer; return nil }
	for range 2 {
		got, err := j.Join(t.Context(), &halves.Lists{Streamed: [2][]uint64{{1}}}, new(atomic.Uint64))
		if got != 0 || !errors.Is(err, kernel.ErrDeviceLost) {
			t.Errorf("%d pairs with the error %v, want %v", got, err, kernel.ErrDeviceLost)
		}
	}
	close(answer)
	if err := j.Close(); !errors.Is(err, errSilent) {
		t.Errorf("Close returns %v", err)
	}
}

// A unit without a result of its own launch is an error, not an old result.
func TestJoinWithoutResult(t *testing.T) {
	firstDevice(t)
	source := joinSource
	defer func() { joinSource = source }()
	const stamp = "found[GROUP()].stamp ="
	joinSource = replaced(t, source, stamp, "if (launch == 1) "+stamp)
	c, err := halves.NewCounter(halves.Config{N: 16, Kernel: firstJoin(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, c)
	got, err := c.Count(t.Context(), 0, 2, new(atomic.Uint64))
	if got != 0 || !errors.Is(err, kernel.ErrBroken) {
		t.Errorf("%d with the error %v, want %v", got, err, kernel.ErrBroken)
	}
}

// mustEnd fails the test unless Close succeeds.
func mustEnd(t *testing.T, c *halves.Counter) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A launch has as many units as take launchTime, but at most twice as many as were allowed before.
// The last launch of a join changes nothing.
func TestUnitsOfALaunch(t *testing.T) {
	for _, c := range []struct {
		atOnce, units int
		took          time.Duration
		want          int
	}{
		{64, 64, launchTime, 64},
		{64, 64, launchTime / 10, 128},
		{64, 64, 4 * launchTime, 16},
		{64, 1, 4 * launchTime, 1},
		{64, 10, launchTime / 10, 64},
		{unitsAtOnce, unitsAtOnce, 0, unitsAtOnce},
	} {
		j := joiner{atOnce: c.atOnce, units: make([]halves.Unit, c.units)}
		j.adapt(c.took)
		if j.atOnce != c.want || j.expected > launchTime {
			t.Errorf("%+v: %d units for %v", c, j.atOnce, j.expected)
		}
	}
}

// What the device lacks, and a name that is none, are errors that say so.
func TestJoinErrors(t *testing.T) {
	firstDevice(t)
	before := cl.Live()
	_, err := openJoiner(0, halves.Room{Masks: 1 << 50, Cells: 1})
	if err == nil || !strings.Contains(err.Error(), "masks: ") || cl.Live() != before {
		t.Errorf("too many masks: error %v, %d objects of OpenCL are left", err, cl.Live()-before)
	}
	if _, err := openJoiner(77, smallRoom); err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("no such device: error %v", err)
	}
	for _, name := range []string{
		"opencl-join:", "opencl-join:x", "opencl:0", "opencl-join:65536", "0",
	} {
		if _, err := Join(name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}
