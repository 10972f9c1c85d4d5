//go:build amd64 && !purego

package kernel

import (
	"context"
	"math/bits"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
)

// A counter takes far less memory than the 32 MiB that a thread may use.
func TestCounterIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(vectorCounter{}); size > 2<<20 {
		t.Errorf("a counter takes %d bytes", size)
	}
}

// BenchmarkLongestStep measures the longest step: a queue as long as it can be, of states with as
// many free squares as possible and no surviving child, so that the step never stops early. A
// step can't be interrupted, so it must stay far under a millisecond.
func BenchmarkLongestStep(b *testing.B) {
	for _, k := range vectorKernels() {
		b.Run(k.Name, func(b *testing.B) {
			c := k.New().(*vectorCounter)
			board := queens.Board{N: queens.MaxN}
			board.Allow[0] = board.Columns()
			c.prepare(&board)
			for b.Loop() {
				c.clear()
				from, to := &c.queues[0], &c.queues[1]
				from.n = highWater + laneCount
				c.steps[len(c.steps)-1](from, to, &c.masks[0], true)
			}
		})
	}
}

// The generator has the same offsets in internal/asm/layout.go.
func TestLayout(t *testing.T) {
	var l queue
	var s rowMasks
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"queue.lanes", unsafe.Offsetof(l.lanes), 0},
		{"queue.cols", unsafe.Offsetof(l.cols), 4 * 4 * 64},
		{"queue.left", unsafe.Offsetof(l.left), 4*4*64 + 4*4080},
		{"queue.right", unsafe.Offsetof(l.right), 4*4*64 + 2*4*4080},
		{"queue.n", unsafe.Offsetof(l.n), 4*4*64 + 3*4*4080},
		{"rowMasks.nextRows", unsafe.Offsetof(s.nextRows), 32},
		{"rowMasks.last", unsafe.Offsetof(s.last), 6 * 32},
		{"rowMasks.columns", unsafe.Offsetof(s.columns), 7 * 32},
		{"rowMasks.lastShift", unsafe.Offsetof(s.lastShift), 8 * 32},
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

// Compressing and then expanding by the same mask restores the lanes of the mask, and compressing
// moves them to the front.
func TestPermutationsOfLanes(t *testing.T) {
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

// A vector kernel counts with its assembly, not with the scalar search that it uses for the last
// rows.
func TestAssemblyIsEntered(t *testing.T) {
	b := queens.FullBoard(10)
	for _, k := range vectorKernels() {
		c := k.New().(*vectorCounter)
		if _, err := c.Count(context.Background(), &b, []queens.Prefix{{}}, new(atomic.Uint64)); err != nil || c.stepCalls == 0 {
			t.Errorf("%s: %d steps, %v", k.Name, c.stepCalls, err)
		}
	}
}
