package agreement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/memledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// life plays an Agreement with a ledger in memory, and with a queue, workers and counts of the coordinator that are
// as simple as can be.
type life struct {
	t        *testing.T
	rng      *rand.Rand
	cfg      agreement.Config
	a        *agreement.Agreement
	l        *memledger.Ledger
	now      time.Time
	tickedAt time.Time // now, right after a tick
	workers  []worker
	liars    bool            // the last four workers report most counts
	search   time.Duration   // 20 times it is the longest that may be
	longest  time.Duration   // search so far
	queue    map[uint64]bool // tasks that wait for a further count
	dead     map[uint64]bool // tasks that no worker gets
	own      []agreement.Command
	trace    []string
}

// worker is a key. Its lies are the chance that a count is wrong; two liars never give the same wrong count.
type worker struct {
	key       string
	admitted  bool
	byToken   bool
	lies      float64
	connected bool
}

const lifeTasks = 6

// lifeManifest returns a manifest of two classes.
func lifeManifest(tasks uint64) *queens.Manifest {
	return &queens.Manifest{Tasks: tasks, Classes: []queens.ClassPlan{{}, {First: tasks / 2}}}
}

// newLife begins a random life: of any redundancy, share of checks and abilities of the coordinator. Enough of its
// workers are honest.
func newLife(t *testing.T, rng *rand.Rand) *life {
	y := &life{t: t, rng: rng, now: time.Unix(0, 0), queue: make(map[uint64]bool), dead: make(map[uint64]bool)}
	y.cfg = agreement.Config{
		Manifest: lifeManifest(lifeTasks), Redundancy: 1 + rng.IntN(3), Share: []float64{0, 0.5, 1}[rng.IntN(3)],
		Bounded: rng.IntN(2) == 0, CheckThreads: rng.IntN(2), Referee: rng.IntN(3) > 0,
		Patience: []time.Duration{time.Second, 30 * time.Second}[rng.IntN(2)],
	}
	y.cfg.EndThreads = 2 * y.cfg.CheckThreads
	y.cfg.Seed[0] = byte(rng.Uint32())
	y.liars = rng.IntN(3) == 0
	y.search = []time.Duration{time.Millisecond, time.Second}[rng.IntN(2)]
	for i := range 5 {
		y.workers = append(y.workers, worker{key: fmt.Sprint("honest", i), admitted: true})
	}
	y.workers = append(y.workers, worker{key: "liar", admitted: true, lies: 0.7}, worker{key: "sometimes", admitted: true, lies: 0.2},
		worker{key: "stranger"}, worker{key: "strange-liar", lies: 0.5})
	for i := range y.workers {
		y.workers[i].byToken = y.workers[i].admitted && rng.IntN(2) == 0
	}
	y.l = memledger.New(lifeTasks, y.cfg.Redundancy)
	y.a = agreement.New(y.cfg)
	return y
}

// right is the right count of a task.
func right(task uint64) uint64 { return 100 + task }

// count is a count that a worker makes.
func (y *life) count(w int, task uint64) *run.Result {
	r := &run.Result{Task: task, Count: right(task), Worker: y.workers[w].key, Key: y.workers[w].key, Admitted: y.workers[w].admitted, ByToken: y.workers[w].byToken, Kernel: "k"}
	r.Elapsed = y.search * time.Duration(y.rng.IntN(20))
	if y.rng.Float64() < y.workers[w].lies {
		r.Count += uint64(w)
	}
	return r
}

// accept stores a count and tells the Agreement.
func (y *life) accept(r *run.Result, early bool) {
	c := y.l.Accept(r)
	c.Early = early
	y.take(&c)
}

// take tells the Agreement of a count that is stored.
func (y *life) take(c *agreement.Count) {
	y.longest = max(y.longest, c.Result.Elapsed)
	y.a.Counted(y.now, c)
}

// report has a worker report a task: the message leaves the queue.
func (y *life) report(w int, task uint64) {
	y.reportAll(1, func() (int, uint64) { return w, task }, false)
}

// reportAll has some workers report tasks, which the ledger records in one transaction. The messages leave the queue, unless
// the reports are late.
func (y *life) reportAll(number int, next func() (w int, task uint64), late bool) {
	var all []agreement.Count
	for range number {
		w, task := next()
		if y.cfg.Redundancy > 1 && !y.workers[w].admitted {
			continue
		}
		r := y.count(w, task)
		y.note("%s counts task %d: %d, of %d", r.Key, task, r.Count, number)
		c := y.l.Accept(r)
		c.Early = y.rng.IntN(10) == 0
		all = append(all, c)
	}
	for i := range all {
		c := &all[i]
		c.Standing, c.Dispute = y.l.Standing(c.Result.Task), y.l.Dispute(c.Result.Task)
		y.take(c)
		if !late {
			delete(y.queue, c.Result.Task)
		}
		y.carryOut()
	}
}

// carryOut carries out the commands.
func (y *life) carryOut() {
	for commands := y.a.Commands(); len(commands) > 0; commands = y.a.Commands() {
		for _, o := range commands {
			y.carryOutOne(&o)
		}
	}
}

