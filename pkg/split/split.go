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
	"sort"

	"nqueens/pkg/queens"
)

// Version is the version of the splitting rules in this package. A manifest of another version may
// have other tasks.
const Version = 2

// Plan returns the manifest of a count of the given classes. With depth 0 it chooses depth and
// batch for each class, so that tasks have a good size; otherwise each prefix of depth rows is
// a task. Plan passes over all tasks once to number and hash them, which takes up to a minute for
// 10^7 tasks. If ctx ends, Plan returns its cause.
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

// assignIDs numbers, counts and hashes the tasks of the manifest's classes.
func assignIDs(ctx context.Context, m *queens.Manifest) error {
	hash := sha256.New()
	var hashed [8]byte
	for i := range m.Classes {
		m.Classes[i].First = m.Tasks
		for task := range ClassTasks(m.Classes[i]) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			binary.LittleEndian.PutUint64(hashed[:], task.Hash())
			hash.Write(hashed[:])
			m.Tasks++
		}
	}
	hash.Sum(m.Hash[:0])
	return nil
}

// Tasks yields the tasks of a manifest in order of id, with Run empty and Attempt 0. Tasks share
// no memory.
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
		next := queens.Task{ID: plan.First, Board: plan.Board}
		for prefix := range Prefixes(plan.Board, plan.Depth) {
			if next.Prefixes == nil {
				next.Prefixes = make([]queens.Prefix, 0, plan.Batch)
			}
			next.Prefixes = append(next.Prefixes, prefix)
			if len(next.Prefixes) < plan.Batch {
				continue
			}
			if !yield(next) {
				return
			}
			next = queens.Task{ID: next.ID + 1, Board: plan.Board}
		}
		if len(next.Prefixes) > 0 {
			next.Prefixes = slices.Clip(next.Prefixes)
			yield(next)
		}
	}
}

// Prefixes yields every placement of queens on the first depth rows of board b, with
// 0 <= depth <= b.N, in lexicographic order of the columns.
func Prefixes(b queens.Board, depth int) iter.Seq[queens.Prefix] {
	return func(yield func(queens.Prefix) bool) {
		descend(&b, depth, queens.Prefix{}, yield)
	}
}

func descend(b *queens.Board, depth int, p queens.Prefix, yield func(queens.Prefix) bool) bool {
	if p.Row == depth {
		return yield(p)
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		if !descend(b, depth, p.Place(b, free&-free), yield) {
			return false
		}
	}
	return true
}

// Find calls each with the tasks of the given sorted ids, in order of id. It passes over the
// prefixes of their classes, which takes seconds where there are millions.
func Find(ctx context.Context, m *queens.Manifest, ids []uint64, each func(queens.Task)) error {
	for len(ids) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ids[0] >= m.Tasks {
			return fmt.Errorf("the run has no task %d: it has %d", ids[0], m.Tasks)
		}
		class := m.ClassOf(ids[0])
		end := m.Classes[class].First + m.TasksOf(class)
		ours := sort.Search(len(ids), func(i int) bool { return ids[i] >= end })
		if err := findIn(ctx, m.Classes[class], ids[:ours], each); err != nil {
			return err
		}
		ids = ids[ours:]
	}
	return nil
}

// findIn is Find for the tasks of one class.
func findIn(ctx context.Context, plan queens.ClassPlan, ids []uint64, each func(queens.Task)) error {
	for task := range ClassTasks(plan) {
		if task.ID%(1<<12) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if task.ID != ids[0] {
			continue
		}
		each(task)
		for ids[0] == task.ID {
			if ids = ids[1:]; len(ids) == 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("the class of task %d has no prefix for it: this program would make another manifest", ids[0])
}

// Check returns nil if this program makes the same tasks for the manifest: the same number with the
// same hash. It passes over all tasks.
func Check(ctx context.Context, m *queens.Manifest) error {
	if m.SplitVersion != Version {
		return fmt.Errorf("the run was split by rules of version %d, this program has rules of version %d: resume with the program version that started it", m.SplitVersion, Version)
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
