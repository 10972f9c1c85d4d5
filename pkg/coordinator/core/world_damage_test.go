package core

import (
	"bytes"
	"container/heap"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// Damage to a log that the core has written never makes a task wrong. A life with liars ends in the
// middle, and one byte of its log is damaged. The log is refused, or a coordinator with honest
// workers continues, and counts every task right that the undamaged log counts right or leaves
// open.
func TestDamagedLives(t *testing.T) {
	continued := 0
	for seed := range uint64(*lives) {
		rng := rand.New(rand.NewPCG(seed, 52))
		log, s := interrupted(rng)
		undamaged, _, err := foldLog(log)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		damaged := bytes.Clone(log)
		at := rng.IntN(len(log))
		if rng.IntN(4) > 0 { // near the end: a dispute is not settled for long
			at = len(log) - 1 - rng.IntN(min(len(log), 400))
		}
		damaged[at] ^= byte(1 + rng.IntN(255))
		if _, _, err := foldLog(damaged); err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		continued++
		w := resumed(s, damaged, seeded{rng})
		w.live()
		if w.failure != "" || w.end.State != queens.Complete {
			t.Fatalf("seed %d, byte %d: %s, %+v", seed, at, w.failure, w.end)
		}
		final, _, err := foldLog(w.disk)
		if err != nil {
			t.Fatal(err)
		}
		w.settle(undamaged)
		for task, truth := range w.truth {
			before, after := undamaged.Task(uint64(task)), final.Task(uint64(task))
			if (!before.Done || before.Count == truth) && after.Count != truth {
				t.Fatalf("seed %d, byte %d: task %d is counted %d, not %d; the undamaged log says %+v",
					seed, at, task, after.Count, truth, before)
			}
		}
	}
	if continued < *lives/4 {
		t.Errorf("%d of %d damaged logs are not refused", continued, *lives)
	}
}

// interrupted returns the log of a life that ends early, perhaps with a torn write, and the setup
// of the life.
func interrupted(rng *rand.Rand) ([]byte, setup) {
	s := drawSetup(rng)
	s.published, s.wrong, s.alone = false, "", false
	clear(s.dying)
	clear(s.poison)
	s.end = time.Hour
	w := newWorld(s, seeded{rng}, func(string, ...any) {})
	w.unchecked = true // other tests check the life
	stop := time.Duration(rng.Int64N(int64(2 * time.Minute)))
	for len(w.events) > 0 && w.end == nil && w.events[0].at < stop {
		next := heap.Pop(&w.events).(event)
		w.now = next.at
		next.do()
	}
	if w.host != nil {
		w.host.kill(0)
	}
	return w.disk, s
}

// resumed returns the world in which a log is continued by honest machines alone. The machines of
// the earlier life are known, and have no processes.
func resumed(s setup, log []byte, f faults) *world {
	s.machines = slices.Clone(s.machines)
	for i := range s.machines {
		s.machines[i].processes = 0
	}
	for _, name := range []string{"x", "y"} {
		s.machines = append(s.machines,
			machine{name: name, kernel: generic, processes: 1, searchers: 2, speed: 1})
	}
	s.end = 0
	w := newWorld(s, f, func(string, ...any) {})
	w.disk, w.home, w.damaged = log, spare, true
	return w
}

// settle recounts every task of a state that needs a recount.
func (w *world) settle(s *ledger.State) {
	j := newJudge(s, spare, w.setup.kernels)
	for unsettled := s.Unsettled(); len(unsettled) > 0; unsettled = s.Unsettled() {
		r := j.way(unsettled[0], ledger.Disputed)
		_, err := s.Apply(&ledger.Recount{
			Task: r.Task, Count: w.truth[r.Task], Machine: spare, Kernel: r.Kernel, Deeper: r.Deeper,
			Why: r.Why,
		})
		if err != nil {
			w.fail("a recount: %v", err)
			return
		}
	}
}

func foldLog(log []byte) (*ledger.State, ledger.Notes, error) {
	return ledger.Fold(io.NewSectionReader(bytes.NewReader(log), 0, int64(len(log))), "the world's")
}
