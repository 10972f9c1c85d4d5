//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// mustCount fails the test unless the counter counts the full board of side n right.
func mustCount(t *testing.T, c kernel.Counter, n int) {
	t.Helper()
	board, known := queens.FullBoard(n), uint64(0)
	total, _ := queens.KnownTotal(n)
	known = total.Uint64()
	var pulse atomic.Uint64
	if got, err := c.Count(t.Context(), &board, []queens.Prefix{{}}, &pulse); got != known ||
		err != nil {
		t.Fatalf("n=%d: %d (error %v), want %d", n, got, err, known)
	}
}

// mustClose fails the test unless Close succeeds.
func mustClose(t *testing.T, c kernel.Counter) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// cancelAfterPulse returns a pulse, and a context that ends when a search has advanced the pulse
// three times.
func cancelAfterPulse(t *testing.T) (context.Context, *atomic.Uint64) {
	ctx, cancel := context.WithCancel(t.Context())
	pulse, ended := new(atomic.Uint64), make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		for deadline := time.Now().Add(testkit.Stall); pulse.Load() < 3 && ctx.Err() == nil &&
			time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return ctx, pulse
}

// Counts are right with extreme sizes: launches of a single step, a single lane, a queue with no
// room to spare, and portions of one state.
func TestExtremeSizes(t *testing.T) {
	firstDevice(t)
	for name, s := range map[string]settings{
		"one step a launch":    {minBudget: 1, maxBudget: 1, lanes: 64, group: 64},
		"three steps a launch": {minBudget: 3, maxBudget: 3, lanes: 8, group: 4},
		"one lane":             {lanes: 1, group: 1, minBudget: 50, maxBudget: maxBudget},
		"a queue without a spare": {lanes: 16, group: 16, portion: statesOfLane * 16, minBudget: 20,
			maxBudget: 20},
		"portions of one state":       {lanes: 16, group: 8, portion: 1},
		"portions of seven states":    {lanes: 64, group: 64, portion: 7, minBudget: 5, maxBudget: 100},
		"many groups":                 {lanes: 1024, group: 2},
		"more lanes than states ever": {lanes: 1 << 14, group: 64},

		"warps, one step a launch":    {warps: true, minBudget: 1, maxBudget: 1, lanes: 64},
		"warps, three steps a launch": {warps: true, minBudget: 3, maxBudget: 3, lanes: 32},
		"warps, portions of 32": {warps: true, lanes: 64, portion: 32, minBudget: 20,
			maxBudget: 20},
		"warps, a full queue": {warps: true, lanes: 64, portion: statesOfLane * 64, minBudget: 20,
			maxBudget: 20},
		"warps, all rows saved":   {warps: true, lanes: 64, inside: -1},
		"warps, one row inside":   {warps: true, lanes: 64, inside: 1, minBudget: 50, maxBudget: 50},
		"warps, four rows inside": {warps: true, lanes: 32, inside: 4, minBudget: 7, maxBudget: 100},
		"many warps":              {warps: true, lanes: 64 * 32, inside: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := open(0, s)
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, c)
			for n := 1; n <= 6; n++ {
				mustCount(t, c, n)
			}
			if s.maxBudget == 0 || s.maxBudget > 3 {
				mustCount(t, c, 10)
			}
		})
	}
}

// A count stays exact when the lower of its two words wraps. If there is more than one task, the
// test's kernel begins each count just below the wrap.
func TestCountsOf64Bits(t *testing.T) {
	firstDevice(t)
	const before = 1<<32 - 100
	changed := replaced(t, commonSource+lanesSource, "counts[i] = 0;",
		fmt.Sprintf("counts[i] = tasks > 1 && i %% 2 == 0 ? %du : 0;", uint32(before)))
	c, err := open(0, settings{source: changed})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, c)
	board, got := queens.FullBoard(10), make([]uint64, 2)
	var pulse atomic.Uint64
	tasks := []queens.Task{{Board: board, Prefixes: []queens.Prefix{{}}},
		{Board: board, Prefixes: []queens.Prefix{{}, {}}}}
	if _, err := c.CountTasks(t.Context(), tasks, &pulse, got); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{before + 724, before + 2*724}; !slices.Equal(got, want) {
		t.Errorf("the counts are %v, want %v", got, want)
	}
}

// replaced returns a source with one part replaced by another.
func replaced(t *testing.T, source, part, by string) string {
	t.Helper()
	if strings.Count(source, part) != 1 {
		t.Fatalf("the source has %q %d times, want once", part, strings.Count(source, part))
	}
	return strings.Replace(source, part, by, 1)
}

