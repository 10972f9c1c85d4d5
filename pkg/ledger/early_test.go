package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// EarlyTasks returns, after each opening, the tasks whose accepted result names one of the first reports of its key.
func TestEarlyTasks(t *testing.T) {
	for seed := range uint64(rounds(8, 200)) {
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
					var chunk []queens.Result
					for i := range 1 + rng.Uint64N(10) {
						chunk = append(chunk, signedBy(key, first+i, 5))
					}
					if rng.IntN(4) > 0 { // Results without a report leave gaps.
						chunk = sealed("a chunk", chunk...)
					}
					if rng.IntN(4) == 0 {
						chunk = chunk[len(chunk)/2:]
					}
					accept(t, l, position(uint64(step)), chunk...)
				}
				if rng.IntN(2) == 0 {
					if err := l.Quarantine(ledger.Quarantined{Key: string(rune('a' + rng.IntN(6)))}); err != nil {
						t.Fatal(err)
					}
				}
				l = reopened(t, l, folder)
				for _, most := range []int{0, 1, 3, 20} {
					checkEarlyTasks(t, l, most, "b")
				}
			}
		})
	}
}

// checkEarlyTasks compares EarlyTasks, without those of a key, with what the reports and the results say.
func checkEarlyTasks(t *testing.T, l *ledger.Ledger, most int, without string) {
	t.Helper()
	early, seen := make(map[uint64]bool), make(map[string]int)
	for number := uint64(1); number <= l.Reports(); number++ {
		s, err := l.Report(number)
		if err != nil {
			t.Fatal(err)
		}
		early[number] = seen[s.Key] < most && s.Key != without
		seen[s.Key]++
	}
	var want []uint64
	for r, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		if early[r.Report] {
			want = append(want, r.Task)
		}
	}
	got := slices.Sorted(l.EarlyTasks(most, func(key string) bool { return key == without }))
	if !slices.Equal(got, want) {
		t.Errorf("the tasks of the first %d reports are %d, want %d", most, got, want)
	}
}

// A confirmation that takes the place of a damaged result makes its task an early one.
func TestEarlyTaskOfARestoredResult(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	for i, key := range []string{"a", "b"} {
		accept(t, l, position(uint64(i)), sealed("a chunk", signedBy(key, 3, 5))...)
	}
	closed(t, l)
	data := fileBytes(t, folder)
	data[recordOf(t, data, 3)+10] ^= 0x10
	if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	skip := func(key string) bool { return key == "a" }
	if got := slices.Collect(open(t, openWriter, folder).EarlyTasks(1, skip)); !slices.Equal(got, []uint64{3}) {
		t.Errorf("the early tasks are %d", got)
	}
}

// EarlyTasks stops when its caller does.
func TestEarlyTasksStop(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, position(1), sealed("a chunk", signedBy("a", 3, 5), signedBy("a", 4, 5))...)
	for task := range reopened(t, l, folder).EarlyTasks(1, func(string) bool { return false }) {
		if task != 3 {
			t.Errorf("after the first, there is task %d", task)
		}
		break
	}
}
