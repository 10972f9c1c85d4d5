// Package split cuts classes into tasks, which are batches of prefixes. An [Index] makes any of them from
// its id; nothing holds them all. The task set is a function of the manifest: it is the
// same on every machine and for any number of workers.
package split

import (
	"context"
	"errors"
	"fmt"

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
func Plan(ctx context.Context, n int, s queens.Symmetry, classes []queens.Class, depth int) (m queens.Manifest, x *Index, err error) {
	if err := queens.ValidateN(n); err != nil {
		return m, nil, err
	}
	if depth < 0 || depth > n {
		return m, nil, fmt.Errorf("depth must be from 1 to %d rows, or 0, not %d", n, depth)
	}
	for _, class := range classes {
		if class.Board.N != n {
			return m, nil, fmt.Errorf("class of side %d in a count of side %d", class.Board.N, n)
		}
	}
	plans := uniformPlans(classes, depth)
	if depth == 0 {
		plans = PlanSizes(classes)
	}
	if x, err = newIndex(ctx, plans, MaxTasks); err != nil {
		return m, nil, err
	}
	for i := range plans {
		plans[i].First = x.classes[i].First
	}
	m = queens.Manifest{SplitVersion: Version, N: n, Symmetry: s, Classes: plans, Tasks: x.Tasks()}
	m.Hash, err = x.hash(ctx, nil)
	return m, x, err
}

// Check returns the index of the manifest if this program makes its tasks: the same number with the same hash. It passes
// over all tasks, unless they are more than the manifest's or than [Plan] accepts, and calls each, if it is not nil, with the
// hashes of some tasks after the other. If ctx ends, it returns its cause.
func Check(ctx context.Context, m *queens.Manifest, each func(hashes []uint64)) (*Index, error) {
	if m.SplitVersion != Version {
		return nil, fmt.Errorf("the run was split by rules of version %d, this program splits by rules of version %d: resume with the nqueens version that splits by rules of version %[1]d, such as the one that started it", m.SplitVersion, Version)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	x, err := newIndex(ctx, m.Classes, min(m.Tasks, MaxTasks))
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	other := func(format string, args ...any) (*Index, error) {
		return nil, fmt.Errorf("this program splits the run into other tasks than its manifest says: %s: resume with the program version that started it", fmt.Sprintf(format, args...))
	}
	for i := range m.Classes {
		if got, want := x.classes[i].First, m.Classes[i].First; got != want {
			return other("class %d begins with task %d, not %d", i, got, want)
		}
	}
	switch {
	case err != nil && m.Tasks > MaxTasks:
		return nil, err
	case err != nil:
		return other("they are more than the %d tasks of the manifest", m.Tasks)
	case x.tasks != m.Tasks:
		return other("they are %d tasks, not %d", x.tasks, m.Tasks)
	}
	hash, err := x.hash(ctx, each)
	if err == nil && hash != m.Hash {
		return other("they have hash %x, not %x", hash, m.Hash)
	}
	return x, err
}
