//go:build (amd64 || arm64) && !purego

package kernel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// Steps touch no memory outside their queues, which lie between inaccessible pages. The buffers are
// empty, full or partly filled. Steps store no more states than there is room for.
func TestGuardPages(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	// Kernels with lanes of one width have the same functions, so they are left out.
	kernels := slices.DeleteFunc(vectorKernels(), func(k Kernel) bool {
		return strings.Contains(k.Name, "-")
	})
	for _, k := range testkit.Sample(t, 1, kernels) {
		t.Run(k.Name, func(t *testing.T) {
			c := newCounter(t, k).(*vectorCounter)
			if c.narrow != nil {
				stepBetweenGuardPages(t, c.narrow, windowColumns)
			}
			if c.wide != nil {
				stepBetweenGuardPages(t, c.wide, queens.MaxN)
			}
		})
	}
}

// stepBetweenGuardPages makes steps from each row of the full board of side n, and again if only
// every second row is open.
func stepBetweenGuardPages[T word](t *testing.T, s *search[T], n int) {
	rng := rand.New(rand.NewPCG(5, 6))
	from, to := betweenGuardPages[T](t), betweenGuardPages[T](t)
	b := queens.FullBoard(n)
	for _, gap := range []int{1, 2} {
		rows := make([]Row, n/gap)
		for i := range rows {
			rows[i] = Row{b.Columns(), uint32(gap)}
		}
		s.prepare(rows, b.Columns())
		for row := range s.deepest + 1 {
			for _, length := range []int{0, 1, 63, 64, 65, highWater, highWater + 1, highWater + laneCount,
				capacity - laneCount} {
				for _, m := range []int{0, highWater, highWater + 1} {
					from.clear()
					to.clear()
					from.n, to.n = length, m
					for i := range length {
						p := queens.Prefix{} // for rows 0 to 2: it has the most children, and no step drops one
						for row >= 3 && (p.Row != row || p.Free(&b) == 0) {
							p = wildPrefix(rng, &b, row)
						}
						from.cols[i], from.left[i], from.right[i] = T(p.Cols), T(p.Left), T(p.Right)
					}
					for _, flush := range []bool{false, true} {
						for to.n = m; ; to.n = m {
							held := from.n
							s.chosen[row](from, to, &s.masks[row], flush)
							if to.n > highWater+laneCount {
								t.Fatalf("row %d: %d states", row, to.n)
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

// betweenGuardPages returns an empty queue that ends where an inaccessible page begins.
func betweenGuardPages[T word](t *testing.T) *queue[T] {
	page := syscall.Getpagesize()
	size := (int(unsafe.Sizeof(queue[T]{})) + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) }) // the process ends soon
	for _, guard := range [][]byte{mem[:page], mem[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	q := (*queue[T])(unsafe.Pointer(&mem[page+size-int(unsafe.Sizeof(queue[T]{}))]))
	q.clear()
	return q
}
