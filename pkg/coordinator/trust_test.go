package coordinator

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// player is a worker of a simulated fleet.
type player struct {
	name     string
	admitted bool
	wrong    float64 // share of its tasks that it counts wrong
	by       uint64  // how much more it counts then
	counted  map[uint64]bool
	tasks    int // that it has counted until it was quarantined
	lies     int // chunks with a wrong count until then
}

// fleetOf returns honest workers with admitted keys and some that count wrong, each by another
// number.
func fleetOf(honest, liars int, wrong float64) (fleet []*player) {
	for i := range honest {
		fleet = append(fleet, &player{name: fmt.Sprint("honest", i), admitted: true})
	}
	for i := range liars {
		fleet = append(fleet, &player{name: fmt.Sprint("liar", i), admitted: true, wrong: wrong, by: uint64(i) + 1})
	}
	return fleet
}

// playFleet lets a fleet count a run to its end, and returns the simulation. Each hears of a
// quarantine late, if it does not ignore it.
func playFleet(t *testing.T, rng *rand.Rand, s *simulation, disturb func(step int)) {
	s.t, s.rng, s.folder, s.created = t, rng, t.TempDir(), time.Now()
	s.create()
	s.c.cfg.Referee = nil
	s.greet()
	for step := 0; !s.c.collector.complete(); step++ {
		if step == 400_000 {
			c := s.c
			t.Fatalf("%d of %d tasks are counted, on %d enough agree, %d are disputed; chunks %d, parked %d, tasks in flight %d, checks %d", c.ledger.Len(),
				c.collector.manifest.Tasks, c.collector.agreedLen, len(c.collector.disputes), len(c.window.chunks), len(c.window.parked), len(c.window.tasks), c.window.checks)
		}
		if disturb != nil {
			disturb(step)
		}
		s.play(step)
	}
	s.checkFigures()
}

// checkFigures compares the figures of the results, which grow and shrink with them, with those of the
// ledger read from the start.
func (s *simulation) checkFigures() {
	c := s.c.collector
	again := newCollector(&s.c.cfg, s.c.ledger, s.c.window, &s.c.trust, c.shares)
	s.must(again.load(s.t.Context(), func(*queens.Result) {}))
	if c.sums.Partial().Cmp(again.sums.Partial()) != 0 || c.coreTime != again.coreTime || c.agreedLen != again.agreedLen ||
		!maps.Equal(c.workers, again.workers) || math.Abs(c.workDone()-again.workDone()) > 1e-9 {
		s.t.Errorf("the figures are %v solutions, %v, %d tasks, %v of the work, workers %v; from the ledger they are %v, %v, %d, %v, %v",
			c.sums.Partial(), c.coreTime, c.agreedLen, c.workDone(), c.workers,
			again.sums.Partial(), again.coreTime, again.agreedLen, again.workDone(), again.workers)
	}
}

func (s *simulation) greet() {
	for _, p := range s.fleet {
		h := heartbeat(p.name, 1)
		h.Key = p.name
		if p.admitted {
			h.Admission = []byte{1}
		}
		s.c.cfg.Roster.ObserveHeartbeat(h)
	}
	s.c.window.resize(len(s.fleet))
	s.c.observeVoters()
}

