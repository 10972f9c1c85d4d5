package ledger_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// figures are those of a ledger, as a test compares them.
type figures struct {
	solutions string // By k.
	coreTime  time.Duration
	workers   map[string]uint64
}

// recomputedFigures returns the figures of the accepted results, which it reads from the file.
func recomputedFigures(t *testing.T, l *ledger.Ledger) figures {
	t.Helper()
	f := figures{workers: make(map[string]uint64)}
	var solutions [9]big.Int
	m := l.Header().Manifest
	for r, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		sum := &solutions[m.Classes[m.ClassOf(r.Task)].K]
		sum.Add(sum, new(big.Int).SetUint64(r.Count))
		f.coreTime += r.Elapsed
		if !r.IsOwn() {
			f.workers[r.Worker]++
		}
	}
	for k := 1; k <= 8; k++ {
		f.solutions += solutions[k].String() + " "
	}
	return f
}

// checkFigures compares the kept figures with those of the accepted results.
func checkFigures(t *testing.T, l *ledger.Ledger, after string) {
	t.Helper()
	want, kept := recomputedFigures(t, l), l.Figures()
	got := figures{coreTime: kept.CoreTime(), workers: make(map[string]uint64)}
	for k := 1; k <= 8; k++ {
		got.solutions += new(kept.Solutions(k)).Big().String() + " "
	}
	for worker := range want.workers {
		got.workers[worker] = kept.Tasks(worker)
	}
	if got.solutions != want.solutions || got.coreTime != want.coreTime || !maps.Equal(got.workers, want.workers) || kept.Workers() != len(want.workers) {
		t.Fatalf("after %s the figures are %+v of %d workers, want %+v", after, got, kept.Workers(), want)
	}
}

// The kept figures are those of the accepted results, after any results, quarantines and openings.
func TestFigures(t *testing.T) {
	for seed := range uint64(rounds(8, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 27))
			folder := t.TempDir()
			l := create(t, folder, 60)
			checkFigures(t, l, "Create")
			for step := range 40 {
				switch rng.IntN(8) {
				case 0:
					l = reopened(t, l, folder)
					checkFigures(t, l, "Open")
				case 1:
					key := string(rune('a' + rng.IntN(8)))
					if err := l.Quarantine(ledger.Quarantined{Key: key}); err != nil {
						t.Fatal(err)
					}
					for more := true; more; {
						var err error
						if _, more, err = l.Void(); err != nil {
							t.Fatal(err)
						}
						checkFigures(t, l, "Void")
					}
					if rng.IntN(2) == 0 {
						if err := l.Lift(key); err != nil {
							t.Fatal(err)
						}
					}
				default:
					batch := make([]queens.Result, 1+rng.IntN(20))
					for i := range batch {
						batch[i] = anyResult(rng, 60)
					}
					accept(t, l, position(uint64(step)), batch...)
					checkFigures(t, l, "Accept")
				}
			}
		})
	}
}

// anyResult returns a result of one of the tasks, by a key or the coordinator, of one of two counts with 64 bits.
func anyResult(rng *rand.Rand, tasks uint64) queens.Result {
	task := rng.Uint64N(tasks)
	count := math.MaxUint64 - task
	if rng.IntN(4) == 0 {
		count--
	}
	r := signedBy(string(rune('a'+rng.IntN(8))), task, count)
	switch r.Elapsed = time.Duration(rng.Int64N(1e9)); rng.IntN(10) {
	case 0:
		r.Key, r.Admitted, r.Worker = "", false, queens.Referee
	case 1:
		r.Key, r.Admitted, r.Worker = "", false, queens.Checker
	case 2:
		r.Admitted = false
	}
	return r
}

// The time of searches is the greatest one if the sum is too long for a duration, and right again when less is
// left.
func TestFiguresOfTooMuchTime(t *testing.T) {
	l := create(t, t.TempDir(), 4)
	for task := range uint64(3) {
		r := signedBy(string(rune('a'+task)), task, 1)
		r.Elapsed = math.MaxInt64 - 1
		accept(t, l, position(task), r)
	}
	if got := l.Figures().CoreTime(); got != math.MaxInt64 {
		t.Errorf("it is %v", got)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := quarantine(l, ledger.Quarantined{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Figures().CoreTime(); got != math.MaxInt64-1 {
		t.Errorf("it is %v with one result", got)
	}
}

// However many names count, only so many have figures, and none has too many tasks.
func TestFiguresOfManyWorkers(t *testing.T) {
	const tasks, most = 1<<16 + 100, 1 << 16
	folder := t.TempDir()
	l := create(t, folder, tasks)
	batch := make([]queens.Result, tasks)
	for i := range batch {
		batch[i] = signedBy("a", uint64(i), 1)
		batch[i].Worker = fmt.Sprint("worker ", i)
	}
	accept(t, l, position(1), batch...)
	for range 2 {
		f := l.Figures()
		if first, last := f.Tasks("worker 0"), f.Tasks(fmt.Sprint("worker ", tasks-1)); f.Workers() != most || first != 1 || last != 0 {
			t.Errorf("%d workers have figures; the first has %d tasks and the last %d", f.Workers(), first, last)
		}
		l = reopened(t, l, folder)
	}
	if _, err := quarantine(l, ledger.Quarantined{Key: "a"}); err != nil {
		t.Fatal(err)
	}
	if f := l.Figures(); f.Workers() != 0 {
		t.Errorf("without results, %d workers have figures", f.Workers())
	}
	checkFigures(t, l, "Void")
}
