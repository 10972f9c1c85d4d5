package agreement_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/testkit"
)

// move is a move of a task from a state to another.
type move struct{ from, to string }

// The table of the package comment, the table in the code, and what happens in random lives are the same: every move
// of the table happens, and no other.
func TestTableOfStates(t *testing.T) {
	documented := documentedMoves(t)
	coded := make(map[move]bool)
	for from, all := range agreement.Next {
		for _, to := range all {
			coded[move{agreement.State(from).String(), to.String()}] = true
		}
	}
	for m := range coded {
		if !documented[m] {
			t.Errorf("the package comment lacks %s -> %s", m.from, m.to)
		}
	}
	for m := range documented {
		if !coded[m] {
			t.Errorf("the code does not allow %s -> %s", m.from, m.to)
		}
	}
	seen := observedMoves(t, len(coded))
	for m := range coded {
		if !seen[m] {
			t.Errorf("%s -> %s does not happen", m.from, m.to)
		}
	}
	for m := range seen {
		if !coded[m] {
			t.Errorf("%s -> %s happens", m.from, m.to)
		}
	}
}

// documentedMoves returns the moves of the table in the package comment, whose lines are "from, from -> to, to  why".
func documentedMoves(t *testing.T) map[move]bool {
	t.Helper()
	source, err := os.ReadFile("agreement.go")
	if err != nil {
		t.Fatal(err)
	}
	moves := make(map[move]bool)
	for line := range strings.Lines(string(source)) {
		from, rest, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "//\t"), " -> ")
		if !found {
			continue
		}
		targets, _, _ := strings.Cut(strings.TrimSpace(rest), "  ")
		for one := range strings.SplitSeq(from, ", ") {
			for to := range strings.SplitSeq(targets, ", ") {
				moves[move{one, to}] = true
			}
		}
	}
	return moves
}

// observedMoves returns the moves that happen in random lives, until there are as many as the code has. It plays them
// with a table that is empty at first: a move that the table lacks panics, and is added.
func observedMoves(t *testing.T, coded int) map[move]bool {
	rng := testkit.Rand(t)
	table := slices.Clone(agreement.Next[:])
	defer func() { copy(agreement.Next[:], table) }()
	clear(agreement.Next[:])
	names := make(map[string]agreement.State)
	for s := range agreement.State(agreement.States) {
		names[s.String()] = s
	}
	moves := make(map[move]bool)
	for lives := 0; lives < 1000 || lives < 100_000 && len(moves) < coded; lives++ {
		m, panicked := playLife(newLife(t, rng))
		if panicked {
			moves[m] = true
			agreement.Next[names[m.from]] = append(agreement.Next[names[m.from]], names[m.to])
		}
	}
	return moves
}

// playLife plays a life, and returns the move that panicked.
func playLife(y *life) (m move, panicked bool) {
	defer func() {
		if text := recover(); text != nil {
			var id uint64
			if n, _ := fmt.Sscanf(fmt.Sprint(text), "task %d moves from %s to %s", &id, &m.from, &m.to); n < 3 {
				panic(text)
			}
			panicked = true
		}
	}()
	for range 60 + y.rng.IntN(100) {
		y.step()
	}
	y.finish()
	return m, false
}
