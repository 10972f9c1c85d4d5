package coordinator

import (
	"context"
	"math"
	"slices"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
)

// hasWrong reports whether a ledger has a wrong accepted count.
func (w *world) hasWrong(l *ledger.Ledger) (wrong bool) {
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			w.fatalf("the ledger: %v", err)
		}
		wrong = wrong || r.Count != w.setup.board.tasks[r.Task].count
	}
	return wrong
}

// checkLedger checks what is always true of a ledger, and, once the run is complete, its accepted counts.
func (w *world) checkLedger(h *host, complete bool) {
	l := h.ledger
	for _, q := range l.Quarantined() {
		if !w.lies.has(q.Key) && !w.isOutvoted(l, q.Task) {
			w.fatalf("%s is quarantined, and has never lied: %s", q.Key, q.Reason)
		}
	}
	for id := range w.setup.board.manifest.Tasks {
		supporters, err := l.Supporters(id)
		if err != nil {
			w.fatalf("task %d: %v", id, err)
		}
		for i := range supporters {
			r := &supporters[i]
			one := lie{id, r.Count}
			if _, lied := w.lies[one][r.Key]; r.Count != w.setup.board.tasks[id].count && (r.IsOwn() || !lied) {
				w.fatalf("task %d has the count %d by %s, who has not counted that", id, r.Count, r.Voter())
			}
		}
		if complete && len(supporters) == 0 {
			w.fatalf("task %d has no count, and the run ends", id)
		}
		if complete {
			w.checkAccepted(l, lie{id, supporters[0].Count})
		}
	}
}

// checkAccepted checks the accepted count of a task: it is right, unless as many keys lied alike as must agree.
func (w *world) checkAccepted(l *ledger.Ledger, one lie) {
	if one.count == w.setup.board.tasks[one.task].count {
		return
	}
	standing, admitted := l.Standing(one.task), w.lies.admitted(one)
	switch {
	case w.setup.redundancy > 1 && admitted < w.setup.redundancy || len(w.lies[one]) == 0:
		w.fatalf("the count of task %d is %d, and %d admitted keys lied alike", one.task, one.count, admitted)
	case standing.Own || standing.Voters > admitted:
		w.fatalf("the wrong count %d of task %d seems to be checked: %+v", one.count, one.task, standing)
	}
	d := l.Dispute(one.task)
	if d == nil {
		return
	}
	refereed := w.setup.referee == works && w.faults.kinds["own count fails"] == 0 && !w.setup.deadly[one.task]
	for _, v := range d.Votes {
		if v.Count == w.setup.board.tasks[one.task].count && (admitted < d.Quorum || refereed) {
			w.fatalf("the dispute about task %d is settled with the wrong count %d, and %d admitted keys lied alike", one.task, one.count, admitted)
		}
	}
}

// isOutvoted reports whether as many admitted keys lied alike on a task as settle a dispute, and the coordinator has
// not counted it.
func (w *world) isOutvoted(l *ledger.Ledger, task uint64) bool {
	d := l.Dispute(task)
	return d != nil && !d.HasReferee() && w.isLie(task, d.Quorum)
}

// isLie reports whether so many admitted keys lied alike on a task.
func (w *world) isLie(task uint64, keys int) bool {
	for one := range w.lies {
		if one.task == task && w.lies.admitted(one) >= keys {
			return true
		}
	}
	return false
}

