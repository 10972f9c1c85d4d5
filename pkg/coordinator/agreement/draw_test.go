package agreement

import (
	"math"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// The draw chooses a share of the tasks, whatever the order in which it is asked; another seed chooses others.
func TestDraw(t *testing.T) {
	rng := testkit.Rand(t)
	const tasks = 1 << 17
	for _, share := range []float64{0, 0.01, 0.3, 1} {
		one, same, other := draw{share: share}, draw{share: share}, draw{share: share, seed: [32]byte{1}}
		chosen, both := 0, 0
		for id := range uint64(tasks) {
			if !one.has(id) {
				continue
			}
			chosen++
			if other.has(id) {
				both++
			}
		}
		check := func(what string, got, p float64) {
			if deviation := 6 * math.Sqrt(tasks*p*(1-p)); math.Abs(got-tasks*p) > deviation {
				t.Errorf("share %v: %v %s, want %v ± %v", share, got, what, tasks*p, deviation)
			}
		}
		check("are chosen", float64(chosen), share)
		check("are chosen by both seeds", float64(both), share*share)
		for range 1000 {
			if id := rng.Uint64N(tasks); same.has(id) != one.has(id) {
				t.Fatalf("share %v: task %d is chosen or not", share, id)
			}
		}
	}
}

// A task that the same voters count in vain pauses longer each time, up to a minute.
func TestVainPause(t *testing.T) {
	for vain, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
		if got := vainPause(vain); got != want {
			t.Errorf("after %d counts in vain the pause is %v, want %v", vain, got, want)
		}
	}
	if got := vainPause(math.MaxInt); got != time.Minute {
		t.Errorf("after many counts the pause is %v", got)
	}
}

// The bitmap finds each task in it, in order.
func TestBitmap(t *testing.T) {
	rng := testkit.Rand(t)
	for _, size := range []uint64{1, 63, 64, 65, 200} {
		b, model := newBitmap(size), make([]bool, size)
		for range 300 {
			id, in := rng.Uint64N(size), rng.IntN(2) == 0
			b.put(id, in)
			model[id] = in
			at, count := uint64(0), uint64(0)
			for id, ok := b.next(0); ok; id, ok = b.next(id + 1) {
				for ; at < id; at++ {
					if model[at] {
						t.Fatalf("size %d: next skips %d", size, at)
					}
				}
				if !model[id] || !b.has(id) {
					t.Fatalf("size %d: next finds %d", size, id)
				}
				at, count = id+1, count+1
			}
			if count != b.count {
				t.Fatalf("size %d: the count is %d, want %d", size, b.count, count)
			}
		}
	}
}
