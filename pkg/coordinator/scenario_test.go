package coordinator

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// playScenario plays a run without random faults, and returns what it came to. change makes what is special
// of it; then comes what happens at each step, in w.disturb, and last is called before the ledger is closed.
func playScenario(t *testing.T, change func(w *world)) {
	t.Helper()
	all, err := boards()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.quiet, w.workers, w.faults.intensity = true, nil, 0
		w.setup = setup{
			board: all[0], redundancy: 1, referee: works, check: works, alone: works, known: true, checkThreads: 2,
			checkAfter: DefaultCheckAfter, republishAfter: time.Minute, patience: DefaultDisputeTimeout,
			search: time.Second, lease: 30 * time.Second, deadly: make(map[uint64]bool),
		}
		change(w)
		w.begin()
		w.play()
	})
}

// use makes the run count a board with some tasks at least.
func (w *world) use(tasks uint64) {
	all, err := boards()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range all {
		if b.manifest.Tasks >= tasks {
			w.setup.board = b
			return
		}
	}
	w.t.Fatalf("no board has %d tasks", tasks)
}

// honest adds honest workers with admitted keys.
func (w *world) honest(workers int) {
	for range workers {
		w.join([]byte{1})
	}
}

// liar adds a worker with an admitted key that lies.
func (w *world) liar(how lying, wrong uint64) *worker {
	p := w.join([]byte{1})
	p.traits = traits{lying: how, wrong: wrong}
	return p
}

// newest returns the coordinator with the newest claim.
func (w *world) newest() *host { return w.hosts[len(w.hosts)-1] }

// quarantined returns the keys that the newest coordinator has quarantined.
func (w *world) quarantined() (keys []string) {
	for _, q := range w.newest().ledger.Quarantined() {
		keys = append(keys, q.Key)
	}
	return keys
}

// atEnd has a property of the ledger checked when the run has ended.
func (w *world) atEnd(check func(h *host, l *ledger.Ledger)) { w.last = check }

// exactly fails unless no accepted count is wrong.
func (w *world) exactly(l *ledger.Ledger) {
	if w.err != nil || w.hasWrong(l) {
		w.fatalf("the run has ended with %v; a count is wrong: %v", w.err, w.hasWrong(l))
	}
}

// once returns a function that calls do the first time that when is true.
func (w *world) once(when func() bool, do func()) func() {
	done := false
	return func() {
		if !done && when() {
			done = true
			do()
		}
	}
}

// counted reports whether the ledger has a part of the tasks.
func (w *world) counted(part float64) func() bool {
	return func() bool {
		return float64(w.newest().ledger.Len()) >= part*float64(w.setup.board.manifest.Tasks)
	}
}

// A run in which nothing fails ends, and each of its tasks is published once for each voter; rarely again, because a
// worker that has counted it has it.
func TestScenarioNothingFails(t *testing.T) {
	for _, redundancy := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("redundancy ", redundancy), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.use(70)
				w.setup.redundancy = redundancy
				w.honest(3)
				w.atEnd(func(h *host, l *ledger.Ledger) {
					w.exactly(l)
					counts := uint64(redundancy) * w.setup.board.manifest.Tasks
					if published := h.core.figures.published; published > counts && redundancy == 1 || published > counts+counts/5 {
						w.fatalf("%d chunks were published for %d counts", published, counts)
					}
				})
			})
		})
	}
}

// A coordinator that begins again while all results are on the server publishes nothing.
func TestScenarioResultsOfADeadCoordinator(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(2)
		w.disturb = w.once(w.counted(0.5), func() {
			w.hosts[0].stop()
			for i, task := range w.setup.board.tasks {
				w.reportOf(w.workers[0], uint64(i), task)
			}
			w.endStep()
		})
		w.atEnd(func(h *host, l *ledger.Ledger) {
			w.exactly(l)
			if h.epoch != 2 || h.core.figures.published > 0 {
				w.fatalf("epoch %d has published %d chunks", h.epoch, h.core.figures.published)
			}
		})
	})
}

// The server loses the last results, which the coordinator has recorded or not, and stores others under their
// sequences: what was lost is counted again, what was recorded is not, and the ledger's position goes back.
func TestScenarioRolledBackStream(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.use(70)
				w.honest(2)
				w.disturb = w.once(w.counted(0.5), func() {
					w.stream.roll(20)
					if restart {
						w.hosts[0].stop()
						w.endStep()
					}
				})
				w.atEnd(func(_ *host, l *ledger.Ledger) {
					w.exactly(l)
					if !w.stream.holds(l.Position()) {
						w.fatalf("the ledger is at %+v, which the stream does not have", l.Position())
					}
				})
			})
		})
	}
}

// A coordinator that does not know yet that another one has claimed its run goes on, publishes and records, and then
// stops.
func TestScenarioTwoCoordinators(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(70)
		w.honest(2)
		w.setup.spotCheck = run.SpotCheck{Share: 0.3}
		w.disturb = w.once(w.counted(0.3), func() { w.fork(w.hosts[0]) })
		w.atEnd(func(h *host, l *ledger.Ledger) {
			w.exactly(l)
			if h.epoch != 2 || len(w.hosts) != 1 {
				w.fatalf("epoch %d ends, of %d coordinators", h.epoch, len(w.hosts))
			}
		})
	})
}
