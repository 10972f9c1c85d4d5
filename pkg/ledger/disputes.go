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
	// Duplicate: the task has a result with the same count already, or its dispute a
	// vote of the same worker for this count.
	Duplicate
	// Conflict: the task has a result with another count, or a dispute that this result
	// does not settle. All are stored as votes.
	Conflict
	// Settled: the result settles the dispute about its task. The accepted result may
	// have changed.
	Settled
)

// Dispute is a task whose results contradict each other.
type Dispute struct {
	Task uint64
	// Votes are the result that was accepted first and all that came later, in that
	// order, one for each pair of worker and count.
	Votes []queens.Result
	// Settled says that the coordinator has counted the task itself, or that one count has the
	// votes of at least two workers, and of more than any other count.
	Settled bool
}

// maxVotes bounds the votes of a dispute, apart from the coordinator's own.
const maxVotes = 64

// IsFull reports whether the dispute takes no more votes of workers: they can't settle it any more.
func (d *Dispute) IsFull() bool { return len(d.Votes) >= maxVotes }

// HasReferee reports whether the coordinator has counted the task itself.
func (d *Dispute) HasReferee() bool { return ownVote(d.Votes) >= 0 }

// ownVote returns the index of the coordinator's own count, or -1.
func ownVote(votes []queens.Result) int {
	return slices.IndexFunc(votes, func(v queens.Result) bool { return v.Worker == queens.Referee })
}

// add adds a result to the votes, unless its worker has voted for that count or there are
// too many votes, and returns the verdict and whether it was added.
func (d *Dispute) add(r queens.Result) (verdict Verdict, added bool) {
	repeats := func(old queens.Result) bool { return old.Worker == r.Worker && old.Count == r.Count }
	if slices.ContainsFunc(d.Votes, repeats) || d.IsFull() && r.Worker != queens.Referee {
		return Duplicate, false
	}
	before, settled := tally(d.Votes)
	agrees := d.Votes[before].Count == r.Count
	d.Votes = append(slices.Clip(d.Votes), r)
	_, d.Settled = tally(d.Votes)
	switch {
	case r.Worker == queens.Referee:
		return Settled, true
	case settled && agrees:
		return Duplicate, true
	case !settled && d.Settled:
		return Settled, true
	}
	return Conflict, true
}

// tally goes through the votes of a dispute in order of arrival. It returns the index of
// the accepted result, and whether the dispute is settled. The coordinator's own count is the
// last word. Before that, a count that has won once stays accepted until another wins.
func tally(votes []queens.Result) (accepted int, settled bool) {
	if own := ownVote(votes); own >= 0 {
		return slices.IndexFunc(votes, func(v queens.Result) bool { return v.Count == votes[own].Count }), true
	}
	workers := make(map[uint64]int) // By count.
	for _, v := range votes {
		workers[v.Count]++
		var leader uint64
		if leader, settled = majority(workers); settled && votes[accepted].Count != leader {
			accepted = slices.IndexFunc(votes, func(v queens.Result) bool { return v.Count == leader })
		}
	}
	return accepted, settled
}

// winner returns the index of the accepted result among the votes.
func winner(votes []queens.Result) int {
	accepted, _ := tally(votes)
	return accepted
}

// majority returns the count with at least two workers and more than any other count
// has, and whether there is one.
func majority(workers map[uint64]int) (leader uint64, ok bool) {
	most := 1
	for count, n := range workers {
		switch {
		case n > most:
			leader, most, ok = count, n, true
		case n == most:
			ok = false
		}
	}
	return leader, ok
}
