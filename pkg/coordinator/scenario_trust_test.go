package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// With two voters a task, no count is wrong as long as no two admitted keys report the same wrong count: also if half
// of the workers lie, if a liar has many keys that nobody admitted, and if the coordinator dies now and then. The
// coordinator counts nothing itself.
func TestScenarioRedundancyAmongLiars(t *testing.T) {
	for _, liars := range []int{1, 2, 5} {
		for _, how := range []lying{rarely, always} {
			t.Run(fmt.Sprint(liars, " liars, ", how), func(t *testing.T) {
				playScenario(t, func(w *world) {
					w.use(70)
					w.setup.redundancy, w.setup.referee = 2, absent
					w.honest(10 - liars)
					for i := range liars {
						w.liar(how, uint64(i)+1)
					}
					for range 20 {
						w.liar(how, 100).admission = nil
					}
					w.disturb = func() {
						if w.rng.IntN(50) == 0 {
							w.newest().stop()
							w.endStep()
						}
					}
					w.atEnd(func(h *host, l *ledger.Ledger) {
						w.exactly(l)
						for _, q := range l.Quarantined() {
							if q.Unadmitted {
								w.fatalf("%s is quarantined, and was never admitted", q.Key)
							}
						}
						for _, p := range w.workers {
							if len(p.admission) == 0 && l.Chunks(p.key) > 0 {
								w.fatalf("%d chunks of %s are recorded, which is not admitted", l.Chunks(p.key), p.key)
							}
						}
						if h.core.observeVoters(time.Now()); len(h.core.trust.unadmitted) != 20 {
							w.fatalf("%d keys are known as not admitted", len(h.core.trust.unadmitted))
						}
					})
				})
			})
		}
	}
}

// Two liars that lie alike do not outvote an honest voter where the coordinator can count: its count settles the
// dispute, and both are quarantined.
func TestScenarioTwoLiarsAlike(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(1)
		liars := []*worker{w.liar(never, 1), w.liar(never, 1)}
		w.disturb = w.once(func() bool { return w.trace.steps == 1 }, func() {
			right := w.setup.board.tasks[0]
			wrong := boardTask{right.hash, right.count + 1}
			for _, p := range liars {
				w.lies.add(lie{0, wrong.count}, p.key, true)
			}
			w.reportOf(liars[0], 0, wrong)
			w.reportOf(w.workers[0], 0, right)
			w.reportOf(liars[1], 0, wrong)
		})
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			for _, p := range w.workers {
				if lied := w.lies.has(p.key); lied != l.IsQuarantined(p.key) {
					w.fatalf("%s has lied: %v; it is quarantined: %v", p.key, lied, !lied)
				}
			}
		})
	})
}

// Two liars that lie alike outvote an honest voter while the coordinator counts. Its count, when it comes, acquits the
// honest voter and has the liars quarantined.
func TestScenarioTwoLiarsWhileTheCoordinatorCounts(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.referee = absent
		w.honest(2)
		liars := []*worker{w.liar(never, 1), w.liar(never, 1)}
		right := w.setup.board.tasks[0]
		lies := w.once(func() bool { return w.trace.steps == 1 }, func() {
			wrong := boardTask{right.hash, right.count + 1}
			w.reportOf(w.workers[0], 0, right)
			for _, p := range liars {
				w.lies.add(lie{0, wrong.count}, p.key, true)
				w.reportOf(p, 0, wrong)
			}
		})
		counts := w.once(func() bool { return w.newest().ledger.IsQuarantined(w.workers[0].key) }, func() {
			own := run.TaskCount{Hash: right.hash, Count: right.count, Kernel: "own", Elapsed: w.setup.search}
			w.newest().check(w.newest().core.counted(time.Now(), &ownCount{kind: longCount}, own, nil))
		})
		w.disturb = func() { lies(); counts() }
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if l.Len() == 0 || len(l.Quarantined()) != len(liars) {
				w.fatalf("%d keys are quarantined, not %d", len(l.Quarantined()), len(liars))
			}
			for _, p := range w.workers {
				if lied := w.lies.has(p.key); lied != l.IsQuarantined(p.key) {
					w.fatalf("%s has lied: %v; it is quarantined: %v", p.key, lied, !lied)
				}
			}
		})
	})
}

