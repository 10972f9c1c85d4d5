// Package split cuts classes into tasks, which are batches of prefixes. It streams the tasks in a
// fixed order and never holds them all. The task set is a function of the manifest: it is the
// same on every machine and for any number of workers.
package split

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"nqueens/pkg/parallel"
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

// Plan returns the manifest of a count of the given classes. With depth 0 it chooses depth and
// batch for each class, so that tasks have a good size; otherwise each prefix of depth rows is
// a task. Plan passes over all tasks once, on all cores, to number and hash them, which takes
// six core-seconds for 10^7 tasks. If ctx ends, Plan returns its cause. The error wraps [ErrTooLarge] for a depth
// with too many prefixes.
func Plan(ctx context.Context, n int, s queens.Symmetry, classes []queens.Class, depth int) (queens.Manifest, error) {
	if err := queens.ValidateN(n); err != nil {
		return queens.Manifest{}, err
	}
	if depth < 0 || depth > n {
		return queens.Manifest{}, fmt.Errorf("depth must be from 1 to %d rows, or 0, not %d", n, depth)
	}
	for _, class := range classes {
		if class.Board.N != n {
			return queens.Manifest{}, fmt.Errorf("class of side %d in a count of side %d", class.Board.N, n)
		}
	}
	m := queens.Manifest{SplitVersion: Version, N: n, Symmetry: s}
	if depth == 0 {
		m.Classes = PlanSizes(classes)
	} else {
		m.Classes = uniformPlans(classes, depth)
	}
	err := assignIDs(ctx, &m, MaxTasks)
	return m, err
}

// assignIDs numbers, counts and hashes the tasks of the manifest's classes, on all cores. There may be most tasks.
func assignIDs(ctx context.Context, m *queens.Manifest, most uint64) error {
	tooLarge := false
	all := func(yield func(Part) bool) {
		prefixes := uint64(0)
		for i := range m.Classes {
			m.Classes[i].First = m.Tasks
			for p := range parts(i, &m.Classes[i], m.Tasks) {
				m.Tasks += uint64(p.Tasks)
				prefixes += uint64(p.Tasks) * uint64(p.batch)
				tooLarge = m.Tasks > most || max(prefixes, uint64(p.start.steps)) > maxPrefixes
				if tooLarge || !yield(p) {
					return
				}
			}
		}
	}
	hash := sha256.New()
	err := parallel.InOrder(ctx, all, hashTasks, func(hashes []byte) error {
		hash.Write(hashes)
		return nil
	})
	hash.Sum(m.Hash[:0])
	if err == nil && tooLarge {
		return fmt.Errorf("%w: more than %d tasks, or %d prefixes", ErrTooLarge, most, uint64(maxPrefixes))
	}
	return err
}

// hashTasks returns the hashes of a part's tasks, as the manifest's hash takes them.
func hashTasks(ctx context.Context, p Part) ([]byte, error) {
	hashes := make([]byte, 0, 8*p.Tasks)
	var hasher queens.Hasher
	for task := range p.All() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		hashes = binary.LittleEndian.AppendUint64(hashes, hasher.Hash(&task))
	}
	return hashes, nil
}

// Tasks yields the tasks of a manifest in order of id, with Run empty. Tasks share no memory.
func Tasks(m *queens.Manifest) iter.Seq[queens.Task] {
	return func(yield func(queens.Task) bool) {
		for p := range allParts(m) {
			for task := range p.All() {
				task.Prefixes = slices.Clone(task.Prefixes)
				if !yield(task) {
					return
				}
			}
		}
	}
}

// Check returns nil if this program makes the same tasks for the manifest: the same number with the
// same hash. It passes over all tasks, unless they are more than the manifest's or than [Plan] accepts.
func Check(ctx context.Context, m *queens.Manifest) error {
	if m.SplitVersion != Version {
		return fmt.Errorf("the run was split by rules of version %d, this program splits by rules of version %d: resume with the nqueens version that splits by rules of version %[1]d, such as the one that started it", m.SplitVersion, Version)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	again := queens.Manifest{Classes: slices.Clone(m.Classes)}
	err := assignIDs(ctx, &again, min(m.Tasks, MaxTasks))
	more := errors.Is(err, ErrTooLarge) && again.Tasks > m.Tasks
	if err != nil && !more {
		return err
	}
	for i := range m.Classes {
		if again.Classes[i].First != m.Classes[i].First {
			return fmt.Errorf("class %d begins with task %d in this program and with task %d in the run's manifest: resume with the program version that started it", i, again.Classes[i].First, m.Classes[i].First)
		}
	}
	if more {
		return fmt.Errorf("this program splits the run into more than the %d tasks of its manifest: resume with the program version that started it", m.Tasks)
	}
	if again.Tasks != m.Tasks || again.Hash != m.Hash {
		return fmt.Errorf("this program splits the run into %d tasks with hash %x, its manifest says %d tasks with hash %x: resume with the program version that started it", again.Tasks, again.Hash, m.Tasks, m.Hash)
	}
	return nil
}
