package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// total computes the total of a complete ledger from zero, by two routes that must
// agree with each other and with the known value.
func total(ctx context.Context, m *queens.Manifest, l *ledger.Ledger, known *big.Int) (*big.Int, error) {
	first, err := totalByLedger(m, l)
	if err != nil {
		return nil, err
	}
	second, err := totalBySplit(ctx, m, l)
	if err != nil {
		return nil, err
	}
	if first.Cmp(second) != 0 {
		return nil, fmt.Errorf("%w: the ledger sums to %d, its classes to %d", queens.ErrContradiction, first, second)
	}
	if known != nil && first.Cmp(known) != 0 {
		return nil, fmt.Errorf("%w: counted %d, the published total for n = %d is %d", queens.ErrContradiction, first, m.N, known)
	}
	return first, nil
}

// totalByLedger goes through the ledger in order of task, and looks up the class
// of each.
func totalByLedger(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	var expected uint64
	for r := range l.All() {
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

// totalBySplit splits the count once more, class by class, looks up the result of
// each task, and holds its hash against the task's and all hashes against the
// manifest's.
func totalBySplit(ctx context.Context, m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	hash := sha256.New()
	var hashed [8]byte
	for _, plan := range m.Classes {
		for task := range split.ClassTasks(plan) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r, ok := l.Result(task.ID)
			if !ok {
				return nil, fmt.Errorf("%w: task %d has no result", queens.ErrIncomplete, task.ID)
			}
			if r.Hash != task.Hash() {
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
