package core

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"sort"
	"time"

	"nqueens/pkg/queens"
)

// queue is the set of the tasks that need a count by a worker. Each of them waits, or is held by at
// least one worker process, never both. Waiting tasks are grouped by the witness that has counted
// them: a task that needs a count has at most one by another witness, because the redundancy is at
// most two. The tasks that nobody has counted are in the group of the zero Witness.
type queue struct {
	groups      map[queens.Witness]*group    // what waits, by the witness that has counted it
	lowestFirst byFirst                      // the groups, as a heap
	waiting     []uint64                     // number of tasks that wait, by class
	all         uint64                       // number of tasks that wait
	holders     map[uint64][]*hold           // by task: the holds that await a count of it
	holds       map[queens.Process]heldRange // the holds of each process
	byEnd       byEnd                        // all holds, as a heap
	heldTasks   uint64                       // a task counts as often as it is held: see room
	heldByUser  map[string]uint64            // likewise, by the user of the holder
	most        uint64                       // bounds heldTasks
	touched     []queens.Process             // processes whose number of holds has changed
	// how many holds of a process are overdue, as counted since the last tick: see Core.overdue
	overdue map[queens.Process]uint64
	// tasks that a worker lost, and how often they were alone in the chunk then
	losses map[uint64]int
	often  map[uint64]bool // tasks that were lost lostAlone times or more
	ends   []uint64        // for each class, the id after its last task
}

const (
	// mostHeld bounds the tasks that are held. A task counts as often as it is held, and takes up to
	// 320 bytes each time.
	mostHeld = 1 << 20
	// mostLost bounds the tasks whose losses are known.
	mostLost = 1 << 20
)

// group is a set of tasks that wait.
type group struct {
	ranges
	by    queens.Witness // has counted them
	tasks uint64         // number of tasks
	place int            // in the heap of groups
}

// byFirst is a heap of groups. The group with the lowest task comes first.
type byFirst []*group

func (f byFirst) Len() int           { return len(f) }
func (f byFirst) Less(i, j int) bool { return f[i].ranges[0].First < f[j].ranges[0].First }
func (f byFirst) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].place, f[j].place = i, j
}
func (f *byFirst) Push(x any) {
	x.(*group).place = len(*f)
	*f = append(*f, x.(*group))
}
func (f *byFirst) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
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

func newQueue(ends []uint64) *queue {
	return &queue{
		groups: map[queens.Witness]*group{}, waiting: make([]uint64, len(ends)),
		holders: map[uint64][]*hold{},
		holds:   map[queens.Process]heldRange{}, heldByUser: map[string]uint64{}, most: mostHeld,
		losses: map[uint64]int{}, often: map[uint64]bool{},
		overdue: map[queens.Process]uint64{}, ends: ends,
	}
}

// class returns the class of a task.
func (q *queue) class(task uint64) int {
	return sort.Search(len(q.ends), func(class int) bool { return q.ends[class] > task })
}

// wait lets the tasks of a range wait. They must neither wait nor be held before. The parameter by
// is the witness that has counted them.
func (q *queue) wait(r queens.Range, by queens.Witness) {
	if r.Tasks == 0 {
		return
	}
	set := q.groups[by]
	if set == nil {
		set = &group{by: by}
		q.groups[by] = set
		set.add(r)
		heap.Push(&q.lowestFirst, set)
	} else {
		set.add(r)
		heap.Fix(&q.lowestFirst, set.place)
	}
	set.tasks += r.Tasks
	q.all += r.Tasks
	for rest := r; rest.Tasks > 0; {
		class := q.class(rest.First)
		n := min(rest.Tasks, q.ends[class]-rest.First)
		q.waiting[class] += n
		rest = queens.Range{First: rest.First + n, Tasks: rest.Tasks - n}
	}
}

// remove removes a range of one class from the tasks that wait.
func (q *queue) remove(r queens.Range, by queens.Witness) {
	set := q.groups[by]
	if set.tasks == r.Tasks {
		heap.Remove(&q.lowestFirst, set.place)
		delete(q.groups, by)
	} else {
		set.remove(r)
		heap.Fix(&q.lowestFirst, set.place)
	}
	set.tasks -= r.Tasks
	q.waiting[q.class(r.First)] -= r.Tasks
	q.all -= r.Tasks
}

