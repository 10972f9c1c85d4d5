// Package split cuts classes into tasks, which are batches of prefixes. It streams the tasks in a
// fixed order and never holds them all. The task set is a function of the manifest: it is the
// same on every machine and for any number of workers.
package split

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"nqueens/pkg/queens"
)

// Version is the version of the splitting rules in this package. A manifest of another version may
// have other tasks.
const Version = 3

// Plan returns the manifest of a count of the given classes. With depth 0 it chooses depth and
// batch for each class, so that tasks have a good size; otherwise each prefix of depth rows is
// a task. Plan passes over all tasks once, on all cores, to number and hash them, which takes
// six core-seconds for 10^7 tasks. If ctx ends, Plan returns its cause.
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
	err := assignIDs(ctx, &m)
	return m, err
}

// assignIDs numbers, counts and hashes the tasks of the manifest's classes, on all cores.
func assignIDs(ctx context.Context, m *queens.Manifest) error {
	all := func(yield func(Part) bool) {
		for i := range m.Classes {
			m.Classes[i].First = m.Tasks
			for p := range parts(i, &m.Classes[i], m.Tasks) {
				m.Tasks += uint64(p.Tasks)
				if !yield(p) {
					return
				}
			}
		}
	}
	hash := sha256.New()
	err := inOrder(ctx, all, hashTasks, func(hashes []byte) error {
		hash.Write(hashes)
		return nil
	})
	hash.Sum(m.Hash[:0])
	return err
}

// hashTasks returns the hashes of a part's tasks, as the manifest's hash takes them.
func hashTasks(ctx context.Context, p *Part) ([]byte, error) {
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
		for _, plan := range m.Classes {
			for task := range ClassTasks(plan) {
				if !yield(task) {
					return
				}
			}
		}
	}
}

// ClassTasks yields the tasks of one class, as [Tasks] does.
func ClassTasks(plan queens.ClassPlan) iter.Seq[queens.Task] {
	return func(yield func(queens.Task) bool) {
		w := newWalk(&plan.Board, plan.Depth)
		for id := plan.First; ; id++ {
			prefixes := w.take(make([]queens.Prefix, 0, min(plan.Batch, 64)), plan.Batch)
			if len(prefixes) == 0 {
				return
			}
			if !yield(queens.Task{ID: id, Board: plan.Board, Prefixes: slices.Clip(prefixes)}) {
				return
			}
		}
	}
}

// Prefixes yields every placement of queens on the first depth rows of board b, with
// 0 <= depth <= b.N, in lexicographic order of the columns.
func Prefixes(b queens.Board, depth int) iter.Seq[queens.Prefix] {
	return func(yield func(queens.Prefix) bool) {
		w := newWalk(&b, depth)
		for some := w.take(nil, 64); len(some) > 0; some = w.take(some[:0], 64) {
			for _, p := range some {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Check returns nil if this program makes the same tasks for the manifest: the same number with the
// same hash. It passes over all tasks.
func Check(ctx context.Context, m *queens.Manifest) error {
	if m.SplitVersion != Version {
		return fmt.Errorf("the run was split by rules of version %d, this program splits by rules of version %d: resume with the nqueens version that splits by rules of version %[1]d, such as the one that started it", m.SplitVersion, Version)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	again := queens.Manifest{Classes: slices.Clone(m.Classes)}
	if err := assignIDs(ctx, &again); err != nil {
		return err
	}
	for i := range m.Classes {
		if again.Classes[i].First != m.Classes[i].First {
			return fmt.Errorf("class %d begins with task %d in this program and with task %d in the run's manifest: resume with the program version that started it", i, again.Classes[i].First, m.Classes[i].First)
		}
	}
	if again.Tasks != m.Tasks || again.Hash != m.Hash {
		return fmt.Errorf("this program splits the run into %d tasks with hash %x, its manifest says %d tasks with hash %x: resume with the program version that started it", again.Tasks, again.Hash, m.Tasks, m.Hash)
	}
	return nil
}
