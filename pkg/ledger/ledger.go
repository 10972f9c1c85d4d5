// Package ledger keeps the accounts of a run: for each task the one accepted
// result, and beside it whatever disagreed. It adds nothing up.
package ledger

import (
	"iter"
	"slices"

	"nqueens/pkg/queens"
)

// Verdict says what became of a result.
type Verdict int

// The verdicts.
const (
	// Accepted: the first result of its task.
	Accepted Verdict = iota
	// Duplicate: the task has a result with the same count already.
	Duplicate
	// Conflict: the task has a result with another count. Both are kept.
	Conflict
)

// Dispute is a result that contradicts the accepted one of its task.
type Dispute struct {
	Accepted, Other queens.Result
}

// Ledger is the accounts of one run, in memory. It is not safe for concurrent use.
type Ledger struct {
	accepted map[uint64]queens.Result
	disputes []Dispute
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{accepted: make(map[uint64]queens.Result)}
}

// Accept enters a batch of results, in order, and returns a verdict for each. The
// caller has checked that each belongs to the run and counted the right task. On an
// error none of the batch is accepted.
func (l *Ledger) Accept(batch []queens.Result) ([]Verdict, error) {
	verdicts := make([]Verdict, len(batch))
	for i, r := range batch {
		known, ok := l.accepted[r.Task]
		switch {
		case !ok:
			l.accepted[r.Task] = r
			verdicts[i] = Accepted
		case known.Count == r.Count:
			verdicts[i] = Duplicate
		default:
			l.dispute(Dispute{Accepted: known, Other: r})
			verdicts[i] = Conflict
		}
	}
	return verdicts, nil
}

// dispute keeps a contradiction, unless the same worker said the same before.
func (l *Ledger) dispute(d Dispute) {
	for _, old := range l.disputes {
		if old.Other.Task == d.Other.Task && old.Other.Worker == d.Other.Worker && old.Other.Count == d.Other.Count {
			return
		}
	}
	l.disputes = append(l.disputes, d)
}

// Result returns the accepted result of a task, and whether there is one.
func (l *Ledger) Result(task uint64) (queens.Result, bool) {
	r, ok := l.accepted[task]
	return r, ok
}

// Len returns the number of tasks with an accepted result.
func (l *Ledger) Len() uint64 {
	return uint64(len(l.accepted))
}

// All yields every accepted result in order of task.
func (l *Ledger) All() iter.Seq[queens.Result] {
	return func(yield func(queens.Result) bool) {
		ids := make([]uint64, 0, len(l.accepted))
		for id := range l.accepted {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !yield(l.accepted[id]) {
				return
			}
		}
	}
}

// Disputes returns the contradictions, in the order in which they came.
func (l *Ledger) Disputes() []Dispute {
	return l.disputes
}
