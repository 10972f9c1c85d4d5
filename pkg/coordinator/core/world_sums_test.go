package core

import (
	"container/heap"
	"maps"
	"slices"

	"nqueens/pkg/queens"
)

// checkSums checks every sum, list and order that the core keeps against what its workers, holds
// and waiting tasks give. A function that checks one rule has the name of what must hold.
func (w *world) checkSums(c *Core) {
	w.workersAreInTheirLists(c)
	w.computersAreKnown(c.fleet)
	w.sumsAreThoseOfWorkers(c)
	w.usersHaveTheirWorkers(c.fleet)
	w.speedsAreInOrder(c.fleet)
	w.groupsHaveTheirTasks(c.queue)
	w.holdsHaveTheirPlaces(c.queue)
	w.lossesAreCounted(c.queue)
	w.overdueHoldsAreCounted(c)
	if len(c.queue.touched) > 0 {
		w.fail("the sums do not have %v yet", slices.Clone(c.queue.touched))
	}
}

// workersAreInTheirLists checks that each worker is in the lists of the fleet in which it belongs,
// and that nobody else is.
func (w *world) workersAreInTheirLists(c *Core) {
	f := c.fleet
	present, refused := 0, 0
	for p, of := range f.workers {
		isRefused := of.present && !c.accepts(p.Machine)
		isKnown := of.present && of.rate.speed() > 0
		if (of.inKept != nil) != of.kept || (of.inWanting != nil) != of.wants() ||
			(of.inRefused != nil) != isRefused || (of.speed != nil) != isKnown {
			w.fail("worker %s is in the wrong lists", p.Name)
		}
		if of.present {
			present++
		}
		if isRefused {
			refused++
		}
	}
	if len(f.numbers) != len(f.workers) || f.heard.Len() != present ||
		f.away.Len() != len(f.workers)-present || f.refused.Len() != refused {
		w.fail("the lists of the fleet have other workers than the fleet")
	}
}

// computersAreKnown checks that the fleet has the computers of its workers, each with its processes
// and a label of its own.
func (w *world) computersAreKnown(f *fleet) {
	processes, present := map[computer]int{}, map[computer]int{}
	for p, of := range f.workers {
		processes[computerOf(p.Machine)]++
		if of.present {
			present[computerOf(p.Machine)]++
		}
	}
	labels := map[string]bool{}
	for of, on := range f.computers {
		if on.processes != processes[of] || on.present != present[of] || labels[on.label] {
			w.fail("computer %v has %v, not %d processes, %d of them present", of, on, processes[of],
				present[of])
		}
		labels[on.label] = true
	}
	if len(f.computers) != len(processes) || len(f.labels.taken) != len(processes) {
		w.fail("%d computers have %d labels, and workers are on %d", len(f.computers),
			len(f.labels.taken), len(processes))
	}
}

// sumsAreThoseOfWorkers checks the sums of the fleet.
func (w *world) sumsAreThoseOfWorkers(c *Core) {
	want, computers := sums{witnesses: map[queens.Witness]int{}}, map[computer]bool{}
	for p, of := range c.fleet.workers {
		if !of.present {
			continue
		}
		computers[computerOf(p.Machine)] = true
		want.workers++
		want.searchers += of.request.Searchers
		want.threads += of.request.Threads
		want.idle += c.idle(of) * of.request.Threads / max(of.request.Searchers, 1)
		if c.accepts(p.Machine) {
			want.accepted++
			want.witnesses[p.Machine.Witness()]++
		}
	}
	want.computers = len(computers)
	if has := c.fleet.sums; has.part != want.part || has.workers != want.workers ||
		has.accepted != want.accepted || has.computers != want.computers ||
		!maps.Equal(has.witnesses, want.witnesses) {
		w.fail("the sums of the fleet are %+v, not %+v", has, want)
	}
}

// usersHaveTheirWorkers checks that each user has its workers, and that the users are in order.
func (w *world) usersHaveTheirWorkers(f *fleet) {
	workers := 0
	for user, c := range f.users {
		for e := c.workers.Front(); e != nil; e = e.Next() {
			workers++
			if of := e.Value.(*worker); of.process.Machine.User != user || of.inUser != e {
				w.fail("worker %s is of user %s, not %s", of.process.Name, of.process.Machine.User, user)
			}
		}
		if f.largest[c.place] != c {
			w.fail("user %s has a wrong place", user)
		}
	}
	if workers != len(f.workers) || len(f.largest) != len(f.users) {
		w.fail("%d workers of %d users, not %d of %d", workers, len(f.largest), len(f.workers),
			len(f.users))
	}
	w.isInOrder("users", &f.largest)
}

