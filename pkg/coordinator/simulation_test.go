package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// simulation plays the queue, the stream of results, honest and wrong workers, and the goroutines
// of a coordinator, which dies now and then, for its event loop.
type simulation struct {
	t       *testing.T
	rng     *rand.Rand
	folder  string
	c       *Coordinator
	queue   []*queens.Chunk
	results []queens.ChunkResult // stored, all that ever were
	read    int                  // of them, by this coordinator
	created time.Time            // of the stream
	wanted  []uint64             // being looked up
	last    uint64               // sequence of a chunk
	board   int                  // side of the board; 0 means 8
	trust   ledger.Trust         // of a new run; the zero value sets none
	fleet   []*player            // connected; see work
	checks  bool                 // the coordinator makes spot checks itself
	// takes, unless nil, reports whether a worker that takes a chunk counts it.
	takes func(p *player, chunk *queens.Chunk) bool
	// ended, unless nil, is called with the error of a sweep: the run has ended.
	ended func(error)
}

// However results come, wrong or not, twice, in parts, of tasks not published yet, from a liar that signs
// with an admitted key, another key, or both, in a run whose coordinator dies now and then, every task gets
// a count that is right if honest admitted keys could count it, and the run ends.
func TestCoordinatorSimulation(t *testing.T) {
	for range 40 {
		rng := testkit.Rand(t)
		synctest.Test(t, func(t *testing.T) {
			s := &simulation{t: t, rng: rng, folder: t.TempDir(), created: time.Now(), trust: ledger.Trust{Redundancy: 1 + rng.IntN(3)}}
			s.create()
			for step := 0; !s.c.collector.complete(); step++ {
				if step == 200_000 {
					t.Fatalf("%d of %d tasks are counted, %d are disputed; chunks %d, tasks in flight %d, pending %d", s.c.ledger.Len(),
						s.c.collector.manifest.Tasks, len(s.c.collector.disputes), len(s.c.window.chunks), len(s.c.window.tasks), s.c.window.pending.count)
				}
				s.step(step)
			}
			for r, err := range s.c.ledger.All() {
				if err != nil {
					t.Fatal(err)
				}
				if r.Count != countOf(r.Hash) {
					t.Errorf("the count of task %d is %d, want %d", r.Task, r.Count, countOf(r.Hash))
				}
			}
			s.stop()
		})
	}
}

// countOf is the right count of a task with that hash.
func countOf(hash uint64) uint64 { return hash % 1000 }

func (s *simulation) create() {
	n := max(s.board, 8)
	classes, err := symmetry.Classes(n, queens.None)
	if err != nil {
		s.t.Fatal(err)
	}
	m, err := split.Plan(s.t.Context(), n, queens.None, classes, n/4)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := ledger.Create(s.folder, ledger.Header{Run: "r", Created: time.Now(), Manifest: m})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.trust.Redundancy > 0 {
		s.must(l.SetTrust(s.trust))
	}
	s.begin(l)
}

// begin starts a coordinator. Some chunks of the last one stay in the queue.
func (s *simulation) begin(l *ledger.Ledger) {
	var check func(context.Context, *queens.Task, ...string) (queens.TaskCount, error)
	if s.checks {
		check = func(context.Context, *queens.Task, ...string) (queens.TaskCount, error) { panic("see ownChecks") }
	}
	s.c = New(Config{
		Check: check, CheckThreads: 2,
		Admits: func(_ string, admission []byte) (admitted, byToken bool) { return len(admission) > 0, true },
		Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Minute, DisputeTimeout: time.Hour,
		OnProgress: func(run.Progress) {}, ReportEvery: time.Hour, Log: zerolog.Nop(),
	}, nil, nil, nil, nil, l)
	if err := s.c.load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.read, s.wanted = int(l.Position().Sequence), nil
	s.queue = slices.DeleteFunc(s.queue, func(*queens.Chunk) bool { return s.rng.IntN(10) > 0 })
}