// play is a step of everybody.
func (s *simulation) play(step int) {
	c := s.c
	s.background()
	if c.reconciled {
		ready, _ := c.window.fill()
		s.must(c.record(ready))
		c.wanted, c.window.wanted = append(c.wanted, c.window.wanted...), nil
	}
	for range 3 {
		s.request()
	}
	if len(s.queue) > 0 {
		i := s.rng.IntN(len(s.queue))
		if s.work(s.fleet[s.rng.IntN(len(s.fleet))], s.queue[i]) {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
	}
	var batch []delivery
	for ; s.read < len(s.results); s.read++ {
		batch = append(batch, delivery{result: s.results[s.read], position: run.StreamPosition{Created: s.created, Sequence: uint64(s.read) + 1}})
	}
	s.must(c.receive(append(batch, delivery{caughtUp: time.Now()})))
	if len(c.wanted) > 0 {
		wanted := c.wanted
		c.wanted = nil
		slices.Sort(wanted)
		var found []queens.Task
		s.must(split.Find(s.t.Context(), &c.collector.manifest, slices.Compact(wanted), func(task queens.Task) { found = append(found, task) }))
		s.must(c.handleFound(found))
	}
	if step%10 == 0 {
		time.Sleep(300 * time.Millisecond)
		s.greet()
		c.considerAll()
		if err := c.sweep(); s.ended == nil {
			s.must(err)
		} else if err != nil {
			s.ended(err)
			return
		}
		if c.onlyChecks() {
			s.must(c.endChecks())
		}
	}
}

// work lets a worker count a chunk, unless it has counted a task of it and declines.
func (s *simulation) work(p *player, chunk *queens.Chunk) bool {
	if s.takes != nil && !s.takes(p, chunk) {
		return false
	}
	r := queens.ChunkResult{Run: "r", Manifest: chunk.Manifest, Chunk: chunk.ID, First: chunk.First, Worker: p.name}
	seal(&r, p.admitted)
	if p.counted == nil {
		p.counted = make(map[uint64]bool)
	}
	lied := false
	for i := range chunk.Tasks {
		task := chunk.Task(i)
		if p.counted[task.ID] && s.rng.IntN(8) > 0 {
			return false
		}
		p.counted[task.ID] = true
		count := queens.TaskCount{Hash: task.Hash(), Count: countOf(task.Hash()), Kernel: "k", Elapsed: time.Millisecond}
		if s.rng.Float64() < p.wrong {
			count.Count += p.by
			lied = true
		}
		r.Counts = append(r.Counts, count)
	}
	s.results = append(s.results, r)
	if p.wrong > 0 { // the same, signed by the same key, as if that were not admitted
		r.Admission = nil
		s.results = append(s.results, r)
	}
	if !s.c.ledger.IsQuarantined(p.name) {
		p.tasks += len(chunk.Tasks)
		if lied {
			p.lies++
		}
	}
	return true
}

// wrongTasks returns the tasks whose accepted counts are wrong.
func (s *simulation) wrongTasks() (wrong []uint64) {
	for r, err := range s.c.ledger.All() {
		s.must(err)
		if r.Count != countOf(r.Hash) {
			wrong = append(wrong, r.Task)
		}
	}
	return wrong
}

// With two voters a task, no total is wrong as long as no two admitted keys report the same wrong count:
// also if half of the workers lie, if a liar has a hundred keys that nobody admitted, and sends its results
// also without the proof of its admission, and if the coordinator dies now and then.
func TestRedundancyIsExactAmongLiars(t *testing.T) {
	for _, liars := range []int{1, 2, 5} {
		for _, wrong := range []float64{0.05, 1} {
			t.Run(fmt.Sprint(liars, " liars, ", wrong), func(t *testing.T) {
				rng := testkit.Rand(t)
				synctest.Test(t, func(t *testing.T) {
					s := &simulation{board: 9, trust: ledger.Trust{Redundancy: 2}, fleet: fleetOf(10-liars, liars, wrong)}
					for i := range 100 {
						s.fleet = append(s.fleet, &player{name: fmt.Sprint("sybil", i), wrong: wrong, by: 100})
					}
					playFleet(t, rng, s, func(step int) {
						if rng.IntN(500) == 0 {
							s.stop()
							l, err := ledger.Open(t.Context(), s.folder)
							s.must(err)
							s.begin(l)
							s.greet()
						}
					})
					if wrong := s.wrongTasks(); len(wrong) > 0 {
						t.Errorf("the counts of tasks %v are wrong", wrong)
					}
					for _, q := range s.c.ledger.Quarantined() {
						if q.Unadmitted || strings.HasPrefix(q.Key, "honest") {
							t.Errorf("%s is in quarantine", q.Key)
						}
					}
					if n := len(s.c.trust.unadmitted); n != 100 {
						t.Errorf("%d keys are told that they are not admitted", n)
					}
					s.stop()
				})
			})
		}
	}
}

// However a liar's keys come and go, what they reported is void once they are found: by spot checks
// alone a run is exact if every wrong chunk was checked, and the liars that were found are in
// quarantine. The log has what was found after how many tasks, beside the formula of docs/accounting.md.
func TestSpotChecksFindLiars(t *testing.T) {
	const share, wrong = 0.05, 0.1
	for _, liars := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(liars, " liars"), func(t *testing.T) {
			rng := testkit.Rand(t)
			synctest.Test(t, func(t *testing.T) {
				s := &simulation{board: 12, trust: ledger.Trust{Redundancy: 1, SpotCheck: share, Seed: [32]byte{byte(rng.Uint32())}}, fleet: fleetOf(10-liars, liars, wrong)}
				playFleet(t, rng, s, nil)
				found := len(s.c.ledger.Quarantined())
				for _, p := range s.fleet {
					if quarantined := s.c.ledger.IsQuarantined(p.name); quarantined && p.wrong == 0 {
						t.Errorf("%s is in quarantine", p.name)
					} else if p.wrong > 0 {
						t.Logf("%s: found %v after %d tasks, %d wrong chunks", p.name, quarantined, p.tasks, p.lies)
					}
				}
				left := s.wrongTasks()
				t.Logf("%d tasks, %d of %d found, %d wrong tasks left", s.c.collector.manifest.Tasks, found, liars, len(left))
				if found == liars && len(left) > 0 {
					t.Errorf("all liars are in quarantine, and tasks %v are wrong", left)
				}
				s.stop()
			})
		})
	}
}