// Where one count of a task is enough, that of a key that is not admitted will do. But however many of such keys say
// the same, they settle no dispute: two admitted keys do.
func TestScenarioStrangers(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.referee, w.setup.check, w.setup.known = absent, absent, false
		w.setup.patience = time.Hour
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.honest(1)
		for range 4 {
			w.liar(chosen, 1).admission = nil
		}
		w.disturb = w.once(func() bool { return w.trace.steps == 200 }, func() { w.honest(2) })
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if w.trace.steps < 200 {
				w.fatalf("one admitted key settles a dispute")
			}
		})
	})
}

// While a voter is connected that counts nothing, and nobody else, a dispute waits for it; then the coordinator counts
// the task, however long that takes.
func TestScenarioDisputeThatTakesLong(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(1)
		w.liar(chosen, 1)
		w.join([]byte{1}).idle = true
		w.setup.referee = slow
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if len(l.Disputes()) == 0 {
				w.fatalf("nothing was disputed")
			}
		})
	})
}

// Where nobody can settle a dispute, the run ends with an error that says which, and what to do.
func TestScenarioNobodySettlesADispute(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(1)
		w.liar(always, 1)
		w.setup.referee, w.setup.known = absent, false
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		w.gives = func(err error) bool {
			text := err.Error()
			return strings.Contains(text, "task 0 was counted") && strings.Contains(text, "no other worker is connected") && len(text) < 10_000
		}
		w.atEnd(func(*host, *ledger.Ledger) {
			if w.err == nil {
				w.fatalf("the run ends with a total")
			}
		})
	})
}

// While fewer voters are connected than must agree, nothing is published in vain. The run continues as soon as
// another one is there.
func TestScenarioRunWaitsForVoters(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.redundancy = 3
		w.honest(2)
		begun, published := time.Now(), uint64(0)
		third := w.once(func() bool { return time.Since(begun) > 2*time.Hour }, func() {
			if got := w.newest().core.figures.published; got > published {
				w.fatalf("%d chunks were published while the run waited", got-published)
			}
			w.honest(1)
		})
		w.disturb = func() {
			if time.Since(begun) < time.Hour {
				published = w.newest().core.figures.published
			}
			third()
		}
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if time.Since(begun) < 2*time.Hour {
				w.fatalf("the run ended with two voters")
			}
		})
	})
}

// A quarantine outlasts the coordinator: announcements name its key, and what only that key had counted is counted again.
// A lifted key counts again.
func TestScenarioQuarantineSurvivesDeath(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(70)
		w.honest(3)
		liar := w.liar(always, 1)
		w.setup.spotCheck = run.SpotCheck{Share: 1}
		lifted := time.Time{}
		dies := w.once(func() bool { return len(w.quarantined()) > 0 && !w.newest().ledger.IsRevoking() }, func() {
			w.newest().stop()
			w.endStep()
			h := w.newest()
			if named := h.core.announcement().Quarantined; !slices.Equal(named, []string{liar.key}) {
				w.fatalf("the announcement names %v", named)
			}
			if slices.Contains(h.core.trust.connected(), liar.key) {
				w.fatalf("a quarantined key is a connected voter")
			}
			liar.traits = traits{}
			lifted = time.Now().Add(10 * time.Second) // its wrong counts are read by then
		})
		lifts := w.once(func() bool { return !lifted.IsZero() && time.Now().After(lifted) }, func() {
			h := w.newest()
			w.lift(h)
			if err := <-h.lifted; err != nil || len(w.quarantined()) > 0 {
				w.fatalf("lifted: %v; quarantined are %v", err, w.quarantined())
			}
		})
		w.disturb = func() { dies(); lifts() }
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if l.IsQuarantined(liar.key) {
				w.fatalf("%s is quarantined at the end", liar.key)
			}
		})
	})
}

