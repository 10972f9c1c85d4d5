package split_test

import (
	"math"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// The shares of all tasks add up to 1, and each is from 0 to 1, for boards of any side and any
// depth, also if whole classes have no task or no solution.
func TestSharesAreOne(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for _, s := range symmetries {
			checkShares(t, mustPlan(t, n, s, 0))
		}
	}
	for _, m := range manifests(t) {
		checkShares(t, m)
	}
}

func checkShares(t *testing.T, m queens.Manifest) {
	t.Helper()
	var sum float64
	shares := split.Shares(&m)
	if len(shares) != len(m.Classes) {
		t.Fatalf("%d shares for %d classes", len(shares), len(m.Classes))
	}
	for i, share := range shares {
		if !(share >= 0 && share <= 1) || (share > 0) != (m.TasksOf(i) > 0) {
			t.Errorf("n=%d %s: class %d of %d tasks has the share %v", m.N, m.Symmetry, i, m.TasksOf(i),
				share)
		}
		sum += share * float64(m.TasksOf(i))
	}
	want := 1.0
	if m.Tasks == 0 {
		want = 0
	}
	if !(math.Abs(sum-want) < 1e-9) {
		t.Errorf("n=%d %s: the shares of %d tasks are %v together, want %v", m.N, m.Symmetry, m.Tasks,
			sum, want)
	}
}

// tried returns the number of squares on which a kernel tries a queen below a prefix. The kernel
// goes on only if each of the next two rows and the last row keeps a free square.
func tried(b *queens.Board, p queens.Prefix) (squares float64) {
	if p.Row == b.N {
		return 0
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		squares++
		next, last := p.Place(b, free&-free), p.Place(b, free&-free)
		if next.Row == b.N {
			continue
		}
		after := queens.Prefix{Row: next.Row + 1, Cols: next.Cols, Left: next.Left << 1,
			Right: next.Right >> 1}
		for last.Row < b.N-1 {
			last = queens.Prefix{Row: last.Row + 1, Cols: last.Cols, Left: last.Left << 1,
				Right: last.Right >> 1}
		}
		if next.Free(b) != 0 && last.Free(b) != 0 && (after.Row == b.N || after.Free(b) != 0) {
			squares += tried(b, next)
		}
	}
	return squares
}

// For each class with more than 2% of the work, the estimated share is within a factor of two of
// the true one. The true share comes from the exact number of squares that kernels try.
func TestSharesFollowTheWork(t *testing.T) {
	for _, n := range []int{10, 12, 13} {
		for _, s := range symmetries {
			m := mustPlan(t, n, s, 0)
			var all float64
			counted := make([]float64, len(m.Classes))
			for task := range allTasks(t, &m) {
				for _, p := range task.Prefixes {
					cost := tried(&task.Board, p)
					counted[m.ClassOf(task.ID)] += cost
					all += cost
				}
			}
			for i, share := range split.Shares(&m) {
				estimate, truth := share*float64(m.TasksOf(i)), counted[i]/all
				if max(estimate, truth) > 0.02 && (estimate > 2*truth || estimate < truth/2) {
					t.Errorf("n=%d %s: class %d is estimated to be %v of the work, and is %v", n, s, i, estimate,
						truth)
				}
			}
		}
	}
}

// The part of the work that is done grows with each task. It is 1 only if all tasks are done.
func TestWorkDone(t *testing.T) {
	for _, n := range []int{1, 2, 6, 12} {
		m := mustPlan(t, n, queens.Full, 0)
		shares, done := split.Shares(&m), make([]uint64, len(m.Classes))
		before := -1.0
		for i := range m.Classes {
			for range m.TasksOf(i) {
				work := split.WorkDone(&m, shares, done)
				if !(work > before && work < 1) {
					t.Fatalf("n=%d: with %d tasks of each class done, the share is %v after %v", n, done, work,
						before)
				}
				before = work
				done[i]++
			}
			if work, want := split.WorkDone(&m, nil, done), split.WorkDone(&m, shares, done); work != want {
				t.Errorf("n=%d: with its own shares it is %v, want %v", n, work, want)
			}
		}
		if work := split.WorkDone(&m, shares, done); work != 1 {
			t.Errorf("n=%d: with all tasks done, the share is %v", n, work)
		}
	}
}
