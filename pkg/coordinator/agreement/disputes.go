package agreement

import (
	"slices"
	"time"

	"nqueens/pkg/run"
)

// Failure is why the coordinator has not settled a dispute.
type Failure uint8

// The failures.
const (
	NotTried Failure = iota
	TooLong          // A count within a short time has not come to its end.
	Failed           // It can't count the task.
)

// disputes is what is known of the disputes that are open.
type disputes struct {
	open     queue              // all of them; some are not open any more
	count    int                // of those open
	lanes    [lanes]queue       // those that the coordinator counts next; some are not to be counted there any more
	counting [lanes]bool        // it counts one
	failures map[uint64]Failure // of the coordinator's counts of disputed tasks
	slow     map[int]bool       // classes of which a task takes the coordinator too long
	proofs   map[uint64]bool    // tasks for whose sake a key was quarantined before the start
}

// lane is how the coordinator counts a disputed task. It counts one of each at a time.
type lane uint8

const (
	noLane lane = iota
	quick       // for a short time
	long        // however long it takes
	lanes  = iota
)

// isOpen reports whether a dispute has yet to be settled: by the coordinator's own count, or by the votes
// where it can't count the task. Without it, two liars can outvote one honest voter. If the votes agree since a
// quarantine, nothing is left to settle, unless a key was quarantined for the task's sake: the coordinator's count may
// acquit it.
func (a *Agreement) isOpen(id uint64, d *run.Dispute) bool {
	return !d.Settled || a.cfg.Referee && !d.HasReferee() && a.failure(id) == NotTried && (contradicts(d.Votes) || a.disputes.proofs[id])
}

// contradicts reports whether votes differ.
func contradicts(votes []run.Result) bool {
	return slices.ContainsFunc(votes, func(v run.Result) bool { return v.Count != votes[0].Count })
}

// failure returns why the coordinator does not settle the dispute about a task in a short time.
func (a *Agreement) failure(id uint64) Failure {
	if f := a.disputes.failures[id]; f != NotTried || !a.disputes.slow[a.cfg.Manifest.ClassOf(id)] {
		return f
	}
	return TooLong
}

// LoadQuarantine notes that a key was quarantined because of its count of a task. The caller calls it at the start,
// before LoadDispute.
func (a *Agreement) LoadQuarantine(id uint64) { a.disputes.proofs[id] = true }

// LoadDispute takes up a dispute at the start, after Load.
func (a *Agreement) LoadDispute(now time.Time, id uint64, s run.Standing, d *run.Dispute) {
	a.disputed(now, a.get(id), s, d)
}

// vote takes up a count of a task in dispute.
func (a *Agreement) vote(now time.Time, t *task, c *Count) {
	wasOpen := t.dispute != nil
	a.disputed(now, t, c.Standing, c.Dispute)
	switch {
	case t.dispute != nil && c.Gained:
		a.order(Opened, t.id)
	case t.dispute == nil && !wasOpen && c.Conflict:
		a.order(Outvoted, t.id)
	}
}

// disputed takes up what the ledger has of a task in dispute.
func (a *Agreement) disputed(now time.Time, t *task, s run.Standing, d *run.Dispute) {
	t.standing = s
	if !a.isOpen(t.id, d) {
		a.closed(now, t, d)
		return
	}
	if t.dispute == nil {
		a.disputes.count++
		t.askedAt = time.Time{}
		a.set(t, Disputed)
	}
	if !t.listed {
		t.listed = true
		a.disputes.open.push(t.id)
	}
	t.dispute = d
	t.voters, t.named = t.voters[:0], false
	for i := range d.Votes {
		t.addVoter(&d.Votes[i])
	}
	a.setDone(t.id, false)
	a.settle(now, t)
	a.startDisputes()
}

// closed takes up a dispute that is not open, or not any more.
func (a *Agreement) closed(now time.Time, t *task, d *run.Dispute) {
	if t.dispute != nil {
		t.dispute, t.vain, t.notBefore = nil, 0, time.Time{}
		a.disputes.count--
		a.order(Closed, t.id)
	}
	a.judge(t.id, d)
	t.voters, t.named = t.voters[:0], false
	for i := range d.Votes {
		if d.Votes[i].Count == d.Accepted {
			t.addVoter(&d.Votes[i])
		}
	}
	s := t.standing
	switch {
	case !s.Counted:
		a.reopen(t)
	case !a.agrees(s):
		a.setDone(t.id, false)
		a.ask(now, t)
	default:
		a.setDone(t.id, true)
		a.checks.due.put(t.id, !a.isChecked(s) && (a.checks.due.has(t.id) || a.owesCheck(t.id, s, false)))
		switch {
		case !a.checks.due.has(t.id):
			a.set(t, Agreed)
		case a.withdrawn[t.id]:
			a.miss(t)
		default:
			a.set(t, Due)
		}
		a.order(Settle, t.id)
	}
}

// judge has the keys quarantined whose votes are known to be wrong: the coordinator, or as many voters as settle a
// dispute, say another count.
func (a *Agreement) judge(id uint64, d *run.Dispute) {
	voters := 0
	for i := range d.Votes {
		if v := &d.Votes[i]; v.Count == d.Accepted && v.Admitted {
			voters++
		}
	}
	if !d.Settled || !d.HasReferee() && voters < d.Quorum {
		return
	}
	for _, v := range d.Votes {
		if v.Count != d.Accepted && v.Key != "" {
			a.commands = append(a.commands, Command{Op: Quarantine, Task: id, Vote: v, Right: d.Accepted})
		}
	}
}

