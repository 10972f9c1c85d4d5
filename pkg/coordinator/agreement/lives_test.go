package agreement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// What must always hold holds after each event of random lives, and each life ends once faults stop.
func TestLives(t *testing.T) {
	rng := testkit.Rand(t)
	for range 800 {
		y := newLife(t, rng)
		for range 60 + rng.IntN(100) {
			y.step()
			y.check()
		}
		y.finish()
	}
}

// step plays a random event.
func (y *life) step() {
	rng, task := y.rng, y.rng.Uint64N(lifeTasks)
	y.tickedAt = time.Time{}
	switch e := rng.IntN(40); {
	case e < 16: // a worker reports a task that it can get
		if y.queue[task] || y.a.State(task) == agreement.Open && !y.dead[task] {
			y.report(y.anyWorker(), task)
		}
	case e < 18:
		y.reportAll(1+rng.IntN(5), func() (int, uint64) { return y.anyWorker(), (task + rng.Uint64N(2)) % lifeTasks }, true)
	case e < 24:
		if n := len(y.own); n > 0 {
			i, f := rng.IntN(n), agreement.Failure(max(rng.IntN(5)-2, 0))
			if f == agreement.TooLong && (y.own[i].Unlimited || y.own[i].Op == agreement.Check) {
				f = agreement.Failed
			}
			y.endOwn(i, f)
		}
	case e < 28:
		w := &y.workers[rng.IntN(len(y.workers))]
		w.connected = !w.connected
		y.note("%s is connected: %v", w.key, w.connected)
		y.connect()
		y.carryOut()
	case e < 34:
		y.tick(time.Duration(1+rng.IntN(10_000)) * time.Millisecond)
		y.tickedAt = y.now
	case e < 37:
		if y.l.IsRevoking() {
			y.void()
		}
	case e == 37:
		if y.queue[task] && rng.IntN(3) == 0 {
			y.withdraw(task)
		}
	case e == 38:
		if y.dead[task] && rng.IntN(2) == 0 {
			y.countAlone(task)
		}
	case rng.IntN(5) == 0:
		y.restart()
	}
}

// anyWorker chooses a worker.
func (y *life) anyWorker() int {
	w := y.rng.IntN(len(y.workers))
	if y.liars && y.rng.IntN(4) > 0 {
		w = len(y.workers) - 1 - w%4
	}
	return w
}

// agrees and isChecked are the meanings of Redundancy and of a spot check.
func (y *life) agrees(s run.Standing) bool {
	return s.Counted && (y.cfg.Redundancy == 1 || s.Voters >= y.cfg.Redundancy || s.Alone)
}

func (y *life) isChecked(s run.Standing) bool { return s.Own || s.Voters > y.cfg.Redundancy }

// check checks what must always hold, by its number in the package comment.
func (y *life) check() {
	y.t.Helper()
	var done, due, unchecked uint64
	for id := range uint64(lifeTasks) {
		s, d, state := y.l.Standing(id), y.l.Dispute(id), y.a.State(id)
		if y.a.IsDone(id) {
			done++
			if !y.agrees(s) || y.a.IsDisputed(id) || d != nil && !d.Settled { // 1
				y.fail("task %d is done with %+v, %+v", id, s, d)
			}
		}
		if !y.isAskedFor(id, state) { // 2
			y.fail("task %d is %s, and nobody is asked for it", id, state)
		}
		switch state {
		case agreement.Agreed:
			if y.cfg.IsDrawn(id) && !y.isChecked(s) {
				unchecked++
			}
		case agreement.Due, agreement.CheckAsked, agreement.CheckOwn:
			due++
			if y.isChecked(s) {
				y.fail("task %d is %s with %+v", id, state, s)
			}
		case agreement.Open:
			if s.Counted {
				y.fail("task %d is open with %+v", id, s)
			}
		}
	}
	if done != y.a.Done() || y.a.DoneOf()[0]+y.a.DoneOf()[1] != done {
		y.fail("%d tasks are done, not %d or %v", done, y.a.Done(), y.a.DoneOf())
	}
	reported, missed := y.a.Checks()
	if unchecked > missed || reported < due || done == lifeTasks && reported != due { // 4
		y.fail("%d tasks are not checked, %d are due; said are %d missed and %d due", unchecked, due, missed, reported)
	}
	y.checkOwn()
}

