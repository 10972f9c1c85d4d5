// Package audit goes through a ledger from zero and says whether its total can be
// believed. It takes nothing from the run that filled the ledger: it reads every
// record again, splits the count again, and, to be surer, counts again.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Total computes the total of a complete ledger by two routes, which must agree with
// each other and with the known value, where there is one. An error wraps
// [queens.ErrIncomplete] where something is missing or in dispute or damaged,
// [queens.ErrContradiction] where something contradicts, or the cause of ctx's end.
func Total(ctx context.Context, l *ledger.Ledger, known *big.Int) (*big.Int, error) {
	m := l.Header().Manifest
	if err := Classes(&m); err != nil {
		return nil, err
	}
	if err := CheckDisputes(l); err != nil {
		return nil, err
	}
	first, err := byTask(&m, l)
	if err != nil {
		return nil, err
	}
	second, err := byClass(ctx, &m, l)
	if err != nil {
		return nil, err
	}
	if first.Cmp(second) != 0 {
		return nil, fmt.Errorf("%w: the tasks sum to %d, the classes to %d", queens.ErrContradiction, first, second)
	}
	if known != nil && first.Cmp(known) != 0 {
		return nil, fmt.Errorf("%w: counted %d, the published total for n = %d is %d", queens.ErrContradiction, first, m.N, known)
	}
	return first, nil
}

// Classes checks that the manifest's classes are those of its symmetry and its placed
// queens: their tasks are checked by their hashes, but the classes themselves are what
// makes the total.
func Classes(m *queens.Manifest) error {
	want, err := symmetry.Classes(m.N, m.Symmetry, m.Placed...)
	if err != nil {
		return fmt.Errorf("the manifest of the run: %w", err)
	}
	same := slices.EqualFunc(want, m.Classes, func(class queens.Class, plan queens.ClassPlan) bool { return class == plan.Class })
	if !same {
		board := fmt.Sprintf("a board of side %d", m.N)
		if len(m.Placed) > 0 {
			board += fmt.Sprintf(" with queens placed on %v", m.Placed)
		}
		return fmt.Errorf("%w: the classes of the run are not those of symmetry %s on %s", queens.ErrContradiction, m.Symmetry, board)
	}
	return nil
}

// CheckDisputes returns nil when no two results of the ledger contradict each other, or
// each dispute is settled. Else the error, which wraps [queens.ErrIncomplete], names
// the tasks.
func CheckDisputes(l *ledger.Ledger) error {
	var lines []string
	for _, d := range l.Disputes() {
		if !d.Settled {
			lines = append(lines, DescribeDispute(&d))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%w: no total while results contradict each other: %s", queens.ErrIncomplete, strings.Join(lines, "; "))
}

// DescribeDispute says who counted what in a dispute.
func DescribeDispute(d *ledger.Dispute) string {
	votes := make([]string, len(d.Votes))
	for i, v := range d.Votes {
		votes[i] = fmt.Sprintf("%d by %s (%s, attempt %d)", v.Count, v.Worker, v.Kernel, v.Attempt)
	}
	return fmt.Sprintf("task %d was counted %s", d.Task, strings.Join(votes, " and "))
}

// byTask goes through the ledger in order of task, checks every record, and looks up
// the class of each.
func byTask(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	var expected uint64
	for r, err := range l.All() {
		if err != nil {
			return nil, err
		}
		if r.Task != expected {
			return nil, fmt.Errorf("%w: the ledger has task %d where task %d is due", queens.ErrIncomplete, r.Task, expected)
		}
		sums.Add(m.Classes[m.ClassOf(r.Task)].K, r.Count)
		expected++
	}
	if expected != m.Tasks {
		return nil, fmt.Errorf("%w: the ledger ends before task %d of %d", queens.ErrIncomplete, expected, m.Tasks)
	}
	return sums.Total()
}

// byClass splits the count once more, class by class, looks up the result of each
// task, and holds its hash against the task's and all hashes against the manifest's.
func byClass(ctx context.Context, m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	hash := sha256.New()
	var hashed [8]byte
	for _, plan := range m.Classes {
		for task := range split.ClassTasks(plan) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r, ok, err := l.Result(task.ID)
			switch {
			case err != nil:
				return nil, err
			case !ok:
				return nil, fmt.Errorf("%w: task %d has no result", queens.ErrIncomplete, task.ID)
			case r.Hash != task.Hash():
				return nil, fmt.Errorf("%w: the result of task %d by %s is of another task", queens.ErrContradiction, task.ID, r.Worker)
			}
			binary.LittleEndian.PutUint64(hashed[:], r.Hash)
			hash.Write(hashed[:])
			sums.Add(plan.K, r.Count)
		}
	}
	if [sha256.Size]byte(hash.Sum(nil)) != m.Hash {
		return nil, fmt.Errorf("%w: the tasks do not hash to the manifest's", queens.ErrContradiction)
	}
	return sums.Total()
}

// Workers returns the number of workers with an accepted result, and the time of all
// their searches together.
func Workers(l *ledger.Ledger) (workers int, search time.Duration) {
	names := make(map[string]struct{})
	for r, err := range l.All() {
		if err == nil {
			names[r.Worker] = struct{}{}
			search += r.Elapsed
		}
	}
	return len(names), search
}