// checkDelivered checks that every result is recorded that is right, and not refused because of its key, and that the
// coordinator's spot checks stay within their share of the core time.
func (h *host) checkDelivered(batch []delivery) {
	for i := range batch {
		r := &batch[i].result
		for k := range r.Counts {
			h.searched += r.Counts[k].Elapsed.Seconds()
		}
		if r.Sealed == nil || len(r.Admission) == 0 || h.ledger.IsQuarantined(r.Sealed.Key) {
			continue
		}
		for k := range r.Counts {
			if id := r.First + uint64(k); !batch[i].wrong && !h.ledger.Has(id) && !h.ledger.IsRevoking() {
				h.w.fatalf("a count of task %d by %s is not recorded", id, r.Worker)
			}
		}
	}
	s := &h.w.setup
	if most := h.searched/50 + 3*s.search.Seconds(); s.spotCheck.Bounded && h.checked.Seconds() > most {
		h.w.fatalf("epoch %d has spent %v on spot checks, more than %v s", h.epoch, h.checked, most)
	}
	if len(batch) > 0 && batch[len(batch)-1].caughtUp.IsZero() && !h.ledger.Position().Stored.Equal(batch[len(batch)-1].position.Stored) {
		h.w.fatalf("the ledger is at %+v after a result at %+v", h.ledger.Position(), batch[len(batch)-1].position)
	}
}

// checkTotal checks the total of a complete run, and what is said of its spot checks.
func (w *world) checkTotal(h *host) {
	s := &w.setup
	wrong := w.hasWrong(h.ledger)
	total, err := audit.Total(context.Background(), h.ledger, h.cfg.Known)
	if !wrong && (err != nil || total.Cmp(s.board.total) != 0) {
		w.fatalf("the total is %v, error %v; it should be %v", total, err, s.board.total)
	}
	if wrong && h.cfg.Known != nil && err == nil {
		w.fatalf("the total %v is wrong, and the audit finds nothing", total)
	}
	due, missed := h.core.agreement.Checks()
	unchecked, own := uint64(0), uint64(0)
	for id := range s.board.manifest.Tasks {
		if t := h.ledger.Standing(id); t.Voters <= s.redundancy && !t.Own {
			unchecked++
			w.note("task %d is not checked: %+v", id, t)
			if r, _, _ := h.ledger.Result(id); r.Key == "" { // the coordinator can't check itself
				own++
			}
		}
	}
	if s.spotCheck.Share == 1 && unchecked > missed {
		w.fatalf("%d tasks are not checked, and %d checks are missed", unchecked, missed)
	}
	if w.canCheckAll() && missed > own {
		w.fatalf("%d checks are missed, and the coordinator could make all but %d", missed, own)
	}
	w.note("complete: %d due, %d missed, %d unchecked; wrong %v", due, missed, unchecked, wrong)
}

// canCheckAll reports whether no spot check can be missed: the coordinator makes every one that no voter makes in time,
// and no task is one that must not be checked.
func (w *world) canCheckAll() bool {
	s := &w.setup
	return !s.spotCheck.Bounded && s.check == works && s.patience > 2*s.search && w.left > 0 && len(s.deadly) == 0 && !w.deadLetters &&
		w.faults.kinds["own count fails"] == 0
}

// mayFail reports whether a run may end without a total although there are no more faults: if every task that is not
// done kills workers, or is given up because workers of three keys were lost with it, or has a dispute that takes no more votes.
func (w *world) mayFail(h *host, err error) bool {
	if w.gives != nil {
		return w.gives(err)
	}
	given := h.core.flight.DeadLettered()
	for id := range w.setup.board.manifest.Tasks {
		d := h.ledger.Dispute(id)
		if !h.core.agreement.IsDone(id) && !w.setup.deadly[id] && !slices.Contains(given, id) && !(d != nil && d.Full) {
			return false
		}
	}
	return true
}

// mayWait reports whether a run may wait for ever, after enough voters have lied alike to have honest ones quarantined,
// or because only tasks are left that kill workers, which the coordinator does not count itself: see countLost.
func (w *world) mayWait() bool {
	for _, h := range w.hosts {
		for _, q := range h.ledger.Quarantined() {
			// The coordinator may have counted the task since then.
			if d := h.ledger.Dispute(q.Task); d != nil && !w.lies.has(q.Key) && w.isLie(q.Task, d.Quorum) {
				return true
			}
		}
		if w.setup.alone == works && w.setup.redundancy == 1 {
			return false
		}
		for id := range w.setup.board.manifest.Tasks {
			if !h.core.agreement.IsDone(id) && !w.setup.deadly[id] {
				return false
			}
		}
	}
	return true
}
