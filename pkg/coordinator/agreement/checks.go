package agreement

import (
	"math"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// The coordinator counts spot checks itself that no other voter can make. If their time is bounded, that
// is in at most maxCheckShare of the core time of the searches while the run counts, and at its end for at most
// maxEndShare of the time that the run took.
const (
	maxCheckShare = 0.02
	maxEndShare   = 0.01
)

const (
	// maxCheckAsked is how many tasks voters are asked for at once for spot checks.
	maxCheckAsked = 1 << 12
	// maxLooks is how many tasks a call of Tick has looked at for voters that can check them.
	maxLooks = 1 << 10
	// maxVain is how many counts in a row may gain nothing before a spot check is left to the coordinator.
	maxVain = 2
)

// checks is what is known of the spot checks.
type checks struct {
	due    bitmap // tasks whose check is owed, also those for which somebody makes it
	vain   bitmap // of them, those that voters were asked for and did not make
	cursor uint64 // from where on the next due task is searched
	looked uint64 // due tasks looked at since a voter was found for one, or the voters changed
	missed uint64 // tasks whose checks were not made

	running  map[uint64]bool // tasks that the coordinator checks now
	searched time.Duration   // what accepted searches took since the start
	spent    time.Duration   // what the coordinator's checks took
	first    time.Duration   // what the first counts of the same tasks took

	left   uint64        // due checks when there was progress last
	leftAt time.Time     // the time of that
	ownAt  time.Time     // since when only the coordinator's own checks are left; zero before
	ownFor time.Duration // how long that was so before, each time until something else was left again
}

func newChecks(tasks uint64) checks {
	return checks{due: newBitmap(tasks), vain: newBitmap(tasks), running: make(map[uint64]bool)}
}

// plus returns the sum of two times, or the longest time if the sum is longer: workers claim any times.
func plus(a, b time.Duration) time.Duration { return a + min(b, math.MaxInt64-a) }

// isChecked reports whether a task needs no spot check.
func (a *Agreement) isChecked(s run.Standing) bool { return s.Voters > a.cfg.Redundancy || s.Own }

// owesCheck reports whether a task is to be spot-checked: if it is drawn, or is in one of the first chunks of a
// key on whose word alone it was accepted.
func (a *Agreement) owesCheck(id uint64, s run.Standing, early bool) bool {
	return a.cfg.Share > 0 && !a.isChecked(s) && (early && a.cfg.Redundancy <= 1 || a.draw.has(id))
}

// enough returns what supports a task with as many voters as it needs: the ledger may have more in the same transaction,
// all of one owner, before anybody has decided who makes the check.
func (a *Agreement) enough(s run.Standing) run.Standing {
	s.Voters = min(s.Voters, a.cfg.Redundancy)
	return s
}

// check has the spot check of a task made that is due: by another voter, or by the coordinator, or later. Keys that
// the join token admits may all have one owner: if no other key has counted the task, the coordinator comes first,
// and makes one such check whatever it costs. A task that workers were lost with is not checked: the count may end the
// coordinator's process too. If the coordinator's check is the only count that is left, the coordinator can't check
// that.
func (a *Agreement) check(t *task, first *run.Result) {
	c := &a.checks
	byVoter := a.canAskCheck(t)
	isChecker := slices.Contains(t.voters, run.Checker)
	own := !isChecker && len(c.running) < a.checkThreads() && !c.running[t.id] && (a.canAfford(first.Elapsed) || !t.named && c.spent == 0)
	if !byVoter {
		c.looked++
	}
	switch {
	case a.withdrawn[t.id]:
		a.miss(t)
	case byVoter && a.states[CheckAsked] < maxCheckAsked && (t.named || !own):
		c.looked = 0
		a.set(t, CheckAsked)
		a.order(Again, t.id)
	case isChecker && !c.ownAt.IsZero():
		a.miss(t)
	case own:
		c.running[t.id] = true
		c.first = plus(c.first, first.Elapsed)
		a.set(t, CheckOwn)
		a.commands = append(a.commands, Command{Op: Check, Task: t.id, Kernels: []string{first.Kernel}})
	default:
		a.set(t, Due)
	}
}

// canAskCheck reports whether another voter can be asked for the spot check of a task.
func (a *Agreement) canAskCheck(t *task) bool {
	return a.checks.ownAt.IsZero() && !a.checks.vain.has(t.id) && a.isConnected(t.voters)
}

// checkCounted takes up a count of a task whose check is owed.
func (a *Agreement) checkCounted(t *task, c *Count) {
	switch {
	case a.isChecked(c.Standing):
		a.checks.due.put(t.id, false)
		a.set(t, Agreed)
		a.order(Settle, t.id)
	case t.state == CheckAsked && t.vain >= maxVain:
		a.checks.vain.put(t.id, true)
		a.check(t, c.Result)
		a.order(Settle, t.id)
	case t.state == CheckAsked:
		a.order(Again, t.id)
	}
}

// checkThreads returns how many checks the coordinator makes at once.
func (a *Agreement) checkThreads() int {
	if a.checks.ownAt.IsZero() {
		return a.cfg.CheckThreads
	}
	return a.cfg.EndThreads
}

// canAfford reports whether the coordinator may count a task whose first count took so long.
func (a *Agreement) canAfford(first time.Duration) bool {
	c := &a.checks
	if !a.cfg.Bounded || !c.ownAt.IsZero() {
		return true
	}
	const unknown = 2 // times as long as the first count
	expected := unknown * float64(first)
	if c.first > 0 {
		expected = float64(first) * float64(c.spent) / float64(c.first)
	}
	return float64(c.spent)+expected <= maxCheckShare*float64(c.searched)
}

// startChecks has due tasks looked at, for those who can check them.
func (a *Agreement) startChecks() {
	c := &a.checks
	idle := c.due.count - min(c.due.count, uint64(a.states[CheckAsked]+a.states[CheckOwn]))
	looks := 0
	if len(c.running) < a.checkThreads() && a.canAfford(0) {
		looks = a.checkThreads() - len(c.running)
	}
	if c.ownAt.IsZero() && len(a.voters) > 0 && c.looked < c.due.count {
		looks = max(looks, min(maxLooks, maxCheckAsked-a.states[CheckAsked]))
	}
	looks = min(looks, int(idle))
	for passed := uint64(0); looks > 0 && passed < c.due.count; passed++ {
		id, ok := c.due.next(c.cursor)
		if !ok {
			id, _ = c.due.next(0)
		}
		c.cursor = id + 1
		if a.tasks[id] == nil { // nobody checks it, and it is in no dispute
			a.order(Look, id)
			looks--
		}
	}
}

// Seen answers Look: the counts that agree on the task, the accepted one first.
func (a *Agreement) Seen(id uint64, counts []run.Result) {
	if a.State(id) != Due || len(counts) == 0 {
		return
	}
	t := a.get(id)
	for i := range counts {
		t.addVoter(&counts[i])
	}
	a.check(t, &counts[0])
}

// CheckEnded takes up that the coordinator has ended a check: it took so long, and has failed, or its count
// follows.
func (a *Agreement) CheckEnded(id uint64, took time.Duration, failed bool) {
	delete(a.checks.running, id)
	a.checks.spent += took
	if t := a.tasks[id]; failed && t != nil && t.state == CheckOwn {
		a.miss(t)
	}
}

// miss takes up that the check of a task is not made.
func (a *Agreement) miss(t *task) {
	if a.checks.due.has(t.id) {
		a.checks.missed++
		a.checks.due.put(t.id, false)
	}
	a.set(t, Agreed)
}

// endChecks ends the run's wait for spot checks, if nothing else is left: voters have Patience from one check to
// the next, also with those that the coordinator has not ended soon. Then the coordinator counts, for a share of the
// time that the run took, if it is bounded. The checks that are left then are missed.
func (a *Agreement) endChecks(now time.Time, wall time.Duration, voiding bool) {
	c := &a.checks
	if a.done.count < a.cfg.Manifest.Tasks || voiding || c.due.count == 0 {
		if !c.ownAt.IsZero() {
			c.ownFor += now.Sub(c.ownAt)
		}
		c.ownAt, c.leftAt = time.Time{}, time.Time{}
		return
	}
	if c.leftAt.IsZero() || c.left != c.due.count {
		c.left, c.leftAt = c.due.count, now
	}
	most := time.Duration(maxEndShare * float64(wall))
	if c.ownAt.IsZero() {
		if now.Sub(c.leftAt) >= most {
			a.leaveOwnChecks()
		}
		asks := a.states[CheckAsked] > 0 && now.Sub(c.leftAt) < a.cfg.Patience
		if asks || a.states[CheckAsked] == 0 && len(a.voters) > 0 && c.looked < c.due.count {
			return
		}
		c.ownAt = now
		a.forDue(func(t *task) {
			if t.state == CheckAsked {
				a.set(t, Due)
				a.order(Settle, t.id)
			}
		})
	}
	late := a.cfg.Bounded && c.ownFor+now.Sub(c.ownAt) >= most
	if a.cfg.EndThreads == 0 || late {
		a.forDue(a.miss)
	}
}

// leaveOwnChecks leaves to voters what the coordinator checks now, if they can: they may be faster.
func (a *Agreement) leaveOwnChecks() {
	for id := range a.checks.running {
		if t := a.tasks[id]; t != nil && t.state == CheckOwn && a.canAskCheck(t) {
			a.set(t, Due)
			a.checks.looked = 0
		}
	}
}

// forDue calls each with the tasks whose check is owed, in order.
func (a *Agreement) forDue(each func(*task)) {
	for id, ok := a.checks.due.next(0); ok; id, ok = a.checks.due.next(id + 1) {
		each(a.get(id))
	}
}
