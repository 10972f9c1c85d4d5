// Package audit checks a ledger from scratch and computes its total. It relies on nothing
// that the run held in memory: it reads every record again, splits the count again, and
// can count tasks again. It also exports a ledger's tasks.
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

// Total computes the total of a complete ledger by two routes, which must agree with each
// other and with the known value, unless that is nil. The error wraps
// [queens.ErrIncomplete] if something is missing, in dispute or damaged,
// [queens.ErrContradiction] if something contradicts, or the cause of ctx's end.
func Total(ctx context.Context, l *ledger.Ledger, known *big.Int) (*big.Int, error) {
	m := l.Header().Manifest
	if err := CheckClasses(&m); err != nil {
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

// CheckClasses returns an error unless the manifest's classes are those of its symmetry and
// its placed queens. Task hashes verify the tasks of the classes, but the total also depends
// on the classes themselves.
func CheckClasses(m *queens.Manifest) error {
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

// CheckDisputes returns nil if every dispute of the ledger is settled. Otherwise the error,
// which wraps [queens.ErrIncomplete], describes the open ones.
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

// DescribeDispute returns who counted what in a dispute, as one line of text.
func DescribeDispute(d *ledger.Dispute) string {
	votes := make([]string, len(d.Votes))
	for i, v := range d.Votes {
		votes[i] = fmt.Sprintf("%d by %s (%s, attempt %d)", v.Count, v.Worker, v.Kernel, v.Attempt)
	}
	return fmt.Sprintf("task %d was counted %s", d.Task, strings.Join(votes, " and "))
}

// byTask sums up the ledger's results in order of task, with the class of each.
func byTask(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	var expected uint64
	for r, err := range l.All() {
		if err != nil {
			return nil, err
		}
		if r.Task != expected {
			return nil, fmt.Errorf("%w: the ledger has task %d in place of task %d", queens.ErrIncomplete, r.Task, expected)
		}
		sums.Add(m.Classes[m.ClassOf(r.Task)].K, r.Count)
		expected++
	}
	if expected != m.Tasks {
		return nil, fmt.Errorf("%w: the ledger ends before task %d of %d", queens.ErrIncomplete, expected, m.Tasks)
	}
	return sums.Total()
}

// byClass splits the count again, class by class, and looks up the result of each task. It
// compares the hash of each result with the task's, and all hashes with the manifest's.
func byClass(ctx context.Context, m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	hash := sha256.New()
	var hashed [8]byte
	for _, plan := range m.Classes {
		for task := range split.ClassTasks(plan) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r, ok, err := resultOf(l, &task)
			switch {
			case err != nil:
				return nil, err
			case !ok:
				return nil, fmt.Errorf("%w: task %d has no result", queens.ErrIncomplete, task.ID)
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

// resultOf returns the accepted result of a task, and whether there is one. The error
// wraps [queens.ErrContradiction] if the result has the hash of another task.
func resultOf(l *ledger.Ledger, task *queens.Task) (queens.Result, bool, error) {
	r, ok, err := l.Result(task.ID)
	if ok && r.Hash != task.Hash() {
		err = fmt.Errorf("%w: the result of task %d by %s is of another task", queens.ErrContradiction, task.ID, r.Worker)
	}
	return r, ok, err
}

// Workers returns the number of workers with an accepted result, and the total duration of
// all searches.
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