// If the device computes wrongly or fails, the count ends with ErrDeviceLost. After that the
// counter counts nothing, and can be closed.
func TestDeviceLost(t *testing.T) {
	firstDevice(t)
	for name, by := range map[string]string{ // the self-test of the setup has the task 0 alone
		"states appear":      "if (task == 2 && round == 1) control[SIZE] = size + 1;",
		"too many are taken": "if (task == 2) ADD(&control[NEXT], 3 * LANES());",
		"fewer are taken":    "if (task == 2 && round == 1) control[NEXT] = 0, control[SIZE] = 0;",
		"too many steps":     "if (task == 2) control[MOST] = budget + 1;",
	} {
		for _, warps := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", warps ", warps), func(t *testing.T) {
				source, end := commonSource+lanesSource, "    lanes[lane].base = base;\n"
				if warps {
					source, end = commonSource+warpsSource, "    lanes[LANE()].base = last;\n"
				}
				c, err := open(0, settings{warps: warps, source: replaced(t, source, end, end+by+"\n")})
				if err != nil {
					t.Fatal(err)
				}
				board := queens.FullBoard(8)
				tasks := slices.Repeat([]queens.Task{{Board: board, Prefixes: []queens.Prefix{{}}}}, 3)
				var pulse atomic.Uint64
				for range 2 {
					n, err := c.CountTasks(t.Context(), tasks, &pulse, make([]uint64, 3))
					if n != 0 || !errors.Is(err, kernel.ErrDeviceLost) {
						t.Errorf("%d counts with the error %v, want none with %v", n, err, kernel.ErrDeviceLost)
					}
				}
				mustClose(t, c)
			})
		}
	}
}

// If the machine lacks something, New returns a clear error, and frees what it made.
func TestSetupErrors(t *testing.T) {
	firstDevice(t)
	noStep := "kernel void begin(global int *lanes, global int *counts) {}"
	wrong := replaced(t, commonSource+lanesSource, "found += row.z >> 31;",
		"found += 2 * (row.z >> 31);")
	for name, c := range map[string]struct {
		index    int
		settings settings
		says     []string
	}{
		"no such device": {99, settings{}, []string{"opencl:99", "it has "}},
		"a kernel with an error": {0, settings{source: "kernel void begin( {"},
			[]string{"compiler", "error"}},
		"a kernel is missing": {0, settings{source: noStep}, []string{"clCreateKernel"}},
		"too little memory": {0, settings{lanes: 1 << 40, group: 64, portion: 64},
			[]string{"1099511627776 lanes", "clCreateBuffer"}},
		"a wrong count": {0, settings{source: wrong}, []string{"broken", "for n = 8"}},
	} {
		before := cl.Live()
		counter, err := open(c.index, c.settings)
		if err == nil {
			t.Errorf("%s: no error", name)
			mustClose(t, counter)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", name, part, err)
			}
		}
		if live := cl.Live(); live != before {
			t.Errorf("%s: %d objects of OpenCL after the error, %d before", name, live, before)
		}
	}
	for _, name := range []string{"opencl:-1", "opencl:65536", "opencl:x", "opencl:", "avx2"} {
		if _, err := Kernel(name); err == nil {
			t.Errorf("Kernel(%q) returns no error", name)
		}
	}
}

