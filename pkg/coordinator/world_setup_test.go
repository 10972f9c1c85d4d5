package coordinator

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// board is a run to be counted, and its right counts.
type board struct {
	name     string
	manifest queens.Manifest
	tasks    []boardTask
	total    *big.Int
}

type boardTask struct{ hash, count uint64 }

// String keeps the tasks out of messages.
func (b *board) String() string { return fmt.Sprintf("%s, %d tasks", b.name, b.manifest.Tasks) }

// boards returns the boards of simulated lives: from a few tasks to some hundreds, in one class or many.
var boards = sync.OnceValues(func() (all []*board, err error) {
	for _, b := range []struct {
		n        int
		symmetry queens.Symmetry
		depth    int
	}{{6, queens.Mirror, 2}, {6, queens.None, 2}, {8, queens.Mirror, 2}, {8, queens.Full, 2}, {8, queens.Mirror, 3}, {7, queens.None, 3}, {8, queens.Full, 3}, {9, queens.None, 3}} {
		one, err := newBoard(b.n, b.symmetry, b.depth)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
})

func newBoard(n int, s queens.Symmetry, depth int) (*board, error) {
	ctx := context.Background()
	classes, err := symmetry.Classes(n, s)
	if err != nil {
		return nil, err
	}
	b := &board{name: fmt.Sprintf("board %d, symmetry %s", n, s)}
	if b.manifest, err = split.Plan(ctx, n, s, classes, depth); err != nil {
		return nil, err
	}
	var sums symmetry.Sums
	all := kernel.Available()
	err = all[len(all)-1].WithCounter(func(c kernel.Counter) error {
		for task := range split.Tasks(&b.manifest) {
			count, err := c.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
			if err != nil {
				return err
			}
			sums.Add(b.manifest.Classes[b.manifest.ClassOf(task.ID)].Weight, count)
			b.tasks = append(b.tasks, boardTask{task.Hash(), count})
		}
		return nil
	})
	if err == nil {
		b.total = sums.Total()
	}
	return b, err
}

// setup is what does not change in a life.
type setup struct {
	board          *board
	steps          int // with faults
	redundancy     int
	spotCheck      run.SpotCheck
	referee        ability
	check          ability
	alone          ability
	known          bool // the run compares its total with the published one
	checkThreads   int
	checkAfter     time.Duration
	republishAfter time.Duration
	patience       time.Duration // Config.DisputeTimeout
	search         time.Duration // of a task, about
	lease          time.Duration
	deadly         map[uint64]bool // tasks that kill who searches them
}

// pick returns one of some values.
func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// randomSetup draws a setup.
func randomSetup(rng *rand.Rand, b *board) setup {
	s := setup{
		board: b, steps: 200 + rng.IntN(1000), redundancy: pick(rng, 1, 1, 2, 2, 3),
		spotCheck: pick(rng, run.SpotCheck{}, run.AutoSpotCheck, run.SpotCheck{Share: 0.3, Bounded: true},
			run.SpotCheck{Share: 1, Bounded: true}, run.SpotCheck{Share: 0.3}, run.SpotCheck{Share: 1}),
		referee: pick(rng, absent, works, works, works, slow, fails),
		check:   pick(rng, absent, works, works, works, fails),
		alone:   pick(rng, absent, works, works, works, fails),
		known:   rng.IntN(2) == 0, checkThreads: 1 + rng.IntN(3),
		checkAfter: pick(rng, time.Second, 4*time.Second, DefaultCheckAfter), republishAfter: pick(rng, time.Minute, DefaultRepublishAfter),
		patience: pick(rng, 2*heartbeatInterval, DefaultDisputeTimeout, time.Minute), // a worker is heard before it ends
		search:   pick(rng, time.Millisecond, 50*time.Millisecond, time.Second, 10*time.Second),
		lease:    pick(rng, 5*time.Second, 30*time.Second),
		deadly:   make(map[uint64]bool),
	}
	if rng.IntN(4) == 0 {
		for range 1 + rng.IntN(2) {
			s.deadly[rng.Uint64N(b.manifest.Tasks)] = true
		}
	}
	return s
}

// newWorld draws a world, without coordinators and workers.
func newWorld(t *testing.T, seed uint64) *world {
	all, err := boards()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{t: t, rng: rng, setup: randomSetup(rng, all[rng.IntN(len(all))]), lies: make(lies), trace: newTrace()}
	w.faults.intensity = pick(rng, 0.2, 1, 1, 2)
	w.stream.remake()
	w.folder = worldFolder(t)
	w.cast()
	return w
}

// worldFolder returns an empty folder, in memory if the machine has such: a ledger waits for the disk at each result.
func worldFolder(t *testing.T) string {
	folder, err := os.MkdirTemp("/dev/shm", "nqueens-world-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// begin creates the ledger and starts the first coordinator.
func (w *world) begin() {
	s := &w.setup
	w.note("%v, %d steps, redundancy %d, spot check %+v", s.board, s.steps, s.redundancy, s.spotCheck)
	w.current = fmt.Sprint(w.folder, "/", w.newID())
	trust := ledger.Trust{Redundancy: s.redundancy, SpotCheck: s.spotCheck, Seed: [32]byte{byte(w.rng.Uint32())}}
	l, err := ledger.Create(w.current, ledger.Header{Run: "r", Created: time.Now(), Manifest: s.board.manifest, Trust: trust})
	if err != nil {
		w.fatalf("the ledger can't be created: %v", err)
	}
	w.startWith(l, w.current)
}
