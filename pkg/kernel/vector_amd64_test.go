//go:build !purego && linux

package kernel

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"os"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
)

// The generator has these offsets in internal/asm/layout.go.
func TestLayout(t *testing.T) {
	var l level
	var s sight
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"level.flight", unsafe.Offsetof(l.flight), 0},
		{"level.cols", unsafe.Offsetof(l.cols), 4 * 4 * 64},
		{"level.left", unsafe.Offsetof(l.left), 4*4*64 + 4*4080},
		{"level.right", unsafe.Offsetof(l.right), 4*4*64 + 2*4*4080},
		{"level.n", unsafe.Offsetof(l.n), 4*4*64 + 3*4*4080},
		{"sight.ahead", unsafe.Offsetof(s.ahead), 32},
		{"sight.last", unsafe.Offsetof(s.last), 6 * 32},
		{"sight.columns", unsafe.Offsetof(s.columns), 7 * 32},
		{"sight.far", unsafe.Offsetof(s.far), 8 * 32},
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

// Steps between levels that lie against pages which may not be touched stay inside,
// with buffers empty, full, and in between, and leave no more states than there is
// room for.
func TestGuardPages(t *testing.T) {
	const page = 4096
	size := (int(unsafe.Sizeof(level{})) + page - 1) / page * page
	place := func() *level {
		mem, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Munmap(mem) }) // the process ends soon
		for _, guard := range [][]byte{mem[:page], mem[page+size:]} {
			if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		l := (*level)(unsafe.Pointer(&mem[page+size-int(unsafe.Sizeof(level{}))]))
		l.clear()
		return l
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, k := range vectorKernels() {
		from, to := place(), place()
		c := k.New().(*vectorCounter)
		b := queens.FullBoard(32)
		for row := range 30 {
			c.look(&b)
			for _, n := range []int{0, 1, 63, 64, 65, full, full + 1, full + inFlight, capacity - inFlight} {
				for _, m := range []int{0, full, full + 1} {
					from.clear()
					to.clear()
					from.n, to.n = n, m
					for i := range n {
						p := queens.Prefix{} // above row 3: the most children, none of them dropped
						for row >= 3 && (p.Row != row || p.Free(&b) == 0) {
							p = wildPrefix(rng, &b, row)
						}
						from.cols[i], from.left[i], from.right[i] = p.Cols, p.Left, p.Right
					}
					for _, flush := range []bool{false, true} {
						for to.n = m; ; to.n = m {
							held := from.n
							c.steps[min(c.sights[row].below(), len(c.steps)-1)](from, to, &c.sights[row], flush)
							if to.n > full+inFlight {
								t.Fatalf("%s row %d: %d states", k.Name, row, to.n)
							}
							if m > full || from.n == held {
								break
							}
						}
					}
				}
			}
		}
	}
}

// A vector packed and spread by the same mask of lanes has in these what it had
// before, and the packed lanes lie in front.
func TestOrdersOfLanes(t *testing.T) {
	for m := range packs {
		n := uint32(bits.OnesCount(uint(m)))
		for lane := range uint32(8) {
			if m>>lane&1 == 0 {
				continue
			}
			if at := spreads[m][lane]; at >= n || packs[m][at] != lane {
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
		if _, err := c.Count(context.Background(), &b, []queens.Prefix{{}}, new(atomic.Uint64)); err != nil || c.calls == 0 {
			t.Errorf("%s: %d steps, %v", k.Name, c.calls, err)
		}
	}
}
