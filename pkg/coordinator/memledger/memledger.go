// Package memledger is a model of package ledger in memory, for tests of the coordinator's state machines: it
// follows the same rules, and writes nothing. Only tests import it.
package memledger

import (
	"slices"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
)

// The bounds of package ledger.
const (
	maxVoters          = 15
	maxConfirmations   = 5
	maxVotes           = 64
	maxVotesOfKey      = 2
	maxUnadmittedVotes = 8
)

// Ledger is the accepted results of a run, the disputes about them, and the quarantined keys. [New] returns one.
type Ledger struct {
	redundancy  int
	tasks       []task
	quarantined []string
	revoking    []string // quarantined keys whose results still count, in order
}

// task is what the ledger has of a task. Results of a task that is or was in dispute are votes.
type task struct {
	alone    bool
	disputed bool         // it is or was in dispute
	results  []run.Result // that agree, the accepted one first; or the votes
	revoked  []run.Result // votes
	accepted int          // index in results; -1 if there is none
	settled  bool
}

// New returns the ledger of a run without results.
func New(tasks, redundancy int) *Ledger {
	l := &Ledger{redundancy: redundancy, tasks: make([]task, tasks)}
	for i := range l.tasks {
		l.tasks[i].accepted = -1
	}
	return l
}

// Accept stores a result, and returns what the agreement must know of that. Its field Early is false.
func (l *Ledger) Accept(r *run.Result) agreement.Count {
	c := agreement.Count{Result: r}
	if t := &l.tasks[r.Task]; !l.IsQuarantined(r.Key) {
		if t.accepted >= 0 && !t.disputed && t.results[0].Count != r.Count {
			t.disputed = true
			t.tally(l.quorum())
		}
		switch {
		case t.disputed:
			l.vote(t, &c)
		case len(t.results) == 0:
			t.results, t.accepted = []run.Result{*r}, 0
			c.First, c.Gained = true, true
		case t.takesConfirmation(r):
			t.results = append(t.results, *r)
			c.Gained = true
		}
	}
	c.Standing, c.Dispute = l.Standing(r.Task), l.Dispute(r.Task)
	return c
}

func (t *task) takesConfirmation(r *run.Result) bool {
	known := slices.ContainsFunc(t.results, func(old run.Result) bool { return old.Voter() == r.Voter() })
	return !known && len(t.results) <= maxConfirmations && (r.Admitted || r.IsOwn())
}

// vote stores a vote, if the dispute takes it.
func (l *Ledger) vote(t *task, c *agreement.Count) {
	r := c.Result
	if !t.takesVote(r) {
		return
	}
	first, settled := t.accepted < 0, t.settled
	agrees := !first && t.results[t.accepted].Count == r.Count
	t.results = append(t.results, *r)
	t.tally(l.quorum())
	c.Gained, c.First = true, first
	c.Conflict = !first && (!settled || !agrees)
}

func (t *task) takesVote(r *run.Result) bool {
	same, ofKey, unadmitted := false, 0, 0
	for _, v := range slices.Concat(t.results, t.revoked) {
		if v.Voter() == r.Voter() {
			ofKey++
		}
		if !v.Admitted && !v.IsOwn() {
			unadmitted++
		}
	}
	for _, v := range t.results {
		same = same || v.Voter() == r.Voter() && v.Count == r.Count
	}
	switch {
	case same:
		return false
	case r.IsOwn() || len(t.results) == 0:
		return true
	case r.Admitted && t.settled && t.results[t.accepted].Count == r.Count:
		return t.standing().Voters <= maxConfirmations
	case ofKey >= maxVotesOfKey, !r.Admitted && unadmitted >= maxUnadmittedVotes:
		return false
	}
	return len(t.results)+len(t.revoked) < maxVotes
}

// tally counts the votes: the coordinator's count is the last word; before that a count wins that at least quorum
// admitted keys agree on, and more than on any other.
func (t *task) tally(quorum int) {
	t.accepted, t.settled = -1, true
	if len(t.results) == 0 {
		return
	}
	t.accepted, t.settled = 0, false
	voters, most := make(map[uint64]int), quorum-1
	for i := range t.results {
		v := &t.results[i]
		if v.Worker == run.Referee {
			t.accepted, t.settled = t.first(v.Count), true
			return
		}
		if voters[v.Count] += 0; !v.Admitted {
			continue
		}
		voters[v.Count]++
		switch n := voters[v.Count]; {
		case n > most:
			most, t.settled = n, true
			if t.results[t.accepted].Count != v.Count {
				t.accepted = t.first(v.Count)
			}
		case n == most:
			t.settled = false
		}
	}
	t.settled = t.settled || len(voters) == 1
}

// first returns the index of the first result with a count.
func (t *task) first(count uint64) int {
	return slices.IndexFunc(t.results, func(v run.Result) bool { return v.Count == count })
}

// supporters returns the results that agree with the accepted one, which is the first.
func (t *task) supporters() (all []run.Result) {
	if t.accepted < 0 {
		return nil
	}
	all = []run.Result{t.results[t.accepted]}
	for i, r := range t.results {
		if i != t.accepted && r.Count == all[0].Count {
			all = append(all, r)
		}
	}
	return all
}

func (t *task) standing() (s run.Standing) {
	all := t.supporters()
	for i := range all {
		switch r := &all[i]; {
		case r.Worker == run.Referee:
			s.Own, s.Alone = true, t.alone
		case r.IsOwn():
			s.Own = s.Own || len(all) > 1
		case r.Admitted:
			s.Voters = min(s.Voters+1, maxVoters)
		}
	}
	s.Counted = len(all) > 0
	return s
}

// Standing returns what the agreement must know of a task.
func (l *Ledger) Standing(id uint64) run.Standing { return l.tasks[id].standing() }

// Supporters returns the results that agree on a task, the accepted one first.
func (l *Ledger) Supporters(id uint64) []run.Result { return l.tasks[id].supporters() }

// Dispute returns what the agreement must know of the dispute about a task; nil if there never was one.
func (l *Ledger) Dispute(id uint64) *run.Dispute {
	t := &l.tasks[id]
	if !t.disputed {
		return nil
	}
	d := &run.Dispute{
		Task: id, Votes: slices.Clone(t.results), Revoked: slices.Clone(t.revoked), Settled: t.settled, Quorum: l.quorum(),
		Full: len(t.results) > 0 && len(t.results)+len(t.revoked) >= maxVotes,
	}
	if t.accepted >= 0 {
		d.Accepted = t.results[t.accepted].Count
	}
	return d
}

// quorum returns the number of admitted keys that settle a dispute.
func (l *Ledger) quorum() int { return max(l.redundancy, 2) }

// SetAlone notes that the coordinator's own count of a task is enough.
func (l *Ledger) SetAlone(id uint64) { l.tasks[id].alone = true }
