//go:build opencl && linux

package opencl

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/queens"
)

// A search never has more problems than its bounds say, its rows fit, and the searches of a call
// have all tasks in order.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 200 {
		tasks := randomTasks(rng, rng.IntN(60), 1+rng.IntN(30))
		var c counter
		c.together = 1
		if len(tasks) > 0 {
			c.part(tasks[:1])
			alone := c.bounds.sizes
			c.part(slices.Repeat(tasks[:1], 5))
			if c.bounds.sizes != alone {
				t.Errorf("a task needs %+v, and five times as many %+v", alone, c.bounds.sizes)
			}
		}
		for next := 0; next < len(tasks); {
			part := c.part(tasks[next:])
			if len(part) == 0 || &part[0] != &tasks[next] {
				t.Fatalf("a part of %d tasks, of which the first is not the next one", len(part))
			}
			if len(part) > 1 && c.bounds.rows > commonRows {
				t.Errorf("%d tasks have %d rows", len(part), c.bounds.rows)
			}
			next += len(part)
			c.start(part, make([]uint64, len(part)))
			nodes, places := make([]node, 50), make([]place, 50)
			for n := 1; n > 0; {
				n = c.fill(t.Context(), nodes, places)
			}
			if !c.ended() || c.filled > c.bounds.rows {
				t.Errorf("%d rows are filled, and %d are the bound", c.filled, c.bounds.rows)
			}
			for _, p := range c.problems {
				if rows := p.last - p.first + 1; rows > c.bounds.most || rows < minRows {
					t.Errorf("a problem of %d rows: the bound is %d", rows, c.bounds.most)
				}
			}
		}
	}
}

// A task with prefixes of all depths of the largest board has as many rows as there is room for.
func TestMostRows(t *testing.T) {
	task := queens.Task{Board: queens.FullBoard(queens.MaxN)}
	for depth := range queens.MaxN + 1 {
		task.Prefixes = append(task.Prefixes, queens.Prefix{Row: depth})
	}
	var c counter
	if part := c.part([]queens.Task{task}); len(part) != 1 || c.bounds.rows != mostRows ||
		c.bounds.most != slots {
		t.Errorf("%d tasks, %d rows, want %d", len(part), c.bounds.rows, mostRows)
	}
}

// In a queue whose places have several states, the states of a place are of one task and one
// problem, and states without a free square fill up the end of a place.
func TestPlacesOfSeveralStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	tasks := randomTasks(rng, 40, 5)
	states := func(together, length int) (sum int) {
		c := counter{feed: feed{together: together}}
		c.start(c.part(tasks), make([]uint64, len(tasks)))
		nodes, places := make([]node, length), make([]place, length/together)
		for n := c.fill(t.Context(), nodes, places); n > 0; n = c.fill(t.Context(), nodes, places) {
			if n%together != 0 {
				t.Fatalf("%d states in places of %d", n, together)
			}
			for i, s := range nodes[:n] {
				if s.free != 0 {
					sum++
				}
				if i%together == 0 && s.free == 0 || i%together > 0 && s.free != 0 && nodes[i-1].free == 0 {
					t.Errorf("a state without a free square is before others of its place")
				}
			}
		}
		return sum
	}
	if one, warp := states(1, 64), states(warpLanes, 64); one != warp || one == 0 {
		t.Errorf("%d states one by one, %d in places of %d", one, warp, warpLanes)
	}
}
