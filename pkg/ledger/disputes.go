package ledger

import (
	"slices"

	"nqueens/pkg/queens"
)

// Verdict says what a ledger did with a result.
type Verdict int

// The verdicts.
const (
	// Accepted: the first result of its task.
	Accepted Verdict = iota
	// Duplicate: the task has a result of the same voter with the same count already, or so
	// many that no more are stored. Nothing is.
	Duplicate
	// Conflict: the task has a result with another count, or a dispute that this result
	// does not settle. All are stored as votes.
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

// Dispute is a task whose results contradict each other.
type Dispute struct {
	Task uint64
	// Votes are the results that were stored before the dispute and all that came later, in that
	// order, one for each pair of voter and count; see [queens.Result.Voter].
	Votes []queens.Result
	// Voided are the votes that do not count any more: their keys were quarantined.
	Voided []queens.Result
	// Settled says that the coordinator has counted the task itself, or that [Dispute.Quorum]
	// admitted keys agree on one count, and more than on any other, or that no votes contradict each
	// other any more.
	Settled bool
	// Quorum is how many admitted keys settle the dispute: those that must agree on each task, and at
	// least two.
	Quorum int

	numbers  []uint64 // Of the votes, in the file.
	accepted int      // Index of the accepted vote, or -1.
}

// maxVotes bounds the votes of a dispute, apart from the coordinator's own and from those that agree after it
// is settled. Of one key it takes at most maxVotesOfKey, and of keys that are not admitted, of which anybody
// can make any number, at most maxUnadmittedVotes.
const (
	maxVotes           = 64
	maxVotesOfKey      = 2
	maxUnadmittedVotes = 8
)

// IsFull reports whether the dispute takes no more votes of workers: they can't settle it any
// more. It takes one if no other counts.
func (d *Dispute) IsFull() bool { return len(d.Votes)+len(d.Voided) >= maxVotes && len(d.Votes) > 0 }

// HasReferee reports whether the coordinator has counted the task itself.
func (d *Dispute) HasReferee() bool { return ownVote(d.Votes) >= 0 }

// Accepted returns the accepted count of the task, and whether there is one.
func (d *Dispute) Accepted() (count uint64, ok bool) {
	if d.accepted < 0 || len(d.Votes) == 0 {
		return 0, false
	}
	return d.Votes[d.accepted].Count, true
}

// ownVote returns the index of the coordinator's own count, or -1.
func ownVote(votes []queens.Result) int {
	return slices.IndexFunc(votes, func(v queens.Result) bool { return v.Worker == queens.Referee })
}

// takes reports whether a result becomes a vote: its voter has not voted for that count, and there
// are not too many votes. Of a dispute that is settled, admitted keys that agree may lack still, however many
// votes others have sent.
func (d *Dispute) takes(r *queens.Result) bool {
	voter := r.Voter()
	repeats := func(old queens.Result) bool { return old.Count == r.Count && old.Voter() == voter }
	switch {
	case slices.ContainsFunc(d.Votes, repeats):
		return false
	case r.IsOwn(), len(d.Votes) == 0:
		return true
	case r.Admitted && d.Settled && d.Votes[d.accepted].Count == r.Count:
		return int(d.support()&maxVoters) <= maxConfirmations
	case d.votes(func(v *queens.Result) bool { return v.Voter() == voter }) >= maxVotesOfKey:
		return false
	case !r.Admitted && d.votes(func(v *queens.Result) bool { return !v.Admitted && !v.IsOwn() }) >= maxUnadmittedVotes:
		return false
	}
	return !d.IsFull()
}

// votes returns the number of votes of a kind, also of voided ones.
func (d *Dispute) votes(isOfKind func(*queens.Result) bool) (votes int) {
	for _, some := range [][]queens.Result{d.Votes, d.Voided} {
		for i := range some {
			if isOfKind(&some[i]) {
				votes++
			}
		}
	}
	return votes
}

// acceptedVote returns the vote whose count is accepted, or nil without one. The vote never changes.
func (d *Dispute) acceptedVote() *queens.Result {
	if d.accepted < 0 {
		return nil
	}
	return &d.Votes[d.accepted]
}

// add adds a vote that the dispute takes, with its number in the file, and returns the verdict.
func (d *Dispute) add(r queens.Result, number uint64) Verdict {
	first, settled := d.accepted < 0, d.Settled
	agrees := !first && d.Votes[d.accepted].Count == r.Count
	d.append(r, number)
	d.tally()
	switch {
	case first:
		return Accepted
	case settled && agrees:
		return Confirmed
	case !settled && d.Settled, r.Worker == queens.Referee:
		return Settled
	}
	return Conflict
}

// append adds a vote without a tally. It changes no copy of the dispute.
func (d *Dispute) append(r queens.Result, number uint64) {
	d.Votes = append(slices.Clip(d.Votes), r)
	d.numbers = append(slices.Clip(d.numbers), number)
}

// void takes the given ones from the votes, and returns their numbers. It changes no copy of the
// dispute.
func (d *Dispute) void(covers func(*queens.Result) bool) (numbers []uint64) {
	var votes []queens.Result
	var remaining []uint64
	for i, v := range d.Votes {
		if covers(&v) {
			d.Voided = append(slices.Clip(d.Voided), v)
			numbers = append(numbers, d.numbers[i])
			continue
		}
		votes, remaining = append(votes, v), append(remaining, d.numbers[i])
	}
	if len(numbers) > 0 {
		d.Votes, d.numbers = votes, remaining
		d.tally()
	}
	return numbers
}

// support returns what stands behind the accepted vote.
func (d *Dispute) support() uint8 {
	if d.accepted < 0 {
		return 0
	}
	var agreeing []queens.Result
	for _, v := range d.Votes {
		if v.Count == d.Votes[d.accepted].Count {
			agreeing = append(agreeing, v)
		}
	}
	return supportOf(agreeing)
}

// tally counts the votes again.
func (d *Dispute) tally() { d.accepted, d.Settled = tally(d.Votes, d.Quorum) }

// tally goes through the votes of a dispute in order of arrival. It returns the index of
// the accepted result, -1 without votes, and whether the dispute is settled. The count of the
// coordinator as referee is the last word. Before that, a count wins that at least quorum admitted keys
// agree on, and more than on any other; it stays accepted until another wins. Keys that are not
// admitted, and the coordinator's spot check, open a dispute and do not settle it.
func tally(votes []queens.Result, quorum int) (accepted int, settled bool) {
	if len(votes) == 0 {
		return -1, true
	}
	first := func(count uint64) int {
		return slices.IndexFunc(votes, func(v queens.Result) bool { return v.Count == count })
	}
	if own := ownVote(votes); own >= 0 {
		return first(votes[own].Count), true
	}
	voters := make(map[uint64]int) // Admitted keys, by count.
	most := quorum - 1
	for i := range votes {
		v := &votes[i]
		if voters[v.Count] += 0; !v.Admitted {
			continue
		}
		voters[v.Count]++
		switch n := voters[v.Count]; {
		case n > most:
			most, settled = n, true
			if votes[accepted].Count != v.Count {
				accepted = first(v.Count)
			}
		case n == most:
			settled = false
		}
	}
	return accepted, settled || len(voters) == 1
}
