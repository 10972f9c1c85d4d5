package coordinator

import (
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// Where no other voter is connected, the coordinator makes the spot checks: all of them if the run asks for a share,
// and otherwise at most 2% of the core time of the searches, and 1% of the wall time at the end. The run is sampled
// only if no check was missed.
func TestScenarioChecksOfTheCoordinator(t *testing.T) {
	for _, c := range []struct {
		name        string
		spotCheck   run.SpotCheck
		least, most float64
		level       run.Level
	}{
		{"all", run.SpotCheck{Share: 1}, 1, 1, run.Sampled},
		{"half", run.SpotCheck{Share: 0.5}, 0.3, 0.7, run.Sampled},
		{"all, but bounded", run.SpotCheck{Share: 1, Bounded: true}, 0.005, 0.06, run.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.use(200)
				w.honest(1)
				w.setup.spotCheck = c.spotCheck
				w.atEnd(func(h *host, l *ledger.Ledger) {
					w.exactly(l)
					_, missed := h.core.agreement.Checks()
					if err := l.SetMissed(missed); err != nil {
						w.fatalf("the missed checks can't be stored: %v", err)
					}
					if got := l.Confirmation(nil); got.Share() < c.least || got.Share() > c.most || got.Level() != c.level {
						w.fatalf("%.3f of the tasks are checked, from %v to %v wanted; the level is %s, %d checks are missed",
							got.Share(), c.least, c.most, got.Level(), got.Missed)
					}
				})
			})
		})
	}
}

// A voter that is connected, takes chunks and reports nothing does not keep a run from its end, though only it could
// make the spot checks that are left.
func TestScenarioSilentVoterAtTheEnd(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(1)
		w.setup.check = absent
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.disturb = w.once(w.counted(1), func() {
			p := w.join([]byte{1})
			p.traits.hoards = true
			w.workers[0].leave()
		})
		begun := time.Now()
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if took := time.Since(begun); took > 30*time.Minute {
				w.fatalf("the run took %v", took)
			}
		})
	})
}

// A voter that is connected and takes nothing: a worker that has counted a task is not asked for its spot check again
// and again.
func TestScenarioChecksAreNotRepeatedInVain(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(70)
		w.honest(1)
		w.join([]byte{1}).idle = true
		w.setup.check, w.setup.patience = absent, 10*time.Minute
		w.setup.spotCheck = run.SpotCheck{Share: 1, Bounded: true}
		w.atEnd(func(h *host, l *ledger.Ledger) {
			w.exactly(l)
			if tasks := w.setup.board.manifest.Tasks; h.core.figures.published > 4*tasks {
				w.fatalf("%d chunks were published for %d tasks", h.core.figures.published, tasks)
			}
		})
	})
}

// A liar that is found when nothing but spot checks was left: what only it has counted goes to the workers again.
func TestScenarioLiarFoundByTheLastChecks(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(70)
		w.liar(chosen, 1)
		w.setup.check, w.setup.known = absent, false
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.disturb = w.once(w.counted(1), func() { w.honest(2) })
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if !l.IsQuarantined(w.workers[0].key) {
				w.fatalf("the liar is not found")
			}
		})
	})
}

// A check by a key that is quarantined later is void, and is made again.
func TestScenarioVoidChecksAreMadeAgain(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(200)
		w.honest(2)
		liar := w.liar(never, 1)
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.disturb = w.once(w.counted(0.7), func() { liar.traits.lying = always })
		w.atEnd(func(h *host, l *ledger.Ledger) {
			w.exactly(l)
			due, missed := h.core.agreement.Checks()
			if due+missed > 0 || !l.IsQuarantined(liar.key) {
				w.fatalf("%d checks are missed, %d due; quarantined are %v", missed, due, w.quarantined())
			}
		})
	})
}

// One owner with the join token and two keys, which are always wrong and confirm each other, is found by the first
// checks that the coordinator makes itself.
func TestScenarioTwoKeysOfOneOwner(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(200)
		w.liar(always, 7)
		w.liar(always, 7)
		w.setup.known = false
		w.setup.spotCheck = run.AutoSpotCheck
		w.disturb = w.once(func() bool { return len(w.quarantined()) == 2 }, func() { w.honest(2) })
		w.atEnd(func(_ *host, l *ledger.Ledger) { w.exactly(l) })
	})
}