// Forged counts that use up the votes of a task don't keep the run from its end, also if the task takes the coordinator
// longer than a minute: workers can't settle that dispute any more, so the coordinator counts as long as it takes.
// The ledger keeps few of them.
func TestScenarioForgedVotes(t *testing.T) {
	for _, referee := range []ability{works, slow} {
		t.Run(referee.String(), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.setup.referee, w.setup.patience = referee, 10*time.Hour // longer than the world waits
				w.honest(3)
				w.disturb = w.once(func() bool { return w.trace.steps == 1 }, func() {
					right := w.setup.board.tasks[0]
					for i := range uint64(1000) {
						liar := &worker{name: "liar", key: fmt.Sprint("liar ", i), admission: []byte{1}}
						w.lies.add(lie{0, right.count + i + 1}, liar.key, true)
						w.reportOf(liar, 0, boardTask{right.hash, right.count + i + 1})
					}
				})
				w.atEnd(func(_ *host, l *ledger.Ledger) {
					w.exactly(l)
					d := l.Dispute(0)
					if votes := len(d.Votes) + len(d.Revoked); votes < 10 || votes > 100 || !d.HasReferee() {
						w.fatalf("the ledger has %d votes; the coordinator has counted: %v", votes, d.HasReferee())
					}
				})
			})
		})
	}
}

// Two liars who contradict each other about a task that was not published yet, before an honest worker has counted
// anything, are both quarantined by one count of the coordinator, also if it dies in between.
func TestScenarioEarlyContradictionOfTwoLiars(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("dies: ", dies), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.use(200) // more than are in flight at once
				liars := []*worker{w.liar(never, 1), w.liar(never, 1)}
				w.disturb = w.once(func() bool { return w.trace.steps == 1 }, func() {
					last := len(w.setup.board.tasks) - 1
					task := w.setup.board.tasks[last]
					for i, p := range liars {
						wrong := boardTask{task.hash, task.count + 1 + uint64(i)}
						w.lies.add(lie{uint64(last), wrong.count}, p.key, true)
						w.reportOf(p, uint64(last), wrong)
						p.idle = true
					}
					if dies {
						w.newest().read(2)
						w.newest().deliver(2)
						w.newest().stop()
						w.endStep()
					}
					w.honest(1)
				})
				w.atEnd(func(_ *host, l *ledger.Ledger) {
					w.exactly(l)
					if len(l.Quarantined()) != 2 || len(l.Disputes()) != 1 || len(l.Figures().Workers()) != 1 {
						w.fatalf("%d keys are quarantined; %d disputes; results of %d workers", len(l.Quarantined()), len(l.Disputes()), len(l.Figures().Workers()))
					}
				})
			})
		})
	}
}

// Results of a key that the run refuses do not have others give up the chunks that they name.
func TestScenarioRefusedKeyNamesChunksOfOthers(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.redundancy, w.setup.search = 2, 30*time.Second
		w.honest(3)
		begun := time.Now()
		w.disturb = func() {
			if len(w.hosts) == 0 || time.Since(begun) > 3*time.Hour {
				return
			}
			h := w.newest()
			for _, m := range w.queue.messages {
				if m.taken {
					r := run.ChunkResult{
						Run: "r", Manifest: m.chunk.Manifest, Chunk: m.chunk.ID, First: m.chunk.First, Worker: "stranger",
						Sealed: &run.Sealed{Key: "stranger", Statement: []byte{1}, Signature: []byte{1}},
						Counts: []run.TaskCount{{Hash: w.setup.board.tasks[m.chunk.First].hash, Kernel: "k"}},
					}
					h.check(h.core.deliver(time.Now(), []delivery{{result: r, position: h.core.lastRead}}))
				}
			}
		}
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if took := time.Since(begun); took > time.Hour {
				w.fatalf("the run took %v", took)
			}
		})
	})
}