// settle chooses who settles an open dispute next.
func (a *Agreement) settle(now time.Time, t *task) {
	switch {
	case t.state == Refereed:
	case a.withdrawn[t.id]: // the count may end the coordinator's process too
		a.set(t, Stuck)
	case a.cfg.Referee && a.failure(t.id) == NotTried:
		a.queueReferee(t, quick)
	case a.canVote(now, t):
		if t.askedAt.IsZero() {
			t.askedAt = now
		}
		a.set(t, VoteAsked)
		a.askVote(now, t)
	case a.awaitsReferee(t.id):
		a.queueReferee(t, long)
	default:
		a.set(t, Stuck)
		a.askVote(now, t)
	}
}

// askVote has another voter count a disputed task, if one is connected, however late. Where none is known, whoever
// comes may count it, until that was in vain.
func (a *Agreement) askVote(now time.Time, t *task) {
	if !t.dispute.Full && !now.Before(t.notBefore) && (t.vain == 0 || a.isConnected(t.voters)) {
		a.order(Again, t.id)
	}
}

// queueReferee has the coordinator count a disputed task when it is its turn.
func (a *Agreement) queueReferee(t *task, l lane) {
	if t.state != Disputed {
		a.set(t, Disputed)
	}
	if t.lane != l {
		t.lane = l
		a.disputes.lanes[l].push(t.id)
	}
}

// canVote reports whether a voter is connected that can settle a dispute, and not too late: anybody may be
// connected and count nothing. Where only voters can settle it, they have time as long as they count other tasks.
func (a *Agreement) canVote(now time.Time, t *task) bool {
	const searches = 4 // the longest so far
	patience := a.cfg.Patience + searches*a.longest
	since := t.askedAt
	if !since.IsZero() && !a.awaitsReferee(t.id) && a.gainedAt.After(since) {
		since = a.gainedAt
	}
	return !t.dispute.Full && a.isConnected(t.voters) && (since.IsZero() || now.Sub(since) <= patience)
}

// awaitsReferee reports whether the coordinator counts a disputed task, however long that takes, if voters do not.
func (a *Agreement) awaitsReferee(id uint64) bool { return a.cfg.Referee && a.failure(id) == TooLong }

// awaitVoters has the patience with voters begin again, where the coordinator can't settle the dispute: another
// voter is connected.
func (a *Agreement) awaitVoters() {
	for _, id := range a.disputes.open {
		if t := a.tasks[id]; t != nil && !a.awaitsReferee(id) {
			t.askedAt = time.Time{}
		}
	}
}

// reviewDisputes chooses again for the next disputes: the time for voters may be over, or a pause.
func (a *Agreement) reviewDisputes(now time.Time, most int) {
	for range most {
		id := a.disputes.open.pop()
		t := a.tasks[id]
		switch {
		case t == nil:
			continue
		case t.dispute == nil:
			t.listed = false
			continue
		}
		a.disputes.open.push(id)
		a.settle(now, t)
	}
}

// startDisputes has the coordinator count the next disputed tasks.
func (a *Agreement) startDisputes() {
	for l := quick; l < lanes; l++ {
		q := &a.disputes.lanes[l]
		for len(*q) > 0 && !a.disputes.counting[l] {
			t := a.tasks[q.pop()]
			if t == nil || t.state != Disputed || t.lane != l {
				continue
			}
			a.disputes.counting[l] = true
			a.set(t, Refereed)
			a.commands = append(a.commands, Command{Op: Referee, Task: t.id, Kernels: kernels(t.dispute), Unlimited: l == long})
		}
	}
}

func kernels(d *run.Dispute) (names []string) {
	for i := range d.Votes {
		if name := d.Votes[i].Kernel; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// RefereeEnded takes up that the coordinator has ended the count of a disputed task. It has failed, or its count
// follows.
func (a *Agreement) RefereeEnded(now time.Time, id uint64, unlimited bool, f Failure) {
	l := quick
	if unlimited {
		l = long
	}
	a.disputes.counting[l] = false
	if t := a.tasks[id]; t != nil && t.state == Refereed {
		a.set(t, Disputed)
		if f != NotTried {
			a.disputes.failures[id] = f
			a.fail(now, t)
		}
	}
	if f == TooLong {
		a.failClass(now, a.cfg.Manifest.ClassOf(id))
	}
	a.startDisputes()
}

// fail takes up that the coordinator can't settle a dispute.
func (a *Agreement) fail(now time.Time, t *task) {
	if a.isOpen(t.id, t.dispute) {
		a.settle(now, t)
	} else {
		a.closed(now, t, t.dispute)
	}
}

// failClass has the other disputes of a class settled by votes: one of its tasks takes the coordinator too long.
func (a *Agreement) failClass(now time.Time, class int) {
	a.disputes.slow[class] = true // their failure is TooLong now
	for _, id := range slices.Clone(a.disputes.open) {
		t := a.tasks[id]
		if t != nil && t.dispute != nil && t.state != Refereed && a.disputes.failures[id] == NotTried && a.cfg.Manifest.ClassOf(id) == class {
			a.fail(now, t)
		}
	}
}
