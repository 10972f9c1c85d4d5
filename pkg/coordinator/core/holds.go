package core

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// holdSet is the set of all holds.
type holdSet struct {
	holders    map[uint64][]*hold           // by task: the holds that await a count of it
	holds      map[queens.Process]heldRange // the holds of each process
	byEnd      byEnd                        // all holds, as a heap
	heldTasks  uint64                       // a task counts as often as it is held: see room
	heldByUser map[string]uint64            // likewise, by the user of the holder
	most       uint64                       // bounds heldTasks
	touched    []queens.Process             // processes whose number of holds has changed
	// how many holds of a process are overdue, as counted since the last tick: see Core.overdue
	overdue map[queens.Process]uint64
}

// mostHeld bounds the tasks that are held. A task counts as often as it is held, and takes up to
// 320 bytes each time.
const mostHeld = 1 << 20

func newHoldSet() holdSet {
	return holdSet{
		holders: map[uint64][]*hold{}, holds: map[queens.Process]heldRange{},
		heldByUser: map[string]uint64{}, most: mostHeld, overdue: map[queens.Process]uint64{},
	}
}

// heldRange finds the hold of a range.
type heldRange map[queens.Range]*hold

// hold is a range that a process holds, because the range was handed out to the process, or the
// process listed it.
type hold struct {
	queens.Range
	holder queens.Process
	left   uint64        // number of its tasks that await a count by the holder
	since  time.Duration // when it began
	listed uint64        // number of the last request that listed it; 0 before the first
	reply  order         // the request that was answered with it
	begun  bool          // its search has begun
	began  time.Duration // when its search began, or when it was handed out
	end    time.Duration // when its search will end, as it was estimated last: see overdue.go
	place  int           // in the heap of holds
}

// byEnd is a heap of holds. The hold that ends last comes first.
type byEnd []*hold

func (e byEnd) Len() int           { return len(e) }
func (e byEnd) Less(i, j int) bool { return compareEnds(e[i], e[j]) < 0 }
func (e byEnd) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}
func (e *byEnd) Push(x any) {
	x.(*hold).place = len(*e)
	*e = append(*e, x.(*hold))
}
func (e *byEnd) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// order says on which connection a request came, and its number there.
type order struct{ connection, number uint64 }

// hold lets a process hold the tasks of a range for which awaited(task) is true. Such a task must
// no longer wait when awaited returns, and the witness of the process must not have counted it.
// hold returns nil if there is no such task. The process must not hold the range already.
func (s *holdSet) hold(
	now time.Duration, p queens.Process, r queens.Range, awaited func(task uint64) bool,
) *hold {
	h := &hold{Range: r, holder: p, since: now, began: now}
	own := []*hold{h}
	for task := r.First; task < r.End(); task++ {
		if !awaited(task) {
			continue
		}
		h.left++
		if others := s.holders[task]; others != nil {
			s.holders[task] = append(slices.Clip(others), h)
		} else {
			s.holders[task] = own
		}
	}
	if h.left == 0 {
		return nil
	}
	if s.holds[p] == nil {
		s.holds[p] = heldRange{}
	}
	s.holds[p][r] = h
	s.heldTasks += h.left
	s.heldByUser[p.Machine.User] += h.left
	s.touched = append(s.touched, p)
	heap.Push(&s.byEnd, h)
	return h
}

// endsAt notes when the search of a hold will end.
func (s *holdSet) endsAt(h *hold, end time.Duration) {
	h.end = end
	heap.Fix(&s.byEnd, h.place)
}

// held reports whether any process holds a task.
func (s *holdSet) held(task uint64) bool { return len(s.holders[task]) > 0 }

// room returns how many more tasks the processes of a user may hold. They hold at most as many as
// stay free for other users, so no user takes all the room.
//
// References: [Threshold] A. K. Choudhury, E. L. Hahne, "Dynamic queue length thresholds for
// shared-memory packet switches", IEEE/ACM Transactions on Networking 6 (1998), 130-140.
func (s *holdSet) room(user string) uint64 {
	if taken := s.heldTasks + s.heldByUser[user]; taken < s.most {
		return s.most - taken
	}
	return 0
}

// unhold takes a task out of a hold, and ends the hold if no task is left in it.
func (s *holdSet) unhold(task uint64, h *hold) {
	others := s.holders[task]
	if len(others) == 1 {
		delete(s.holders, task)
	} else {
		i := slices.Index(others, h)
		// a new list, because the tasks of a hold share one
		s.holders[task] = slices.Concat(others[:i], others[i+1:])
	}
	h.left--
	s.heldTasks--
	s.heldByUser[h.holder.Machine.User]--
	if s.heldByUser[h.holder.Machine.User] == 0 {
		delete(s.heldByUser, h.holder.Machine.User)
	}
	if h.left == 0 {
		heap.Remove(&s.byEnd, h.place)
		s.touched = append(s.touched, h.holder)
		delete(s.overdue, h.holder)
		delete(s.holds[h.holder], h.Range)
		if len(s.holds[h.holder]) == 0 {
			delete(s.holds, h.holder)
		}
	}
}

// holdsOf returns the holds of a process, in the order of their ranges.
func (s *holdSet) holdsOf(p queens.Process) []*hold {
	return slices.SortedFunc(maps.Values(s.holds[p]), compareHolds)
}

// compareHolds compares holds by their processes, and the holds of a process by their ranges.
func compareHolds(a, b *hold) int {
	return cmp.Or(compareProcesses(a.holder, b.holder), cmp.Compare(a.First, b.First),
		cmp.Compare(a.Tasks, b.Tasks))
}

// compareEnds compares holds by the ends of their searches, the latest first. Of holds that end at
// the same time, the one that began first comes first.
func compareEnds(a, b *hold) int {
	return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(a.since, b.since), compareHolds(a, b))
}

// tasksOf returns how many tasks a process holds.
func (s *holdSet) tasksOf(p queens.Process) (tasks uint64) {
	for _, h := range s.holds[p] {
		tasks += h.left
	}
	return tasks
}
