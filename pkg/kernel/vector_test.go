//go:build amd64 && !purego

package kernel

import (
	"context"
	"math/bits"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"nqueens/pkg/queens"
)

// A counter takes far less than the 32 MiB that a thread may have.
func TestCounterIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(vectorCounter{}); size > 2<<20 {
		t.Errorf("a counter takes %d bytes", size)
	}
}

// A call into assembly can't be interrupted, so it must be short: under a
// millisecond for the most that a level can hold, each state with as many squares to
// try as there can be and no child that is kept, so that the step never stops early.
// The best of several tries is judged, since the machine may be busy.
func TestStepsAreShort(t *testing.T) {
	for _, k := range vectorKernels() {
		c := k.New().(*vectorCounter)
		for row := range queens.MaxN - 2 {
			b := queens.Board{N: queens.MaxN}
			b.Allow[row] = b.Columns()
			c.prepare(&b)
			best := time.Hour
			for range 5 {
				c.clear()
				from, to := &c.queues[row], &c.queues[row+1]
				from.n = highWater + laneCount
				for i := range from.n {
					from.cols[i], from.left[i], from.right[i] = 1<<row-1, 0, 0
				}
				start := time.Now()
				c.steps[min(c.masks[row].rowsBelow(), len(c.steps)-1)](from, to, &c.masks[row], true)
				best = min(best, time.Since(start))
			}
			if row == 0 {
				t.Logf("%s: %v", k.Name, best)
			}
			if best > time.Millisecond {
				t.Errorf("%s, row %d: a step takes %v", k.Name, row, best)
			}
		}
	}
}

// The generator has these offsets in internal/asm/layout.go.
func TestLayout(t *testing.T) {
	var l queue
	var s rowMasks
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"level.flight", unsafe.Offsetof(l.lanes), 0},
		{"level.cols", unsafe.Offsetof(l.cols), 4 * 4 * 64},
		{"level.left", unsafe.Offsetof(l.left), 4*4*64 + 4*4080},
		{"level.right", unsafe.Offsetof(l.right), 4*4*64 + 2*4*4080},
		{"level.n", unsafe.Offsetof(l.n), 4*4*64 + 3*4*4080},
		{"sight.ahead", unsafe.Offsetof(s.nextRows), 32},
		{"sight.last", unsafe.Offsetof(s.last), 6 * 32},
		{"sight.columns", unsafe.Offsetof(s.columns), 7 * 32},
		{"sight.far", unsafe.Offsetof(s.lastShift), 8 * 32},
	} {
		if c.got != c.want {
			t.Errorf("%s is at %d, not at %d", c.name, c.got, c.want)
		}
	}
}

// The assembler encodes an instruction on registers from 16 on as AVX-512.
func TestAVX2NeedsNoMore(t *testing.T) {
	text, err := os.ReadFile("avx2_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if x := regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`).Find(text); x != nil {
		t.Errorf("avx2 uses register %s", x)
	}
}

// A vector packed and spread by the same mask of lanes has in these what it had
// before, and the packed lanes lie in front.
func TestOrdersOfLanes(t *testing.T) {
	for m := range compressPerm {
		n := uint32(bits.OnesCount(uint(m)))
		for lane := range uint32(8) {
			if m>>lane&1 == 0 {
				continue
			}
			if at := expandPerm[m][lane]; at >= n || compressPerm[m][at] != lane {
				t.Errorf("lanes %08b: lane %d is packed to %d", m, lane, at)
			}
		}
	}
}

// What counts on a vector kernel is its assembly, not the scalar search it falls
// back on for the last rows.
func TestAssemblyIsEntered(t *testing.T) {
	b := queens.FullBoard(10)
	for _, k := range vectorKernels() {
		c := k.New().(*vectorCounter)
		if _, err := c.Count(context.Background(), &b, []queens.Prefix{{}}, new(atomic.Uint64)); err != nil || c.stepCalls == 0 {
			t.Errorf("%s: %d steps, %v", k.Name, c.stepCalls, err)
		}
	}
}
