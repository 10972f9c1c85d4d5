// Package split cuts classes into tasks, which are batches of prefixes. An [Index] makes any of them from
// its id; nothing holds them all. The task set is a function of the manifest: it is the
// same on every machine and for any number of workers.
package split

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nqueens/pkg/queens"
)

// Version is the version of the splitting rules in this package. A manifest of another version may
// have other tasks.
const Version = 4

// Bounds of a run, ten times those of the largest one that [PlanSizes] plans: a pass over its tasks takes minutes.
const (
	MaxTasks    = 100_000_000
	maxPrefixes = 8_000_000_000
)

// ErrTooLarge says that a manifest has more tasks or prefixes than a run can have.
var ErrTooLarge = errors.New("the prefixes are too many")

// Plan returns the manifest of a count of the given classes, and the index of its tasks. With depth 0 it chooses depth
// and batch for each class, so that tasks have a good size; otherwise each prefix of depth rows is a task. Plan passes over
// all tasks, on all cores, to number and hash them, which takes six core-seconds for 10^7 tasks. If ctx ends, Plan returns
// its cause. The error wraps [ErrTooLarge] for a depth with too many prefixes.
func Plan(ctx context.Context, n int, s queens.Symmetry, classes []queens.Class, depth int) (queens.Manifest, *Index, error) {
	plans := PlanSizes(classes)
	for i := range plans {
		if depth != 0 {
			plans[i].Depth, plans[i].Batch = depth, 1
		}
	}
	return complete(ctx, queens.Manifest{SplitVersion: Version, N: n, Symmetry: s, Classes: plans}, MaxTasks, nil)
}

// complete makes the index of a manifest, and returns the manifest with the number and the hash of the tasks and the first one
// of each class.
func complete(ctx context.Context, m queens.Manifest, most uint64, each func(hashes []uint64)) (_ queens.Manifest, x *Index, err error) {
	if err = m.Validate(); err == nil {
		x, err = NewIndex(ctx, m.Classes, most)
	}
	if err != nil {
		return queens.Manifest{}, nil, err
	}
	m.Classes, m.Tasks = slices.Clone(m.Classes), x.tasks
	for i, c := range x.classes {
		m.Classes[i].First = c.First
	}
	m.Hash, err = x.hash(ctx, each)
	return m, x, err
}

// Check returns the index of the manifest if this program makes its tasks: the same number with the same hash. It passes
// over all tasks, unless they are more than the manifest's or than [Plan] accepts, and calls each, if it is not nil, with the
// hashes of some tasks after the other. If ctx ends, it returns its cause.
func Check(ctx context.Context, m *queens.Manifest, each func(hashes []uint64)) (*Index, error) {
	if m.SplitVersion != Version {
		return nil, fmt.Errorf("the run was split by rules of version %d, this program splits by rules of version %d: resume with the nqueens version that splits by rules of version %[1]d, such as the one that started it", m.SplitVersion, Version)
	}
	made, x, err := complete(ctx, *m, min(m.Tasks, MaxTasks), each)
	var other string
	switch {
	case errors.Is(err, ErrTooLarge) && m.Tasks <= MaxTasks:
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
	return nil, fmt.Errorf("this program splits the run into other tasks than its manifest says: %s: resume with the program version that started it", other)
}