func (y *life) carryOutOne(o *agreement.Command) {
	switch o.Op {
	case agreement.Settle:
		delete(y.queue, o.Task)
		delete(y.dead, o.Task)
	case agreement.Again:
		if !y.dead[o.Task] {
			y.queue[o.Task] = true
		}
	case agreement.Referee, agreement.Check:
		y.own = append(y.own, *o)
	case agreement.Look:
		y.a.Seen(o.Task, y.l.Supporters(o.Task))
	case agreement.Quarantine:
		y.quarantine(o)
	case agreement.Reopen, agreement.Opened, agreement.Outvoted, agreement.Closed:
	}
}

// quarantine checks that the key deserves it: the coordinator, or as many voters as settle a dispute, say another
// count.
func (y *life) quarantine(o *agreement.Command) {
	d, voters, own := y.l.Dispute(o.Task), 0, false
	for _, v := range d.Votes {
		if v.Count == o.Right && v.Admitted {
			voters++
		}
		own = own || v.Count == o.Right && v.Worker == run.Referee
	}
	if o.Vote.Count == o.Right || !own && voters < d.Quorum {
		y.fail("%s is quarantined for %d, not %d, in task %d", o.Vote.Key, o.Vote.Count, o.Right, o.Task)
	}
	if o.Vote.Count == right(o.Task) {
		y.fail("the honest %s is quarantined", o.Vote.Key)
	}
	y.note("%s is quarantined", o.Vote.Key)
	y.l.Quarantine(o.Vote.Key)
	y.connect()
}

// connect tells the Agreement who is connected.
func (y *life) connect() {
	var voters []string
	for _, w := range y.workers {
		if w.connected && w.admitted && !y.l.IsQuarantined(w.key) {
			voters = append(voters, w.key)
		}
	}
	y.a.Connected(y.now, voters)
}

// endOwn ends a count of the coordinator.
func (y *life) endOwn(i int, f agreement.Failure) {
	o := y.own[i]
	y.own = slices.Delete(y.own, i, i+1)
	r := &run.Result{Task: o.Task, Count: right(o.Task), Kernel: "own", Elapsed: time.Second, Worker: run.Referee}
	y.note("the coordinator counts task %d: failure %d", o.Task, f)
	if o.Op == agreement.Check {
		r.Worker = run.Checker
		y.a.CheckEnded(o.Task, time.Second, f != agreement.NotTried)
	} else {
		y.a.RefereeEnded(y.now, o.Task, o.Unlimited, f)
	}
	if f == agreement.NotTried {
		y.accept(r, false)
	}
	y.carryOut()
}

// tick lets time pass.
func (y *life) tick(d time.Duration) {
	y.now = y.now.Add(d)
	y.a.Tick(y.now, y.now.Sub(time.Unix(0, 0)), y.longest, y.l.IsRevoking())
	y.carryOut()
}

// void voids some results of quarantined keys.
func (y *life) void() {
	for _, id := range y.l.Revoke() {
		y.a.Voided(y.now, id, y.l.Standing(id), y.l.Dispute(id))
	}
	y.carryOut()
}

// withdraw has workers lost with a task in the queue.
func (y *life) withdraw(id uint64) {
	y.note("task %d is withdrawn", id)
	delete(y.queue, id)
	y.dead[id] = true
	y.a.Withdrawn(y.now, id)
	y.carryOut()
}

// countAlone has the coordinator count a withdrawn task.
func (y *life) countAlone(id uint64) {
	y.note("task %d is counted alone", id)
	y.l.SetAlone(id)
	y.accept(&run.Result{Task: id, Count: right(id), Kernel: "own", Worker: run.Referee}, false)
	y.carryOut()
}

// restart has another coordinator go on from the ledger.
func (y *life) restart() {
	y.note("restart")
	y.own, y.queue, y.dead = nil, make(map[uint64]bool), make(map[uint64]bool)
	y.a = agreement.New(y.cfg)
	for id := range uint64(lifeTasks) {
		y.a.Load(id, y.l.Standing(id), false)
	}
	for id := range uint64(lifeTasks) {
		if d := y.l.Dispute(id); d != nil {
			y.a.LoadDispute(y.now, id, y.l.Standing(id), d)
		}
	}
	for id := range uint64(lifeTasks) {
		if y.l.Standing(id).Counted && y.a.State(id) == agreement.Open {
			y.a.LoadLacking(y.now, id, y.l.Supporters(id))
		}
	}
	y.carryOut()
	y.connect()
	y.carryOut()
}

func (y *life) note(format string, args ...any) {
	y.trace = append(y.trace, fmt.Sprintf(format, args...))
}

func (y *life) fail(format string, args ...any) {
	y.t.Helper()
	cfg := fmt.Sprintf("redundancy %d, share %v, bounded %v, threads %d, referee %v", y.cfg.Redundancy, y.cfg.Share, y.cfg.Bounded, y.cfg.CheckThreads, y.cfg.Referee)
	y.t.Fatalf(format+"\n%s\n%s\n%s%s", append(args, cfg, strings.Join(y.trace, "\n"), y.a.Dump(y.now), y.l)...)
}