// regroup lets the tasks that wait as counted by a witness wait as counted by the one that the
// given function returns.
func (q *queue) regroup(from queens.Witness, witness func(task uint64) queens.Witness) {
	set := q.groups[from]
	if set == nil {
		return
	}
	heap.Remove(&q.lowestFirst, set.place)
	delete(q.groups, from)
	q.all -= set.tasks
	for _, r := range set.ranges {
		for task := r.First; task < r.End(); task++ {
			q.waiting[q.class(task)]--
			q.wait(queens.Range{First: task, Tasks: 1}, witness(task))
		}
	}
}

// removeTask removes a task from the tasks that wait, if it is one of them. It looks first at the
// tasks that the given witness has counted, and at those that nobody has counted.
func (q *queue) removeTask(task uint64, by queens.Witness) {
	for _, likely := range []queens.Witness{by, {}} {
		if set := q.groups[likely]; set != nil && set.has(task) {
			q.remove(queens.Range{First: task, Tasks: 1}, likely)
			return
		}
	}
}

// lowest returns the lowest waiting task that the given witness has not counted, and its group. It
// returns false if no such task waits.
func (q *queue) lowest(witness queens.Witness) (by queens.Witness, first uint64, found bool) {
	var lowest *group
	// if the first group of the heap is that of the witness, the next one is one of its children
	for _, set := range q.lowestFirst[:min(3, len(q.lowestFirst))] {
		if set.by != witness && (lowest == nil || set.ranges[0].First < lowest.ranges[0].First) {
			lowest = set
		}
	}
	if lowest == nil {
		return by, first, false
	}
	return lowest.by, lowest.ranges[0].First, true
}

// waitsFor reports whether a task waits that one of the accepted workers may count. For each
// witness, witnesses has how many of them it has.
func (q *queue) waitsFor(accepted int, witnesses map[queens.Witness]int) bool {
	switch len(q.lowestFirst) {
	case 0:
		return false
	case 1:
		return accepted > witnesses[q.lowestFirst[0].by]
	}
	return accepted > 0
}

// take hands out tasks to a process: the lowest waiting tasks that its witness has not counted.
// They are consecutive and of one class; a task that a worker lost is handed out alone. It takes at
// most most(class) tasks of a class. take returns false if no such task waits, or if none may be
// taken.
func (q *queue) take(
	now time.Duration, p queens.Process, most func(class int) uint64,
) (queens.Range, bool) {
	by, first, found := q.lowest(p.Machine.Witness())
	if !found {
		return queens.Range{}, false
	}
	class := q.class(first)
	r := queens.Range{First: first,
		Tasks: min(q.groups[by].ranges[0].Tasks, q.ends[class]-first, most(class))}
	if r.Tasks == 0 {
		return queens.Range{}, false
	}
	if len(q.losses) > 0 {
		for i := range r.Tasks {
			if _, lost := q.losses[first+i]; lost {
				r.Tasks = max(i, 1)
				break
			}
		}
	}
	q.remove(r, by)
	q.hold(now, p, r, func(uint64) bool { return true })
	return r, true
}

// hold lets a process hold the tasks of a range for which awaited(task) is true. Such a task must
// no longer wait when awaited returns, and the witness of the process must not have counted it.
// hold returns nil if there is no such task. The process must not hold the range already.
func (q *queue) hold(
	now time.Duration, p queens.Process, r queens.Range, awaited func(task uint64) bool,
) *hold {
	h := &hold{Range: r, holder: p, since: now, began: now}
	own := []*hold{h}
	for task := r.First; task < r.End(); task++ {
		if !awaited(task) {
			continue
		}
		h.left++
		if others := q.holders[task]; others != nil {
			q.holders[task] = append(slices.Clip(others), h)
		} else {
			q.holders[task] = own
		}
	}
	if h.left == 0 {
		return nil
	}
	if q.holds[p] == nil {
		q.holds[p] = heldRange{}
	}
	q.holds[p][r] = h
	q.heldTasks += h.left
	q.heldByUser[p.Machine.User] += h.left
	q.touched = append(q.touched, p)
	heap.Push(&q.byEnd, h)
	return h
}

// endsAt notes when the search of a hold will end.
func (q *queue) endsAt(h *hold, end time.Duration) {
	h.end = end
	heap.Fix(&q.byEnd, h.place)
}

// held reports whether any process holds a task.
func (q *queue) held(task uint64) bool { return len(q.holders[task]) > 0 }

// room returns how many more tasks the processes of a user may hold. They hold at most as many as
// stay free for other users, so no user takes all the room.
//
// References: [Threshold] A. K. Choudhury, E. L. Hahne, "Dynamic queue length thresholds for
// shared-memory packet switches", IEEE/ACM Transactions on Networking 6 (1998), 130-140.
func (q *queue) room(user string) uint64 {
	if taken := q.heldTasks + q.heldByUser[user]; taken < q.most {
		return q.most - taken
	}
	return 0
}

