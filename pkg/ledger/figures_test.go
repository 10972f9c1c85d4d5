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
	"nqueens/pkg/run"
)

// figures are those of a ledger, as a test compares them.
type figures struct {
	solutions string // By k.
	coreTime  time.Duration
	workers   map[string]uint64
	all       map[run.Contribution]uint64 // Tasks, by contributor; without core time.
}

// recomputedFigures returns the figures of the accepted results, which it reads from the file.
func recomputedFigures(t *testing.T, l *ledger.Ledger) figures {
	t.Helper()
	f := figures{workers: make(map[string]uint64), all: make(map[run.Contribution]uint64)}
	var solutions [9]big.Int
	m := l.Header().Manifest
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		sum := &solutions[m.Classes[m.ClassOf(r.Task)].Weight]
		sum.Add(sum, new(big.Int).SetUint64(r.Count))
		f.coreTime += r.Elapsed
		f.all[run.Contribution{Worker: r.Worker, Key: r.Key, Kernel: r.Kernel}]++
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
	got := figures{coreTime: kept.CoreTime(), workers: kept.Workers(), all: make(map[run.Contribution]uint64)}
	for k := 1; k <= 8; k++ {
		got.solutions += new(kept.Solutions()[k]).Big().String() + " "
	}
	var coreTime time.Duration
	for _, c := range kept.Contributions() {
		coreTime += c.CoreTime.Duration
		got.all[run.Contribution{Worker: c.Worker, Key: c.Key, Kernel: c.Kernel}] += c.Tasks
	}
	if got.solutions != want.solutions || got.coreTime != want.coreTime || coreTime != want.coreTime ||
		!maps.Equal(got.workers, want.workers) || !maps.Equal(got.all, want.all) {
		t.Fatalf("after %s the figures are %+v, of contributions with %v, want %+v", after, got, coreTime, want)
	}
}

// The kept figures are those of the accepted results, after any results, quarantines and openings.
func TestFigures(t *testing.T) {
	for seed := range uint64(rounds(4, 40)) {
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
					if err := l.Quarantine(run.QuarantinedKey{Key: key}); err != nil {
						t.Fatal(err)
					}
					for more := true; more; {
						var err error
						if _, more, err = l.Revoke(); err != nil {
							t.Fatal(err)
						}
						checkFigures(t, l, "Revoke")
					}
					if rng.IntN(2) == 0 {
						if err := l.Lift(key); err != nil {
							t.Fatal(err)
						}
					}
				default:
					batch := make([]run.Result, 1+rng.IntN(20))
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
func anyResult(rng *rand.Rand, tasks uint64) run.Result {
	task := rng.Uint64N(tasks)
	count := math.MaxUint64 - task
	if rng.IntN(4) == 0 {
		count--
	}
	r := signedBy(string(rune('a'+rng.IntN(8))), task, count)
	switch r.Elapsed = time.Duration(rng.Int64N(1e9)); rng.IntN(10) {
	case 0:
		r.Key, r.Admitted, r.Worker = "", false, run.Referee
	case 1:
		r.Key, r.Admitted, r.Worker = "", false, run.Checker
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
		if _, err := quarantine(l, run.QuarantinedKey{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Figures().CoreTime(); got != math.MaxInt64-1 {
		t.Errorf("it is %v with one result", got)
	}
}

// However many names count, only so many have figures, and none has too many tasks.
func TestFiguresOfManyWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	const tasks, most = 1<<16 + 100, 1 << 16
	folder := t.TempDir()
	l := create(t, folder, tasks)
	batch := make([]run.Result, tasks)
	for i := range batch {
		batch[i] = signedBy("a", uint64(i), 1)
		batch[i].Worker = fmt.Sprint("worker ", i)
	}
	accept(t, l, position(1), batch...)
	for range 2 {
		workers, all := l.Figures().Workers(), l.Figures().Contributions()
		if first, last := workers["worker 0"], workers[fmt.Sprint("worker ", tasks-1)]; len(workers) != most || first != 1 || last != 0 {
			t.Errorf("%d workers have figures; the first has %d tasks and the last %d", len(workers), first, last)
		}
		if rest := all[len(all)-1]; len(all) != most+1 || rest.Worker != "" || rest.Tasks != tasks-most {
			t.Errorf("there are %d contributions, the last is %+v", len(all), rest)
		}
		l = reopened(t, l, folder)
	}
	if _, err := quarantine(l, run.QuarantinedKey{Key: "a"}); err != nil {
		t.Fatal(err)
	}
	if workers := l.Figures().Workers(); len(workers) != 0 {
		t.Errorf("without results, %d workers have figures", len(workers))
	}
	checkFigures(t, l, "Revoke")
}