// isAskedFor reports whether somebody is asked for a count of a task, if its state says so.
func (y *life) isAskedFor(id uint64, state agreement.State) bool {
	counts := func(op agreement.Op) bool {
		return slices.ContainsFunc(y.own, func(o agreement.Command) bool { return o.Op == op && o.Task == id })
	}
	switch state {
	case agreement.Asked, agreement.CheckAsked:
		return y.queue[id]
	case agreement.VoteAsked:
		return y.queue[id] || strings.Contains(y.lineOf(id), "not for")
	case agreement.CheckOwn:
		return counts(agreement.Check)
	case agreement.Refereed:
		return counts(agreement.Referee)
	case agreement.Disputed: // until the next tick
		return y.tickedAt != y.now || slices.ContainsFunc(y.own, func(o agreement.Command) bool { return o.Op == agreement.Referee })
	}
	return true
}

// lineOf returns what the dump says of a task that is vote-asked.
func (y *life) lineOf(id uint64) string {
	_, rest, _ := strings.Cut(y.a.Dump(y.now), fmt.Sprintf("task %d vote-asked", id))
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// checkOwn checks that the coordinator does not count more at once than it can.
func (y *life) checkOwn() {
	y.t.Helper()
	var quick, long, checks int
	for _, o := range y.own {
		switch {
		case o.Op == agreement.Check:
			checks++
		case o.Unlimited:
			long++
		default:
			quick++
		}
	}
	if quick > 1 || long > 1 || checks > y.cfg.EndThreads {
		y.fail("the coordinator makes %d quick counts, %d long ones and %d checks", quick, long, checks)
	}
}

// finish ends the faults: all workers are honest and connected, and every count that is asked for is made. Every
// task must become done and checked, but those that nobody may count.
func (y *life) finish() {
	y.t.Helper()
	y.note("the faults end")
	for i := range y.workers {
		y.workers[i].lies, y.workers[i].connected = 0, true
	}
	y.connect()
	y.carryOut()
	for range 1000 {
		for y.l.IsRevoking() {
			y.void()
		}
		for len(y.own) > 0 {
			y.endOwn(0, agreement.NotTried)
		}
		if y.a.IsComplete() && !y.l.IsRevoking() {
			y.checkCounts()
			return
		}
		y.countAll()
		y.tick(time.Second)
		y.tickedAt = y.now
		y.check()
		y.tickedAt = time.Time{}
		if y.isBlocked() {
			return
		}
	}
	y.fail("the life does not end")
}

// countAll has each task that waits counted by a worker that has not counted it.
func (y *life) countAll() {
	for id := range uint64(lifeTasks) {
		if y.dead[id] && !y.a.IsDisputed(id) {
			y.countAlone(id)
		}
		if !y.queue[id] && y.a.State(id) != agreement.Open {
			continue
		}
		for w := range y.workers {
			if key := y.workers[w].key; y.workers[w].admitted && !y.l.IsQuarantined(key) && !y.hasCounted(key, id) {
				y.report(w, id)
				break
			}
		}
	}
}

// hasCounted reports whether the ledger has a count of a task by a key.
func (y *life) hasCounted(key string, id uint64) bool {
	counts := y.l.Supporters(id)
	if d := y.l.Dispute(id); d != nil {
		counts = d.Votes
	}
	return slices.ContainsFunc(counts, func(r run.Result) bool { return r.Key == key })
}

// isBlocked reports whether only disputed tasks are left that no worker gets and the coordinator may not count.
func (y *life) isBlocked() bool {
	for id := range uint64(lifeTasks) {
		if !y.a.IsDone(id) && (!y.dead[id] || y.a.State(id) != agreement.Stuck) {
			return false
		}
	}
	return len(y.dead) > 0
}

// checkCounts checks that a wrong count is accepted only if no voter was asked for more.
func (y *life) checkCounts() {
	y.t.Helper()
	for id := range uint64(lifeTasks) {
		all := y.l.Supporters(id)
		if s := y.l.Standing(id); all[0].Count != right(id) && (y.cfg.Redundancy > 1 || y.isChecked(s)) {
			y.fail("task %d has the wrong count of %s", id, all[0].Voter())
		}
	}
}
