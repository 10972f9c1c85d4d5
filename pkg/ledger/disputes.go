package ledger

import (
	"slices"

	"nqueens/pkg/queens"
)

// Verdict says what became of a result.
type Verdict int

// The verdicts.
const (
	// Accepted: the first result of its task.
	Accepted Verdict = iota
	// Duplicate: the task has a result with the same count already, or the same
	// worker has voted for this count in the task's dispute before.
	Duplicate
	// Conflict: the task has a result with another count, or a dispute that this
	// result does not settle. All are kept as votes.
	Conflict
	// Settled: the result settles the dispute over its task. The accepted result may
	// be another now.
	Settled
)

// Dispute is what was said of a task whose results contradict each other.
type Dispute struct {
	Task uint64
	// Votes are the result that was accepted first and every one that came since, in
	// that order, one for each pair of worker and count.
	Votes []queens.Result
	// Settled is set while one count has the votes of at least two workers, and of
	// more than any other count.
	Settled bool
}

// add adds a result to the votes, and returns what became of it and whether it was
// kept.
func (d *Dispute) add(r queens.Result) (verdict Verdict, kept bool) {
	repeats := func(old queens.Result) bool { return old.Worker == r.Worker && old.Count == r.Count }
	if slices.ContainsFunc(d.Votes, repeats) {
		return Duplicate, false
	}
	before, settled := tally(d.Votes)
	agrees := d.Votes[before].Count == r.Count
	d.Votes = append(slices.Clip(d.Votes), r)
	_, d.Settled = tally(d.Votes)
	switch {
	case settled && agrees:
		return Duplicate, true
	case !settled && d.Settled:
		return Settled, true
	}
	return Conflict, true
}

// tally goes through the votes of a dispute in the order in which they came, and
// returns the index of the one that stands as the accepted result, and whether the
// dispute is settled. A count that has once prevailed stands until another prevails.
func tally(votes []queens.Result) (accepted int, settled bool) {
	workers := make(map[uint64]int) // behind each count
	for _, v := range votes {
		workers[v.Count]++
		var leader uint64
		if leader, settled = majority(workers); settled && votes[accepted].Count != leader {
			accepted = slices.IndexFunc(votes, func(v queens.Result) bool { return v.Count == leader })
		}
	}
	return accepted, settled
}

// majority returns the count with at least two workers behind it and more than behind
// any other, and whether there is one.
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
