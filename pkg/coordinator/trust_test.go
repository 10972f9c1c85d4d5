package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
		s.must(c.considerCopies())
		s.must(c.sweep())
		if c.window.checks > 0 && c.window.onlyChecks() && len(c.collector.disputes) == 0 {
			s.must(c.endChecks())
		}
	}
}

// work lets a worker count a chunk, unless it has counted a task of it and declines.
func (s *simulation) work(p *player, chunk *queens.Chunk) bool {
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

// With two voters a task, no total is wrong as long as no two voters report the same wrong count:
// also if half of the workers lie, if a liar has a hundred keys that nobody admitted, and if the
// coordinator dies now and then.
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
					s.stop()
				})
			})
		}
	}
}
