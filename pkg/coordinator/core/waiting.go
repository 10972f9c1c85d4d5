package core

import (
	"container/heap"
	"sort"

	"nqueens/pkg/queens"
)

// waitSet is the set of the tasks that wait. They are grouped by the witness that has counted them:
// a task that needs a count has at most one by another witness, because the redundancy is at most
// two. The tasks that nobody has counted are in the group of the zero Witness.
type waitSet struct {
	groups      map[queens.Witness]*group // by the witness that has counted the tasks
	lowestFirst byFirst                   // the groups, as a heap
	waiting     []uint64                  // number of tasks that wait, by class
	all         uint64                    // number of tasks that wait
	ends        []uint64                  // for each class, the id after its last task
}

func newWaitSet(ends []uint64) waitSet {
	return waitSet{
		groups: map[queens.Witness]*group{}, waiting: make([]uint64, len(ends)), ends: ends,
	}
}

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

// class returns the class of a task.
func (w *waitSet) class(task uint64) int {
	return sort.Search(len(w.ends), func(class int) bool { return w.ends[class] > task })
}

// wait lets the tasks of a range wait. They must neither wait nor be held before. The parameter by
// is the witness that has counted them.
func (w *waitSet) wait(r queens.Range, by queens.Witness) {
	if r.Tasks == 0 {
		return
	}
	set := w.groups[by]
	if set == nil {
		set = &group{by: by}
		w.groups[by] = set
		set.add(r)
		heap.Push(&w.lowestFirst, set)
	} else {
		set.add(r)
		heap.Fix(&w.lowestFirst, set.place)
	}
	set.tasks += r.Tasks
	w.all += r.Tasks
	for rest := r; rest.Tasks > 0; {
		class := w.class(rest.First)
		n := min(rest.Tasks, w.ends[class]-rest.First)
		w.waiting[class] += n
		rest = queens.Range{First: rest.First + n, Tasks: rest.Tasks - n}
	}
}

// remove removes a range of one class from the tasks that wait.
func (w *waitSet) remove(r queens.Range, by queens.Witness) {
	set := w.groups[by]
	if set.tasks == r.Tasks {
		heap.Remove(&w.lowestFirst, set.place)
		delete(w.groups, by)
	} else {
		set.remove(r)
		heap.Fix(&w.lowestFirst, set.place)
	}
	set.tasks -= r.Tasks
	w.waiting[w.class(r.First)] -= r.Tasks
	w.all -= r.Tasks
}

// regroup lets the tasks that wait as counted by a witness wait as counted by the one that the
// given function returns.
func (w *waitSet) regroup(from queens.Witness, witness func(task uint64) queens.Witness) {
	set := w.groups[from]
	if set == nil {
		return
	}
	heap.Remove(&w.lowestFirst, set.place)
	delete(w.groups, from)
	w.all -= set.tasks
	for _, r := range set.ranges {
		for task := r.First; task < r.End(); task++ {
			w.waiting[w.class(task)]--
			w.wait(queens.Range{First: task, Tasks: 1}, witness(task))
		}
	}
}

// removeTask removes a task from the tasks that wait, if it is one of them. It looks first at the
// tasks that the given witness has counted, and at those that nobody has counted.
func (w *waitSet) removeTask(task uint64, by queens.Witness) {
	for _, likely := range []queens.Witness{by, {}} {
		if set := w.groups[likely]; set != nil && set.has(task) {
			w.remove(queens.Range{First: task, Tasks: 1}, likely)
			return
		}
	}
}

// lowest returns the lowest waiting task that the given witness has not counted, and its group. It
// returns false if no such task waits.
func (w *waitSet) lowest(witness queens.Witness) (by queens.Witness, first uint64, found bool) {
	var lowest *group
	// if the first group of the heap is that of the witness, the next one is one of its children
	for _, set := range w.lowestFirst[:min(3, len(w.lowestFirst))] {
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
func (w *waitSet) waitsFor(accepted int, witnesses map[queens.Witness]int) bool {
	switch len(w.lowestFirst) {
	case 0:
		return false
	case 1:
		return accepted > witnesses[w.lowestFirst[0].by]
	}
	return accepted > 0
}

// waits returns how many tasks wait.
func (w *waitSet) waits() (tasks uint64) { return w.all }

// work returns the estimated work of the waiting tasks. The parameter shares has, for each class,
// the part of the run's work that one of its tasks is.
func (w *waitSet) work(shares []float64) (work float64) {
	for class, n := range w.waiting {
		work += float64(n) * shares[class]
	}
	return work
}
