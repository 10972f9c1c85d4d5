package ledger

import (
	"cmp"
	"slices"

	"nqueens/pkg/run"
)

// Verdict says what a ledger did with a result.
type Verdict int

// The verdicts.
const (
	// Accepted: the first result of its task.
	Accepted Verdict = iota
	// Duplicate: the task has a result of the same voter with the same count already, or the most
	// that are stored. Nothing is.
	Duplicate
	// Conflict: the task has a result with another count, or a dispute that this result
	// does not settle. All are stored.
	Conflict
	// Settled: the result settles the dispute about its task. The accepted result may
	// have changed.
	Settled
	// Confirmed: the result agrees with the accepted one, and no other of its voter did. It is
	// stored.
	Confirmed
	// Refused: the key of the result is quarantined. Nothing is stored.
	Refused
)

// stored is a result in the file.
type stored struct {
	run.Result
	revoked  bool // It does not count any more: its key was quarantined. Only of a task in dispute.
	disputed bool // Of the first result of a task: others have another count.
}

// isDisputed reports whether the results of a task contradict each other, or did before some were revoked.
func isDisputed(all []stored) bool {
	return slices.ContainsFunc(all, func(s stored) bool { return s.Count != all[0].Count })
}

// outcome is what the results of a task add up to.
type outcome struct {
	accepted *run.Result // Nil without one.
	settled  bool        // See [run.Dispute].
	support  uint8       // See supportOf.
}

// outcomeOf returns what the results of a task add up to.
func (l *Ledger) outcomeOf(all []stored) outcome {
	i, settled := tally(all, l.quorum())
	if i < 0 {
		return outcome{settled: settled}
	}
	return outcome{&all[i].Result, settled, supportOf(all, all[i].Count)}
}

func newDispute(task uint64, all []stored, s outcome, quorum int) *run.Dispute {
	d := &run.Dispute{Task: task, Settled: s.settled, Quorum: quorum}
	if s.accepted != nil {
		d.Accepted = s.accepted.Count
	}
	for i := range all {
		if all[i].revoked {
			d.Revoked = append(d.Revoked, all[i].Result)
		} else {
			d.Votes = append(d.Votes, all[i].Result)
		}
	}
	d.Full = len(all) >= maxVotes && len(d.Votes) > 0 // it takes a vote if no other counts
	return d
}

// Disputes returns the disputes, open and settled, in order of task.
func (l *Ledger) Disputes() []run.Dispute {
	var all []run.Dispute
	for _, d := range l.disputes {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b run.Dispute) int { return cmp.Compare(a.Task, b.Task) })
	return all
}

// Disputed returns the number of disputes, open and settled. It looks at none of them: there may be one about each task.
func (l *Ledger) Disputed() int { return len(l.disputes) }

// Dispute returns the dispute about a task; nil if there never was one.
func (l *Ledger) Dispute(task uint64) *run.Dispute { return l.disputes[task] }

// How many results of a task are stored: maxConfirmations besides the accepted one of a task that is not in dispute. A
// dispute takes maxVotes, apart from the coordinator's own and from those that agree after it
// is settled. Of one key it takes at most maxVotesOfKey, and of keys that are not admitted, of which anybody
// can make any number, at most maxUnadmittedVotes.
const (
	maxConfirmations   = 5
	maxVotes           = 64
	maxVotesOfKey      = 2
	maxUnadmittedVotes = 8
)

// takes reports whether a result is stored besides the others of its task, which add up to s: its voter has not
// given that count, and there are not too many results. If results agree, one of a key that is not admitted adds
// nothing. Of a dispute that is settled, admitted keys that agree may lack still, however many votes others have sent.
func (s *outcome) takes(all []stored, r *run.Result) bool {
	counting, ofVoter, unadmitted := 0, 0, 0
	for i := range all {
		old := &all[i]
		same := old.Voter() == r.Voter()
		if !old.revoked {
			if same && old.Count == r.Count {
				return false
			}
			counting++
		}
		if same {
			ofVoter++
		}
		if !old.Admitted && !old.IsOwn() {
			unadmitted++
		}
	}
	agrees := s.accepted != nil && s.accepted.Count == r.Count
	switch {
	case counting == 0:
		return true
	case agrees && !isDisputed(all):
		return counting <= maxConfirmations && (r.Admitted || r.IsOwn())
	case r.IsOwn():
		return true
	case agrees && s.settled && r.Admitted:
		return int(s.support&maxVoters) <= maxConfirmations
	case ofVoter >= maxVotesOfKey, !r.Admitted && unadmitted >= maxUnadmittedVotes:
		return false
	}
	return len(all) < maxVotes
}

// tally goes through the results of a task that count, in order of arrival. It returns the index of
// the accepted one, -1 if there is none, and whether they are no open dispute. The count of the
// coordinator as referee is the last word. Before that, a count wins that at least quorum admitted keys
// agree on, and more than on any other; it stays accepted until another wins. Keys that are not
// admitted, and the coordinator's spot check, open a dispute and do not settle it.
func tally(all []stored, quorum int) (accepted int, settled bool) {
	first := func(count uint64) int {
		return slices.IndexFunc(all, func(s stored) bool { return !s.revoked && s.Count == count })
	}
	accepted = slices.IndexFunc(all, func(s stored) bool { return !s.revoked })
	if accepted < 0 || !isDisputed(all) {
		return accepted, true
	}
	voters := make(map[uint64]int) // Admitted keys, by count.
	most := quorum - 1
	for i := range all {
		v := &all[i]
		if v.revoked {
			continue
		}
		if v.Worker == run.Referee {
			return first(v.Count), true
		}
		if voters[v.Count] += 0; !v.Admitted {
			continue
		}
		voters[v.Count]++
		switch n := voters[v.Count]; {
		case n > most:
			most, settled = n, true
			if all[accepted].Count != v.Count {
				accepted = first(v.Count)
			}
		case n == most:
			settled = false
		}
	}
	return accepted, settled || len(voters) == 1
}
