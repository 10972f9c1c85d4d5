package ledger_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// EarlyTasks returns, after each opening, the tasks whose accepted result names one of the first statements of its key.
func TestEarlyTasks(t *testing.T) {
	for seed := range uint64(rounds(3, 30)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			const tasks = 20_000 // which several ranges load
			folder := t.TempDir()
			l := create(t, folder, tasks)
			for range 4 {
				for step := range 60 {
					first := rng.Uint64N(tasks - 10)
					if rng.IntN(2) == 0 {
						first = rng.Uint64N(100) // where many meet
					}
					key := string(rune('a' + rng.IntN(6)))
					var chunk []run.Result
					for i := range 1 + rng.Uint64N(10) {
						chunk = append(chunk, signedBy(key, first+i, 5))
					}
					if rng.IntN(4) > 0 { // Results without a statement leave gaps.
						chunk = sealed("a chunk", chunk...)
					}
					if rng.IntN(4) == 0 {
						chunk = chunk[len(chunk)/2:]
					}
					accept(t, l, position(uint64(step)), chunk...)
				}
				if rng.IntN(2) == 0 {
					if err := l.Quarantine(run.QuarantinedKey{Key: string(rune('a' + rng.IntN(6)))}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := revokeAll(l); err != nil {
					t.Fatal(err)
				}
				l = reopened(t, l, folder)
				checkEarlyTasks(t, l, "b")
			}
		})
	}
}

// checkEarlyTasks compares EarlyTasks, without those of a key, with what the statements and the results say.
func checkEarlyTasks(t *testing.T, l *ledger.Ledger, without string) {
	t.Helper()
	early, seen := make(map[uint64]bool), make(map[string]int)
	for number := uint64(1); number <= l.Statements(); number++ {
		s, err := l.Statement(number)
		if err != nil {
			t.Fatal(err)
		}
		early[number] = seen[s.Key] < run.EarlyChunks && s.Key != without
		seen[s.Key]++
	}
	var want []uint64
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		if early[r.StatementID] {
			want = append(want, r.Task)
		}
	}
	got := l.EarlyTasks(func(key string) bool { return key == without })
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the tasks of the first statements are %d, want %d", got, want)
	}
}
