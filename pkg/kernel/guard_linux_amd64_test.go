//go:build !purego

package kernel

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
)

// Steps stay inside queues that lie between inaccessible pages, with buffers empty, full and in
// between, and store no more states than there is room for.
func TestGuardPages(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	const page = 4096
	size := (int(unsafe.Sizeof(queue{})) + page - 1) / page * page
	place := func() *queue {
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
		l := (*queue)(unsafe.Pointer(&mem[page+size-int(unsafe.Sizeof(queue{}))]))
		l.clear()
		return l
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, k := range vectorKernels() {
		from, to := place(), place()
		c := k.New().(*vectorCounter)
		b := queens.FullBoard(32)
		for row := range 30 {
			c.prepare(&b)
			for _, n := range []int{0, 1, 63, 64, 65, highWater, highWater + 1, highWater + laneCount, capacity - laneCount} {
				for _, m := range []int{0, highWater, highWater + 1} {
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
							c.steps[min(c.masks[row].rowsBelow(), len(c.steps)-1)](from, to, &c.masks[row], flush)
							if to.n > highWater+laneCount {
								t.Fatalf("%s row %d: %d states", k.Name, row, to.n)
							}
							if m > highWater || from.n == held {
								break
							}
						}
					}
				}
			}
		}
	}
}
