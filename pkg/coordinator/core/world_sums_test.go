package core

import (
	"maps"
	"slices"

	"nqueens/pkg/queens"
)

// checkSums checks every sum, list and order that the core keeps against what its workers, holds
// and waiting tasks give.
func (w *world) checkSums(c *Core) {
	f, want := c.fleet, sums{witnesses: map[queens.Witness]int{}}
	computers, searchers, work := map[computer]*computerFacts{}, 0, 0.0
	labels := map[string]bool{}
	for p, of := range f.workers {
		on := computers[computerOf(p.Machine)]
		if on == nil {
			on = &computerFacts{computer: computerOf(p.Machine)}
			computers[on.computer] = on
		}
		on.processes++
		isRefused, isKnown := of.inRefused != nil, of.speed != nil
		if (of.inKept != nil) != of.kept || (of.inWanting != nil) != of.wants() ||
			isRefused != (of.present && !c.accepts(p.Machine)) ||
			isKnown != (of.present && of.rate.speed() > 0) {
			w.fail("worker %s is in the wrong lists", p.Name)
		}
		if !of.present {
			continue
		}
		on.present++
		want.workers++
		want.searchers += of.request.Searchers
		want.threads += of.request.Threads
		want.idle += c.idle(of) * of.request.Threads / max(of.request.Searchers, 1)
		if !isRefused {
			want.accepted++
			want.witnesses[p.Machine.Witness()]++
		}
		if isKnown {
			searchers += of.request.Searchers
			work += of.rate.speed() * float64(of.request.Searchers)
		}
	}
	for of, on := range computers {
		if kept := f.computers[of]; kept == nil || kept.present != on.present ||
			kept.processes != on.processes || labels[kept.label] {
			w.fail("computer %v has %v, not %v", of, kept, on)
			return
		}
		labels[f.computers[of].label] = true
		if on.present > 0 {
			want.computers++
		}
	}
	if f.sums.part != want.part || f.sums.workers != want.workers ||
		f.sums.accepted != want.accepted || f.sums.computers != want.computers ||
		!maps.Equal(f.sums.witnesses, want.witnesses) || len(f.computers) != len(computers) ||
		len(f.labels.taken) != len(computers) {
		w.fail("the sums of the fleet are %+v, not %+v", f.sums, want)
	}
	names := 0
	for user, c := range f.users {
		for e := c.workers.Front(); e != nil; e = e.Next() {
			names++
			if of := e.Value.(*worker); of.process.Machine.User != user || of.inUser != e {
				w.fail("worker %s is of user %s, not %s", of.process.Name, of.process.Machine.User, user)
			}
		}
		if f.largest[c.place] != c || f.largest.Less(c.place, 0) {
			w.fail("user %s has a wrong place", user)
		}
	}
	if names != len(f.workers) || len(f.largest) != len(f.users) {
		w.fail("%d workers of %d users, not %d of %d", names, len(f.largest), len(f.workers), len(f.users))
	}
	if len(f.numbers) != len(f.workers) || f.heard.Len() != want.workers ||
		f.away.Len() != len(f.workers)-want.workers || f.refused.Len() != want.workers-want.accepted {
		w.fail("the lists of the fleet have other workers than the fleet")
	}
	kept, known := f.speeds.sum()
	if known != searchers || kept < work*(1-1e-9) || kept > work*(1+1e-9) {
		w.fail("%d searchers do %v, not %d searchers %v", known, kept, searchers, work)
	}
	for i := range f.speeds.len() {
		n := f.speeds.at(i)
		if n.worker.speed != n || n.speed != n.worker.rate.speed() ||
			i > 0 && compareSpeeds(f.speeds.at(i-1), n) >= 0 {
			w.fail("the speed of worker %s is in the wrong place", n.worker.process.Name)
		}
	}
	for p, last := range c.queue.overdue {
		number := uint64(0)
		for _, h := range c.queue.holds[p] {
			if c.isOverdue(h) {
				number++
			}
		}
		if last.tick == c.clock.tick && last.number != number {
			w.fail("%d holds of %s are overdue, not %d", number, p.Name, last.number)
		}
	}
	w.checkQueue(c.queue)
}

// checkQueue checks the sums and heaps of a queue.
func (w *world) checkQueue(q *queue) {
	all, holds := uint64(0), 0
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
	for p, held := range q.holds {
		for _, h := range held {
			holds++
			if h.place >= len(q.byEnd) || q.byEnd[h.place] != h {
				w.fail("the hold %v of %s has no place", h.Range, p.Name)
			}
		}
	}
	if q.all != all || len(q.lowestFirst) != len(q.groups) || len(q.byEnd) != holds {
		w.fail("%d tasks wait in %d groups, and %d holds: not %d in %d, and %d", q.all,
			len(q.lowestFirst), len(q.byEnd), all, len(q.groups), holds)
	}
	for i := 1; i < len(q.lowestFirst); i++ {
		if q.lowestFirst.Less(i, (i-1)/2) {
			w.fail("the groups are not in order")
		}
	}
	for i := 1; i < len(q.byEnd); i++ {
		if q.byEnd.Less(i, (i-1)/2) {
			w.fail("the holds are not in order")
		}
	}
	for task, times := range q.losses {
		if q.often[task] != (times >= lostAlone) {
			w.fail("task %d was lost %d times alone: often %v", task, times, q.often[task])
		}
	}
	if len(q.touched) > 0 {
		w.fail("the sums do not have %v yet", slices.Clone(q.touched))
	}
}