func (s *simulation) stop() {
	s.c.window.close()
	if err := s.c.ledger.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *simulation) step(step int) {
	c := s.c
	faults := c.ledger.Len() < c.collector.manifest.Tasks*9/10
	switch s.rng.IntN(8) {
	case 0, 1:
		s.request()
	case 2, 3:
		if len(s.queue) > 0 {
			i := s.rng.IntN(len(s.queue))
			s.report(s.queue[i], faults)
			s.queue = slices.Delete(s.queue, i, i+1)
		}
	case 4: // results arrive
		n := min(s.rng.IntN(4), len(s.results)-s.read)
		var batch []delivery
		for range n {
			s.read++
			batch = append(batch, delivery{result: s.results[s.read-1], position: run.StreamPosition{Created: s.created, Sequence: uint64(s.read)}})
		}
		if s.read == len(s.results) {
			batch = append(batch, delivery{caughtUp: time.Now()})
		}
		s.must(c.receive(batch))
	case 5: // looked up
		if s.wanted == nil {
			s.wanted, c.wanted = c.wanted, nil
			break
		}
		slices.Sort(s.wanted)
		var found []queens.Task
		s.must(split.Find(s.t.Context(), &c.collector.manifest, s.wanted, func(task queens.Task) { found = append(found, task) }))
		s.must(c.handleFound(found))
		s.wanted = nil
	case 6:
		time.Sleep(time.Duration(s.rng.IntN(500)) * time.Millisecond)
		if s.read == len(s.results) {
			s.must(c.sweep())
		}
	case 7:
		if faults && s.rng.IntN(100) == 0 {
			s.stop()
			l, err := ledger.Open(s.t.Context(), s.folder)
			s.must(err)
			s.begin(l)
		}
		if s.rng.IntN(10) == 0 {
			c.window.resize(s.rng.IntN(8))
			h := heartbeat(fmt.Sprint("w", step%5), 1)
			h.Key, h.Admission = h.Worker, []byte{1}
			c.cfg.Roster.ObserveHeartbeat(h)
			c.observeVoters()
			c.considerAll()
		}
	}
	s.background()
	if s.c.reconciled {
		ready, _ := s.c.window.fill()
		s.must(s.c.record(ready))
		s.c.wanted, s.c.window.wanted = append(s.c.wanted, s.c.window.wanted...), nil
	}
}

// background does some of what the event loop does beside other events, or nothing.
func (s *simulation) background() {
	if s.c.ledger.IsVoiding() && s.rng.IntN(4) == 0 {
		s.must(s.c.void())
	}
	s.ownChecks()
	if s.c.toConsider > 0 && s.rng.IntN(4) == 0 {
		s.must(s.c.considerCopies())
	}
}

func (s *simulation) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// request executes a request.
func (s *simulation) request() {
	r, ok := s.c.window.nextRequest()
	if !ok {
		return
	}
	s.c.window.sent()
	r.at = time.Now()
	in := slices.IndexFunc(s.queue, func(c *queens.Chunk) bool { return c.ID == r.chunk })
	switch r.op {
	case opPublish:
		s.last++
		r.streamSeq, r.published = s.last, true
		s.queue = append(s.queue, r.message)
	case opCheck:
		r.missing = in < 0
	case opDelete:
		if in >= 0 {
			s.queue = slices.Delete(s.queue, in, in+1)
		}
	}
	s.c.window.completed(r)
}

// report stores the result of a chunk, or of a part of it. Wrong workers count wrongly what an
// honest worker counts too, or something else.
func (s *simulation) report(chunk *queens.Chunk, faults bool) {
	n := len(chunk.Tasks)
	r := queens.ChunkResult{Run: "r", Manifest: chunk.Manifest, Chunk: chunk.ID, First: chunk.First, Worker: fmt.Sprint("w", s.rng.IntN(5))}
	seal(&r, true)
	if s.rng.IntN(5) == 0 {
		n = 1 + s.rng.IntN(n)
	}
	for i := range n {
		task := chunk.Task(i)
		r.Counts = append(r.Counts, queens.TaskCount{Hash: task.Hash(), Count: countOf(task.Hash()), Kernel: "k", Elapsed: time.Duration(s.rng.IntN(1e6))})
	}
	chance := s.rng.IntN(10)
	if !faults {
		chance = 9
	}
	switch chance {
	case 0: // the result is lost
		return
	case 1: // something else was counted
		for i := range r.Counts {
			r.Counts[i].Hash++
		}
	case 2, 3: // both counts come, the wrong one first or last
		wrong := r
		wrong.Worker = "wrong"
		seal(&wrong, s.rng.IntN(2) == 0)
		wrong.Counts = slices.Clone(r.Counts)
		for i := range wrong.Counts {
			if s.rng.IntN(3) == 0 {
				wrong.Counts[i].Count++
			}
		}
		both := []queens.ChunkResult{r, wrong}
		if s.rng.IntN(2) == 0 { // the liar sends the same also under another identity
			seal(&wrong, wrong.Admission == nil)
			if s.rng.IntN(2) == 0 {
				wrong.Sealed.Key = "another"
				wrong.Admission = nil
			}
			both = append(both, wrong)
		}
		s.rng.Shuffle(len(both), func(i, k int) { both[i], both[k] = both[k], both[i] })
		s.results = append(s.results, both...)
		return
	case 4:
		s.results = append(s.results, r)
	}
	s.results = append(s.results, r)
}

// seal gives a result a key, which is the name of its worker, and an admission or none.
func seal(r *queens.ChunkResult, admitted bool) {
	r.Sealed, r.Admission = &queens.Sealed{Key: r.Worker, Statement: []byte{1}, Signature: []byte{1}}, nil
	if admitted {
		r.Admission = []byte{1}
	}
}