// A quarantine outlasts the coordinator: its key is refused and named in beats, what only it had counted is
// counted again, and the total is exact. A lifted key counts again.
func TestQuarantineSurvivesDeath(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{board: 10, trust: ledger.Trust{Redundancy: 1, SpotCheck: 1}, fleet: fleetOf(3, 1, 1)}
		died := false
		playFleet(t, rng, s, func(int) {
			if died || len(s.c.ledger.Quarantined()) == 0 {
				return
			}
			died = true
			s.stop()
			l, err := ledger.Open(t.Context(), s.folder)
			s.must(err)
			s.begin(l)
			s.greet()
			s.c.updateBeat()
			if named := s.c.beat.Load().Quarantined; !slices.Equal(named, []string{"liar0"}) {
				t.Errorf("the beat names %v", named)
			}
			if s.c.trust.voters["liar0"] {
				t.Error("a quarantined key counts as a connected voter")
			}
		})
		if wrong := s.wrongTasks(); !died || len(wrong) > 0 {
			t.Errorf("coordinator died: %v; wrong tasks %v", died, wrong)
		}
		done := make(chan error, 1)
		s.c.lift(lift{"liar0", done})
		s.must(<-done)
		s.c.lift(lift{"liar0", done})
		if err := <-done; err == nil || len(s.c.quarantinedKeys()) > 0 {
			t.Errorf("lifted twice: %v; quarantined %v", err, s.c.quarantinedKeys())
		}
		s.stop()
	})
}

// While fewer voters are connected than must agree, nothing is published in vain, and the run waits.
// It continues as soon as another one is there.
func TestCopiesWaitForVoters(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{board: 10, trust: ledger.Trust{Redundancy: 3}, fleet: fleetOf(2, 0, 0)}
		published := uint64(0)
		playFleet(t, rng, s, func(step int) {
			switch {
			case step < 3000:
			case step == 3000:
				published = s.last
				if s.c.collector.agreedLen > 0 {
					t.Errorf("on %d tasks 3 voters agree, of 2", s.c.collector.agreedLen)
				}
			case step == 4000:
				if s.last > published+10 {
					t.Errorf("%d chunks were published while the run waited", s.last-published)
				}
				s.fleet = append(s.fleet, &player{name: "third", admitted: true})
			}
		})
		s.stop()
	})
}