// release ends a hold and returns the tasks that nobody holds any more: they neither wait nor are
// held now. If the hold is lost, each of its tasks is handed out alone from now on, unless mostLost
// others are lost.
func (q *queue) release(h *hold, lost bool) (free []uint64) {
	for task := h.First; task < h.End(); task++ {
		if !slices.Contains(q.holders[task], h) {
			continue
		}
		q.unhold(task, h)
		if lost {
			q.lose(task, h.Tasks == 1)
		}
		if !q.held(task) {
			free = append(free, task)
		}
	}
	return free
}

// lose notes that a worker has lost a task that needs a count. The parameter alone says whether the
// task was alone in its chunk.
func (q *queue) lose(task uint64, alone bool) {
	n, known := q.losses[task]
	if !known && len(q.losses) >= mostLost {
		return
	}
	if alone {
		n++
	}
	q.losses[task] = n
	if n >= lostAlone {
		q.often[task] = true
	}
}

// unhold takes a task out of a hold, and ends the hold if no task is left in it.
func (q *queue) unhold(task uint64, h *hold) {
	others := q.holders[task]
	if len(others) == 1 {
		delete(q.holders, task)
	} else {
		i := slices.Index(others, h)
		// a new list, because the tasks of a hold share one
		q.holders[task] = slices.Concat(others[:i], others[i+1:])
	}
	h.left--
	q.heldTasks--
	q.heldByUser[h.holder.Machine.User]--
	if q.heldByUser[h.holder.Machine.User] == 0 {
		delete(q.heldByUser, h.holder.Machine.User)
	}
	if h.left == 0 {
		heap.Remove(&q.byEnd, h.place)
		q.touched = append(q.touched, h.holder)
		delete(q.overdue, h.holder)
		delete(q.holds[h.holder], h.Range)
		if len(q.holds[h.holder]) == 0 {
			delete(q.holds, h.holder)
		}
	}
}

// move moves a task to where it belongs. The parameter by is the witness that has counted it. If it
// needs a count again, the processes of this witness no longer hold it, and it waits if nobody else
// holds it. If it needs no more counts, it leaves the queue. move returns the holds that end.
func (q *queue) move(task uint64, by queens.Witness, again bool) (ended []*hold) {
	if !q.held(task) {
		q.removeTask(task, by)
	}
	for _, h := range q.holders[task] {
		if again && h.holder.Machine.Witness() != by {
			continue
		}
		q.unhold(task, h)
		if h.left == 0 {
			ended = append(ended, h)
		}
	}
	switch {
	case !again:
		delete(q.losses, task)
		delete(q.often, task)
	case !q.held(task):
		q.wait(queens.Range{First: task, Tasks: 1}, by)
	}
	return ended
}

// waits returns how many tasks wait.
func (q *queue) waits() (tasks uint64) { return q.all }

// work returns the estimated work of the waiting tasks. The parameter shares has, for each class,
// the part of the run's work that one of its tasks is.
func (q *queue) work(shares []float64) (work float64) {
	for class, n := range q.waiting {
		work += float64(n) * shares[class]
	}
	return work
}

// holdsOf returns the holds of a process, in the order of their ranges.
func (q *queue) holdsOf(p queens.Process) []*hold {
	return slices.SortedFunc(maps.Values(q.holds[p]), compareHolds)
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
func (q *queue) tasksOf(p queens.Process) (tasks uint64) {
	for _, h := range q.holds[p] {
		tasks += h.left
	}
	return tasks
}

// mayDouble reports whether the range of a hold may also be handed out to another process. It may
// not if a hold that ends sooner shares a task with the hold, or if the hold has several tasks and
// a worker has lost one of them. Of holds that end at the same time, the first one in the order of
// [compareEnds] may: it is among those that a tick looks at, however many others there are.
func (q *queue) mayDouble(h *hold) bool {
	sooner := func(other *hold) bool {
		return other.end < h.end || other.end == h.end && compareEnds(other, h) < 0
	}
	for task := h.First; task < h.End(); task++ {
		if holds := q.holders[task]; slices.Contains(holds, h) && slices.ContainsFunc(holds, sooner) {
			return false
		}
		if _, lost := q.losses[task]; lost && h.Tasks > 1 {
			return false
		}
	}
	return true
}