// speedsAreInOrder checks that the fleet knows the speeds of its present workers, in their order,
// and the sum of their work.
func (w *world) speedsAreInOrder(f *fleet) {
	known, searchers, work := 0, 0, 0.0
	for _, of := range f.workers {
		if of.speed != nil {
			known++
		}
	}
	for i := range f.speeds.len() {
		n := f.speeds.at(i)
		if n.worker.speed != n || n.speed != n.worker.rate.speed() ||
			i > 0 && compareSpeeds(f.speeds.at(i-1), n) >= 0 {
			w.fail("the speed of worker %s is in the wrong place", n.worker.process.Name)
		}
		searchers += n.worker.request.Searchers
		work += n.speed * float64(n.worker.request.Searchers)
	}
	if f.speeds.len() != known {
		w.fail("the speeds of %d workers are known, not of %d", f.speeds.len(), known)
	}
	if does, of := f.speeds.sum(); of != searchers || does < work*(1-1e-9) || does > work*(1+1e-9) {
		w.fail("%d searchers do %v, not %d searchers %v", of, does, searchers, work)
	}
}

// groupsHaveTheirTasks checks the sums of the tasks that wait, and that their groups are in order.
func (w *world) groupsHaveTheirTasks(q *queue) {
	all := uint64(0)
	for by, set := range q.groups {
		tasks := uint64(0)
		for _, r := range set.ranges {
			tasks += r.Tasks
		}
		all += tasks
		if set.by != by || set.tasks != tasks || q.lowestFirst[set.place] != set {
			w.fail("the group of %v has %d tasks, not %d", by, tasks, set.tasks)
		}
	}
	if q.all != all || len(q.lowestFirst) != len(q.groups) {
		w.fail("%d tasks wait in %d groups, not %d in %d", q.all, len(q.lowestFirst), all,
			len(q.groups))
	}
	w.isInOrder("groups", &q.lowestFirst)
}

// holdsHaveTheirPlaces checks that each hold is in the heap of holds, and that these are in order.
// It also checks the numbers of their tasks, and that these are not too many.
func (w *world) holdsHaveTheirPlaces(q *queue) {
	holds, tasks, byUser := 0, uint64(0), map[string]uint64{}
	for p, held := range q.holds {
		for _, h := range held {
			holds++
			tasks += h.left
			byUser[p.Machine.User] += h.left
			if h.place >= len(q.byEnd) || q.byEnd[h.place] != h {
				w.fail("the hold %v of %s has no place", h.Range, p.Name)
			}
		}
	}
	if len(q.byEnd) != holds {
		w.fail("%d holds have a place, not %d", len(q.byEnd), holds)
	}
	if q.heldTasks != tasks || tasks > q.most || !maps.Equal(q.heldByUser, byUser) {
		w.fail("users hold %v tasks, not %v", q.heldByUser, byUser)
	}
	w.isInOrder("holds", &q.byEnd)
}

// isInOrder checks that no element of a heap comes before its parent.
func (w *world) isInOrder(about string, h heap.Interface) {
	for i := 1; i < h.Len(); i++ {
		if h.Less(i, (i-1)/2) {
			w.fail("the %s are not in order", about)
		}
	}
}

// lossesAreCounted checks that the queue knows which tasks were lost often.
func (w *world) lossesAreCounted(q *queue) {
	for task, times := range q.losses {
		if q.often[task] != (times >= lostAlone) {
			w.fail("task %d was lost %d times alone: often %v", task, times, q.often[task])
		}
	}
}

// overdueHoldsAreCounted checks the numbers of overdue holds that this tick has counted.
func (w *world) overdueHoldsAreCounted(c *Core) {
	for p, counted := range c.queue.overdue {
		number := uint64(0)
		for _, h := range c.queue.holds[p] {
			if c.isOverdue(h) {
				number++
			}
		}
		if counted != number {
			w.fail("%d holds of %s are overdue, not %d", number, p.Name, counted)
		}
	}
}
