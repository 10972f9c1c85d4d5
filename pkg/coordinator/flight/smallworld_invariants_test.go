package flight_test

import (
	"slices"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
)

// check checks what must hold in every state.
func (w *world) check() {
	for id := range uint64(tasks) {
		s, state := w.l.Standing(id), w.a.State(id)
		agrees := s.Counted && (w.redundancy == 1 || s.Voters >= w.redundancy)
		if w.a.IsDone(id) && (!agrees || w.a.IsDisputed(id)) {
			w.fail("task %d is done with %+v", id, s)
		}
		if w.a.IsDone(id) && (w.redundancy > 1 || s.Own || s.Voters > 1) && w.l.Supporters(id)[0].Count != right(id) {
			w.fail("task %d has a wrong count", id)
		}
		w.checkPlace(id, state)
	}
}

// checkPlace checks that a task is where its state says: in the queue, with the coordinator, or nowhere.
func (w *world) checkPlace(id uint64, state agreement.State) {
	counts := func(op agreement.Op) bool {
		return slices.ContainsFunc(w.own, func(o agreement.Command) bool { return o.Op == op && o.Task == id })
	}
	inFlight := w.f.IsInFlight(id)
	switch state {
	case agreement.Open:
		if w.unread == 0 && !inFlight {
			w.fail("task %d is open and not in flight", id)
		}
	case agreement.Asked, agreement.CheckAsked:
		if !inFlight {
			w.fail("task %d is %s and not in flight", id, state)
		}
	case agreement.Agreed, agreement.Due:
		if inFlight {
			w.fail("task %d is %s and in flight", id, state)
		}
	case agreement.CheckOwn:
		if !counts(agreement.Check) || inFlight {
			w.fail("the coordinator does not check task %d, or it is in flight", id)
		}
	case agreement.Refereed:
		if !counts(agreement.Referee) {
			w.fail("the coordinator does not count task %d", id)
		}
	case agreement.Lacking, agreement.Disputed, agreement.VoteAsked, agreement.Stuck:
	}
}

// maxRounds is how often each worker counts something, and time passes, until a run without faults must have ended.
const maxRounds = 60

// finish ends the faults: a third worker connects, nobody lies, and all that is outstanding happens. The run must end,
// and leave nothing in flight.
func (w *world) finish() {
	w.workers[1].liar, w.workers[2].connected = false, true
	w.connect()
	w.settle()
	for round := 0; w.wrong == "" && !(w.a.IsComplete() && !w.l.IsRevoking()); round++ {
		if round == maxRounds {
			w.fail("the run does not end")
			return
		}
		w.round(round)
	}
	for w.wrong == "" && len(w.outstanding) > 0 {
		w.after(func() { w.learn(0) })
	}
	if w.f.InFlight() > 0 {
		w.fail("%d tasks are in flight at the end", w.f.InFlight())
	}
}

// after plays an event, and what follows.
func (w *world) after(play func()) {
	play()
	w.settle()
	w.check()
}

// round has everything happen that is outstanding, each worker count a chunk, and time pass.
func (w *world) round(round int) {
	for len(w.outstanding)+len(w.stream)+len(w.own) > 0 || w.l.IsRevoking() {
		switch {
		case len(w.outstanding) > 0:
			w.after(func() { w.learn(0) })
		case len(w.stream) > 0:
			w.after(w.read)
		case len(w.own) > 0:
			w.after(func() { w.endOwn(0, agreement.NotTried) })
		default:
			w.after(w.void)
		}
	}
	for i := range w.workers {
		k := slices.IndexFunc(w.queue, func(m message) bool {
			return !m.taken && (round > maxRounds/2 || !w.hasCounted(w.workers[i].key, &m))
		})
		if w.workers[i].holds == nil && k >= 0 && !w.refuses(i) {
			w.take(i, k)
		}
		if h := w.workers[i].holds; h != nil {
			w.after(func() { w.report(i, h.Tasks, 0) })
		}
	}
	w.after(w.pass)
}

// hasCounted reports whether the ledger has a count by a key of all tasks of a chunk: the worker leaves it to others.
func (w *world) hasCounted(key string, m *message) bool {
	for id := m.First; id < m.First+uint64(m.Tasks); id++ {
		counts := w.l.Supporters(id)
		if d := w.l.Dispute(id); d != nil {
			counts = d.Votes
		}
		if !slices.ContainsFunc(counts, func(r run.Result) bool { return r.Key == key }) {
			return false
		}
	}
	return true
}
