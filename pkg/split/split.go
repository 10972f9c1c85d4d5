// Package split divides a count into tasks, by one of two methods. A task is a batch of prefixes of
// a class, or consecutive row sets. An [Index] makes any task from its id, so no list of all tasks
// exists. The task set is a function of the manifest: it is the same on every machine and for any
// number of workers.
package split

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nqueens/pkg/queens"
)

// Version is the version of the splitting rules in this package. Other versions may make other
// tasks.
const Version = 5

// maxPrefixes bounds the prefixes of a run. Like [queens.MaxTasks], it is ten times the number of
// the largest run that [PlanSizes] plans.
const maxPrefixes = 8_000_000_000

// ErrTooLarge says that a manifest has more tasks or prefixes than a run may have.
var ErrTooLarge = errors.New("the prefixes are too many")

// New returns the manifest of a count by the method m.Method, of the board that m.N, m.Symmetry and
// m.Placed describe, and the index of its tasks. Other fields of m are not read. The depth and the
// error are those of [Plan]; the error may also wrap [ErrMethod].
func New(ctx context.Context, m queens.Manifest, depth int) (queens.Manifest, *Index, error) {
	m.Placed = slices.Clone(m.Placed)
	queens.SortSquares(m.Placed)
	classes, err := Classes(m.Method, m.N, m.Symmetry, m.Placed...)
	if err != nil {
		return queens.Manifest{}, nil, err
	}
	return plan(ctx, m, classes, depth)
}

// Plan returns the manifest of a count of the given classes by prefixes, and the index of its
// tasks. If the parameter depth is 0, it chooses depth and batch for each class, so that tasks have
// a good size. Otherwise each prefix of that many rows is a task. Plan passes over all tasks, on
// all cores, to number and hash them. That takes six core-seconds for 10^7 tasks. If ctx ends, Plan
// returns the cause. The error wraps [ErrTooLarge] if the depth gives too many prefixes.
func Plan(
	ctx context.Context, n int, s queens.Symmetry, classes []queens.Class, depth int,
) (queens.Manifest, *Index, error) {
	return plan(ctx, queens.Manifest{Method: queens.Prefixes, N: n, Symmetry: s}, classes, depth)
}

// plan does what [New] does, with the given classes.
func plan(
	ctx context.Context, m queens.Manifest, classes []queens.Class, depth int,
) (queens.Manifest, *Index, error) {
	made := queens.Manifest{
		SplitVersion: Version, Method: m.Method, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed,
	}
	var err error
	if made.Classes, err = methods[m.Method].sizes(classes, depth); err != nil {
		return queens.Manifest{}, nil, err
	}
	return complete(ctx, made, queens.MaxTasks, nil)
}

// complete makes the index of a manifest. It returns the manifest with the number and the hash of
// its tasks, and with the first task of each class.
func complete(
	ctx context.Context, m queens.Manifest, most uint64, each func(hashes []uint64),
) (_ queens.Manifest, x *Index, err error) {
	if err = m.Validate(); err == nil {
		x, err = NewIndex(ctx, m.Method, m.Classes, most)
	}
	if err != nil {
		return queens.Manifest{}, nil, err
	}
	m.Classes, m.Tasks = slices.Clone(m.Classes), x.tasks
	for i, c := range x.classes {
		m.Classes[i].First = c.first
	}
	m.Hash, err = x.hash(ctx, each)
	return m, x, err
}

// Check returns the index of the manifest. It returns an error unless this program makes the tasks
// of the manifest: the same number of tasks, with the same hash and the same first task of each
// class. It passes over all tasks, but stops if there are more than the manifest says or than
// [Plan] accepts. If the parameter each is not nil, Check calls it with the hashes of the tasks,
// some at a time, in order of id. If ctx ends, Check returns the cause.
func Check(ctx context.Context, m *queens.Manifest, each func(hashes []uint64)) (*Index, error) {
	if m.SplitVersion != Version {
		return nil, fmt.Errorf("the run was split by rules of version %d, not %d: %s", m.SplitVersion,
			Version, useStarter)
	}
	made, x, err := complete(ctx, *m, min(m.Tasks, queens.MaxTasks), each)
	var other string
	switch {
	case errors.Is(err, ErrTooLarge) && m.Tasks <= queens.MaxTasks:
		other = fmt.Sprintf("they are more than the %d tasks of the manifest", m.Tasks)
	case err != nil:
		return nil, err
	case made.Tasks != m.Tasks:
		other = fmt.Sprintf("they are %d tasks, not %d", made.Tasks, m.Tasks)
	case !slices.Equal(made.Classes, m.Classes):
		other = "its classes begin with other tasks"
	case made.Hash != m.Hash:
		other = fmt.Sprintf("they have hash %x, not %x", made.Hash, m.Hash)
	default:
		return x, nil
	}
	return nil, fmt.Errorf("this program makes other tasks than the manifest says: %s: %s", other,
		useStarter)
}

const useStarter = "use the version of nqueens that started the run"
