// Package split cuts classes into tasks: batches of prefixes, streamed in a fixed
// order and never held all at once. The task set is a function of the manifest: it
// is the same on every machine and for any number of workers.
package split

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"

	"nqueens/pkg/queens"
)

// Version is the version of the rules below and in size.go. A manifest of another
// version may have other tasks.
const Version = 2

// Plan returns the manifest of a count of the given classes. Where depth is 0, depth
// and batch are chosen for tasks of a good size, class by class; else a task is one
// prefix of depth rows. Plan goes through all tasks once, to number and hash them;
// where there are very many, that takes a while, and ends early with the cause of ctx.
func Plan(ctx context.Context, n int, s queens.Symmetry, classes []queens.Class, depth int) (queens.Manifest, error) {
	if err := queens.CheckN(n); err != nil {
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
	m := queens.Manifest{Splitter: Version, N: n, Symmetry: s}
	if depth == 0 {
		m.Classes = size(classes)
	} else {
		m.Classes = single(classes, depth)
	}
	hash := sha256.New()
	var hashed [8]byte
	for i := range m.Classes {
		m.Classes[i].First = m.Tasks
		for task := range ClassTasks(m.Classes[i]) {
			if ctx.Err() != nil {
				return queens.Manifest{}, context.Cause(ctx)
			}
			binary.LittleEndian.PutUint64(hashed[:], task.Hash())
			hash.Write(hashed[:])
			m.Tasks++
		}
	}
	hash.Sum(m.Hash[:0])
	return m, nil
}

// Tasks yields the tasks of a manifest in order of id, each with Run empty and
// Attempt 0. Every task has prefixes of its own.
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
			yield(next)
		}
	}
}

// Prefixes yields every way to place queens on the first depth rows of board b
// (0 <= depth <= b.N), in lexicographic order of their columns.
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
