package count_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// Every kernel counts as many solutions as the plain search finds with queens on the placed
// squares: for any square of a small board, and for any two whose queens do not attack each other.
func TestPlaced(t *testing.T) {
	for n := 1; n <= 6; n++ {
		solutions := slices.Collect(oracle.Boards(n))
		var placements [][]queens.Square
		for i := range n * n {
			first := queens.Square{Row: i / n, Column: i % n}
			placements = append(placements, []queens.Square{first})
			for j := range i {
				second := queens.Square{Row: j / n, Column: j % n}
				if !first.Attacks(second) {
					placements = append(placements, []queens.Square{second, first})
				}
			}
		}
		for _, placed := range testkit.Sample(t, 12, placements) {
			expectPlaced(t, n, solutions, placed...)
		}
	}
}

// The same holds on larger boards, for any number of placed queens. They are queens of a solution,
// so that the count is not 0, or random queens that do not attack each other.
func TestRandomPlaced(t *testing.T) {
	for n := 8; n <= 11; n++ {
		solutions := slices.Collect(oracle.Boards(n))
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			solution := solutions[rng.IntN(len(solutions))]
			var placed []queens.Square
			for range rng.IntN(n) {
				s := queens.Square{Row: rng.IntN(n), Column: rng.IntN(n)}
				if seed%4 > 0 {
					s.Column = solution[s.Row]
				}
				if queens.ValidatePlaced(n, append(placed, s)) == nil {
					placed = append(placed, s)
				}
			}
			expectPlaced(t, n, solutions, placed...)
		}
		var all []queens.Square
		for row, column := range solutions[0] {
			all = append(all, queens.Square{Row: row, Column: column})
		}
		expectPlaced(t, n, solutions, all...)
	}
}

// The counts with the top queen on each square of its row add up to the published total.
func TestPlacedMakeTheTotal(t *testing.T) {
	const n = 11
	for _, k := range kernel.Available() {
		var sum int64
		for column := range n {
			job := count.Job{Method: queens.Prefixes, N: n, Symmetry: queens.None,
				Placed: []queens.Square{{Row: 0, Column: column}}, Kernel: k, Threads: 2}
			got, err := count.Run(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			sum += got.Int64()
		}
		if known, _ := queens.KnownTotal(n); sum != known.Int64() {
			t.Errorf("%s: the sum is %d, want %v", k.Name, sum, known)
		}
	}
}

func expectPlaced(t *testing.T, n int, solutions [][]int, placed ...queens.Square) {
	t.Helper()
	var want int64
	for _, solution := range solutions {
		if !slices.ContainsFunc(placed, func(s queens.Square) bool {
			return solution[s.Row] != s.Column
		}) {
			want++
		}
	}
	for _, k := range kernel.Available() {
		got, err := count.Run(t.Context(),
			count.Job{Method: queens.Prefixes, N: n, Symmetry: queens.None, Placed: placed, Kernel: k,
				Threads: 2})
		if err != nil || got.Int64() != want {
			t.Errorf("%s, n=%d, queens on %v: %v (error %v), want %d", k.Name, n, placed, got, err, want)
		}
	}
}

// If the placed queens are invalid, Run returns an error and no total.
func TestInvalidPlaced(t *testing.T) {
	for _, job := range []count.Job{
		{N: 8, Symmetry: queens.Full, Placed: []queens.Square{{Row: 0, Column: 0}}},
		{N: 8, Symmetry: queens.None, Placed: []queens.Square{{Row: 0, Column: 8}}},
		{N: 8, Symmetry: queens.None, Placed: []queens.Square{{Row: 0, Column: 0}, {Row: 1, Column: 1}}},
	} {
		job.Threads, job.Kernel = 1, kernel.Available()[0]
		if got, err := count.Run(t.Context(), job); err == nil || got != nil {
			t.Errorf("%+v: %v (error %v)", job, got, err)
		}
	}
}