// Where one count of a task is enough, that of an unadmitted key will do. A different count, from any key,
// withholds the total until two admitted keys agree or the coordinator has counted the task. Other
// unadmitted keys settle nothing. Where several keys must agree, unadmitted keys are refused, and told.
func TestUnadmittedKeys(t *testing.T) {
	rng := testkit.Rand(t)
	for _, redundancy := range []int{1, 2} {
		t.Run(fmt.Sprint("redundancy ", redundancy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &simulation{t: t, rng: rng, folder: t.TempDir(), trust: ledger.Trust{Redundancy: redundancy}, fleet: fleetOf(1, 0, 0)}
				for i := range run.MaxUnadmitted + 2 {
					s.fleet = append(s.fleet, &player{name: fmt.Sprint("stranger", i)})
				}
				s.create()
				s.greet()
				c := s.c
				c.updateBeat()
				want := 0
				if redundancy > 1 {
					want = run.MaxUnadmitted
				}
				if named := c.beat.Load().Unadmitted; len(named) != want || slices.Contains(named, "honest0") {
					t.Errorf("the beat names %d unadmitted keys, want %d", len(named), want)
				}
				if !maps.Equal(c.trust.voters, map[string]bool{"honest0": true}) {
					t.Errorf("the voters are %v", c.trust.voters)
				}
				var task queens.Task
				s.must(split.Find(t.Context(), &c.collector.manifest, []uint64{0}, func(found queens.Task) { task = found }))
				c.reconciled = true
				c.window.add(&task)
				result := func(name string, admitted bool, count uint64) {
					r := queens.ChunkResult{Run: "r", Manifest: c.collector.manifest.Hash, Chunk: 1, Worker: name}
					seal(&r, admitted)
					r.Counts = []queens.TaskCount{{Hash: task.Hash(), Count: count, Kernel: "k"}}
					s.read++
					s.must(c.receive([]delivery{{result: r, position: run.StreamPosition{Created: s.created, Sequence: uint64(s.read)}}}))
				}
				result("stranger0", false, 7)
				result("stranger0", true, 7) // the same key with a proof is the same voter
				accepted := c.ledger.Len()
				result("stranger1", false, 8)
				result("stranger2", false, 8)
				result("stranger3", false, 8)
				if redundancy > 1 {
					if accepted != 1 || c.ledger.Voters(0) != 1 || len(c.ledger.Disputes()) > 0 || c.ledger.Rejected() != 4 {
						t.Errorf("%d tasks are counted, by %d voters; %d results were rejected; disputes %v",
							accepted, c.ledger.Voters(0), c.ledger.Rejected(), c.ledger.Disputes())
					}
					s.stop()
					return
				}
				if d := c.collector.disputes[0]; accepted != 1 || d == nil || d.Settled || c.collector.complete() {
					t.Errorf("%d tasks are counted, and the dispute is %v", accepted, d)
				}
				result("honest0", true, 7)
				if d := c.collector.disputes[0]; d == nil || d.Settled {
					t.Errorf("one admitted key settles the dispute: %v", d)
				}
				result("honest1", true, 7)
				r, _, err := c.ledger.Result(0)
				if len(c.collector.disputes) > 0 || err != nil || r.Count != 7 {
					t.Errorf("open disputes %v; the count is %d (%v)", c.collector.disputes, r.Count, err)
				}
				var quarantined []string
				for _, q := range c.ledger.Quarantined() {
					quarantined = append(quarantined, q.Key)
				}
				slices.Sort(quarantined)
				if !slices.Equal(quarantined, []string{"stranger1", "stranger2", "stranger3"}) {
					t.Errorf("quarantined are %v", quarantined)
				}
				s.stop()
			})
		})
	}
}
