package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// A task that workers of three keys were lost with is counted by the coordinator itself, when all others are
// counted, and in a process of its own. The run ends with its total.
func TestScenarioDeadlyTasks(t *testing.T) {
	for _, redundancy := range []int{1, 2} {
		t.Run(fmt.Sprint("redundancy ", redundancy), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.setup.redundancy = redundancy
				w.setup.deadly = map[uint64]bool{3: true, 4: true}
				w.honest(4)
				w.atEnd(func(_ *host, l *ledger.Ledger) {
					w.exactly(l)
					for id := range w.setup.board.manifest.Tasks {
						if s := l.Standing(id); s.Alone != w.setup.deadly[id] || s.Voters < redundancy && !s.Alone {
							w.fatalf("task %d has the standing %+v", id, s)
						}
					}
				})
			})
		})
	}
}

// So is such a task if its counts contradict each other: keys that lose workers with it, and then send two counts, do
// not end the run.
func TestScenarioDisputeAboutADeadLetter(t *testing.T) {
	playScenario(t, func(w *world) {
		w.use(70)
		w.honest(6)
		w.disturb = w.once(w.counted(0.3), func() {
			h, now, id := w.newest(), time.Now(), w.setup.board.manifest.Tasks-1
			h.core.flight.DeadLetter(now, id)
			h.core.agreement.Withdrawn(now, id)
			var both []delivery
			for i, p := range w.workers[:2] {
				c := run.TaskCount{Hash: w.setup.board.tasks[id].hash, Count: w.setup.board.tasks[id].count + 1 + uint64(i), Kernel: "k"}
				w.lies.add(lie{id, c.Count}, p.key, true)
				both = append(both, delivery{position: h.core.lastRead, result: run.ChunkResult{
					Run: "r", Manifest: w.setup.board.manifest.Hash, First: id, Worker: p.name, Counts: []run.TaskCount{c}, Admission: []byte{1},
					Sealed: &run.Sealed{Key: p.key, Statement: []byte{1}, Signature: []byte{1}},
				}})
			}
			h.check(h.core.deliver(now, both))
		})
		w.atEnd(func(_ *host, l *ledger.Ledger) { w.exactly(l) })
	})
}

// Where all workers have one key, the coordinator counts such a task too at the end.
func TestScenarioDeadlyTaskOfOneKey(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.deadly = map[uint64]bool{7: true}
		w.honest(1)
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if !l.Standing(7).Alone {
				w.fatalf("task 7 has the standing %+v", l.Standing(7))
			}
		})
	})
}

// If the process that counts them dies too, the run ends: the error names the tasks.
func TestScenarioNobodyCanCount(t *testing.T) {
	playScenario(t, func(w *world) {
		w.setup.deadly, w.setup.alone = map[uint64]bool{3: true, 4: true}, fails
		w.honest(4)
		w.gives = func(err error) bool {
			text := err.Error()
			return errors.Is(err, run.ErrIncomplete) && strings.Count(text, "were lost while searching task") == 2 &&
				strings.Contains(text, errCount.Error()) && len(text) < 10_000
		}
		w.atEnd(func(h *host, l *ledger.Ledger) {
			if missing := w.setup.board.manifest.Tasks - l.Len(); w.err == nil || missing != 2 {
				w.fatalf("the run ends with %v, and %d tasks are not counted", w.err, missing)
			}
		})
	})
}

// A worker that holds copies of tasks for ever, and says so, delays a run by the least time after which a chunk is
// published again, and no longer.
func TestScenarioHoarder(t *testing.T) {
	for _, redundancy := range []int{1, 2} {
		t.Run(fmt.Sprint("redundancy ", redundancy), func(t *testing.T) {
			playScenario(t, func(w *world) {
				w.setup.redundancy = redundancy
				w.honest(2)
				hoards := func() bool { return len(w.hosts) > 0 && w.counted(0.5)() }
				w.disturb = w.once(hoards, func() {
					p := w.join([]byte{1})
					p.threads, p.traits.hoards = 3, true
				})
				begun := time.Now()
				w.atEnd(func(_ *host, l *ledger.Ledger) {
					w.exactly(l)
					if took := time.Since(begun); took > 30*time.Minute {
						w.fatalf("the run took %v", took)
					}
				})
			})
		})
	}
}

// What a worker holds is published again as soon as its key is quarantined, and not once its lease ends.
func TestScenarioChunksOfAQuarantinedKey(t *testing.T) {
	playScenario(t, func(w *world) {
		w.honest(1)
		hoarder := w.join([]byte{1})
		hoarder.threads, hoarder.traits.hoards = 3, true
		w.setup.republishAfter = 10 * time.Hour
		w.disturb = w.once(w.counted(0.5), func() {
			h := w.newest()
			wrong := run.Result{Run: "r", Key: hoarder.key, Worker: hoarder.name, Kernel: "k", Admitted: true}
			w.lies.add(lie{0, 99}, hoarder.key, true)
			h.check(h.core.quarantine(time.Now(), &wrong, 1))
		})
		begun := time.Now()
		w.atEnd(func(_ *host, l *ledger.Ledger) {
			w.exactly(l)
			if took := time.Since(begun); took > 10*time.Minute {
				w.fatalf("the run took %v", took)
			}
		})
	})
}
