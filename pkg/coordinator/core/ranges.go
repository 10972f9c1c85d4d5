package core

import (
	"slices"
	"sort"

	"nqueens/pkg/queens"
)

// ranges is a set of tasks: ranges in ascending order that neither overlap nor touch.
type ranges []queens.Range

// at returns the index of the first range that ends after a task.
func (s ranges) at(task uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].End() > task })
}

// has reports whether a task is in the set.
func (s ranges) has(task uint64) bool {
	i := s.at(task)
	return i < len(s) && s[i].First <= task
}

// add adds a range. None of its tasks may already be in the set.
func (s *ranges) add(r queens.Range) {
	i := len(*s)
	if i > 0 && (*s)[i-1].End() > r.First { // mostly, ranges are added at the end
		i = s.at(r.First)
	}
	from, to := i, i // r replaces the ranges that it touches
	if i > 0 && (*s)[i-1].End() == r.First {
		from--
		r.First, r.Tasks = (*s)[from].First, (*s)[from].Tasks+r.Tasks
	}
	if i < len(*s) && (*s)[i].First == r.End() {
		to++
		r.Tasks += (*s)[i].Tasks
	}
	*s = slices.Replace(*s, from, to, r)
}

// remove removes a range. All its tasks must be in the set.
func (s *ranges) remove(r queens.Range) {
	i := s.at(r.First)
	left := queens.Range{First: (*s)[i].First, Tasks: r.First - (*s)[i].First}
	right := queens.Range{First: r.End(), Tasks: (*s)[i].End() - r.End()}
	rest := slices.DeleteFunc([]queens.Range{left, right}, func(r queens.Range) bool {
		return r.Tasks == 0
	})
	if i == 0 && len(rest) == 0 {
		*s = (*s)[1:] // mostly, the lowest tasks are taken
	} else {
		*s = slices.Replace(*s, i, i+1, rest...)
	}
}