// Close releases all objects of OpenCL, after a count and after a canceled one.
func TestCloseReleases(t *testing.T) {
	k := firstDevice(t)
	before := cl.Live()
	for _, canceled := range []bool{false, true} {
		c, err := k.New()
		if err != nil {
			t.Fatal(err)
		}
		if cl.Live() == before {
			t.Error("a counter has no objects of OpenCL")
		}
		if canceled {
			ctx, pulse := cancelAfterPulse(t)
			board := queens.FullBoard(20)
			if _, err := c.Count(ctx, &board, []queens.Prefix{{}}, pulse); !errors.Is(err,
				context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		} else {
			mustCount(t, c, 9)
		}
		mustClose(t, c)
		if live := cl.Live(); live != before {
			t.Errorf("%d objects of OpenCL after Close, %d before New", live, before)
		}
	}
}

// The budget follows the time of launches: it grows only if no round ended early, and shrinks at
// once if a launch took too long.
func TestAdapt(t *testing.T) {
	for name, c := range map[string]struct {
		took   time.Duration
		steps  uint64
		early  bool
		budget uint32
	}{
		"fast":          {launchTime / 10, 1000, false, 2000},
		"a bit fast":    {launchTime * 4 / 5, 1000, false, 1250},
		"fast, early":   {launchTime / 10, 900, true, 1000},
		"in time":       {launchTime, 1000, false, 1000},
		"slow":          {launchTime * 2, 1000, false, 500},
		"slow, early":   {launchTime * 2, 500, true, 250},
		"very slow":     {launchTime * 1000, 1000, false, 100},
		"no time, once": {0, 1000, false, 2000},
	} {
		counter := counter{settings: settings{minBudget: 100, maxBudget: 5000}, budget: 1000,
			early: c.early}
		counter.adapt(c.took, c.steps)
		if counter.budget != c.budget || counter.expected > launchTime {
			t.Errorf("%s: the budget is %d for %v, want %d", name, counter.budget, counter.expected,
				c.budget)
		}
	}
}

// Work-groups are halved until their rows and stacks fit into the local memory.
func TestFittingGroup(t *testing.T) {
	for _, c := range []struct{ group, local, most, rows, want int }{
		{64, 48 << 10, slots, slots, 64},
		{64, 48 << 10, slots, mostRows, 64},
		{64, 32 << 10, slots, mostRows, 32},
		{48, 24 << 10, slots, slots, 24},
		{64, 0, slots, slots, 1},
	} {
		counter := counter{settings: settings{group: c.group}, local: c.local}
		if got := counter.fittingGroup(sizes{rows: c.rows, most: c.most}); got != c.want {
			t.Errorf("%+v: the group has %d lanes", c, got)
		}
	}
}

// If a device has too little memory for the lanes that keep it busy, a counter has fewer, and
// counts right. If it has too little for a single group, or for the lanes that the settings ask
// for, that is an error.
func TestLittleMemory(t *testing.T) {
	firstDevice(t)
	for _, warps := range []bool{false, true} {
		whole, err := open(0, settings{warps: warps})
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, whole)
		if whole.Note() != "" {
			t.Errorf("a counter with all its lanes has the note %q", whole.Note())
		}
		before := cl.Live()
		each := (statesOfLane+2*slots)*nodeBytes + statesOfLane*8 + sizeOfLane // or less
		c, err := open(0, settings{warps: warps, memory: each * whole.lanes / 3})
		if err != nil {
			t.Fatal(err)
		}
		if c.lanes >= whole.lanes || c.lanes%c.group != 0 || c.lanes < whole.lanes/8 {
			t.Errorf("warps %t: %d lanes in groups of %d with a third of the memory, %d with all", warps,
				c.lanes, c.group, whole.lanes)
		}
		want := fmt.Sprintf("memory for %d of %d lanes", c.lanes, whole.lanes)
		if !strings.Contains(c.Note(), want) {
			t.Errorf("the note is %q, want %q", c.Note(), want)
		}
		mustCount(t, c, 9)
		mustClose(t, c)
		for _, s := range []settings{{warps: warps, memory: 1000},
			{warps: warps, lanes: whole.lanes, memory: each}} {
			if c, err := open(0, s); !errors.Is(err, cl.ErrMemory) {
				t.Errorf("%+v: error %v", s, err)
				mustClose(t, c)
			}
		}
		if live := cl.Live(); live != before {
			t.Errorf("%d objects of OpenCL after the errors, %d before", live, before)
		}
	}
}

// All devices of the best kind that are available are used. Processors are used only if no driver
// of a GPU lacks its library.
func TestUsable(t *testing.T) {
	gpu, off := cl.Device{Available: true, IsGPU: true}, cl.Device{IsGPU: true}
	processor := cl.Device{Available: true, IsCPU: true}
	missing := fmt.Errorf("a driver: %w",
		cl.MissingError{Maker: "NVIDIA", Library: "lib", Install: "install it"})
	for name, c := range map[string]struct {
		found   []cl.Device
		leftOut error
		want    []int
		says    string
	}{
		"two GPUs":                         {[]cl.Device{gpu, gpu, processor}, nil, []int{0, 1}, ""},
		"a GPU, another without a library": {[]cl.Device{gpu, processor}, missing, []int{0}, ""},
		"a GPU that is not available":      {[]cl.Device{processor, off}, nil, []int{0}, ""},
		"processors": {[]cl.Device{processor, processor},
			errors.New("a bad driver"), []int{0, 1}, ""},
		"a processor, a GPU without": {[]cl.Device{processor}, missing, nil, "install it"},
		"nothing available": {[]cl.Device{off}, errors.New("a bad driver"), nil,
			"a bad driver"},
	} {
		got, err := usable(c.found, c.leftOut)
		if !slices.Equal(got, c.want) || (err != nil) != (c.says != "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
}

// The name of all devices selects the first device here, and processors are named in the note.
// Their kernels together count each on the next device.
func TestAllDevices(t *testing.T) {
	firstDevice(t)
	for name, first := range map[string]string{All: "opencl:0", AllWarps: "opencl-warps:0",
		"opencl:0": "opencl:0", "opencl-warps:0": "opencl-warps:0"} {
		kernels, note, err := Kernels(name)
		if err != nil || len(kernels) < 1 || kernels[0].Name != first || !Selects(name) {
			t.Errorf("%s: %d kernels, note %q, error %v", name, len(kernels), note, err)
		}
	}
	var made []string
	fake := func(name string) kernel.Kernel {
		return kernel.Kernel{Name: name, AtOnce: 7, New: func() (kernel.Counter, error) {
			made = append(made, name)
			return nil, errors.New("no")
		}}
	}
	k := Together("all", []kernel.Kernel{fake("a"), fake("b"), fake("c")})
	for range 4 {
		if _, err := k.New(); err == nil || !strings.Contains(err.Error(), made[len(made)-1]) {
			t.Errorf("error %v", err)
		}
	}
	if !slices.Equal(made, []string{"a", "b", "c", "a"}) || k.AtOnce != 7 || k.Name != "all" {
		t.Errorf("%+v makes counters of %v", k, made)
	}
}
