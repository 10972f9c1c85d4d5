package core

import (
	"math/big"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// These rules hold for what the core commands: replies, records and recounts. A function that
// checks one rule has the name of what must hold.

// checkReply checks what is handed out, and what is dropped.
func (w *world) checkReply(h *host, r *Reply) {
	c := h.core
	accepted := c.accepts(r.To.Machine)
	if accepted != (r.Refused == "") {
		w.fail("%s, whose machine is accepted: %v, is told %q", r.To.Name, accepted, r.Refused)
	}
	if accepted && c.over == nil && w.setup.most == 0 { // else it may hold too much
		w.dropsAreNotNeeded(c, r)
	}
	if len(r.Chunks) == 0 {
		return
	}
	if c.fleet.workers[r.To].request.Leaving {
		w.fail("%v is handed out to %s, which leaves", r.Chunks, r.To.Name)
	}
	if h.resumed && !w.setup.alone && w.now < h.started+6*time.Second {
		w.fail("%v is handed out %v after a start", r.Chunks, w.now-h.started)
	}
	_, _, waits := c.queue.lowest(r.To.Machine.Witness())
	for _, chunk := range r.Chunks {
		if len(c.queue.holders[chunk.First]) > 1 {
			w.doubled++
		}
		w.isOfOneClass(chunk)
		if c.queue.holds[r.To][chunk] == nil {
			w.fail("%v is handed out to %s and not held by it", chunk, r.To.Name)
		}
		if waits {
			w.isHeldOnce(c, chunk)
		}
		w.lostTasksAreAlone(c, chunk)
	}
}

// dropsAreNotNeeded checks that a worker is told to drop only what needs no count by it.
func (w *world) dropsAreNotNeeded(c *Core, r *Reply) {
	for _, drop := range r.Drop {
		holdsOtherwise := func(h *hold) bool { return h.holder == r.To && h.Range != drop }
		for task := drop.First; task < drop.End(); task++ {
			if c.judge.need(task).byWorker() && c.state.Counter(task).Witness() != r.To.Machine.Witness() &&
				!c.witnessHolds(r.To, task) &&
				!slices.ContainsFunc(c.queue.holders[task], holdsOtherwise) {
				w.fail("%s is told to drop %v, but task %d needs its count", r.To.Name, drop, task)
			}
		}
	}
}

// isOfOneClass checks that all tasks of a chunk are of one class.
func (w *world) isOfOneClass(chunk queens.Range) {
	if m := &w.header.Manifest; m.ClassOf(chunk.First) != m.ClassOf(chunk.End()-1) {
		w.fail("chunk %v is of two classes", chunk)
	}
}

// isHeldOnce checks that only one worker holds the tasks of a chunk.
func (w *world) isHeldOnce(c *Core, chunk queens.Range) {
	for task := chunk.First; task < chunk.End(); task++ {
		if len(c.queue.holders[task]) > 1 {
			w.fail("task %d is handed out again while other work waits", task)
		}
	}
}

// lostTasksAreAlone checks that a task that a worker has lost is alone in its chunk.
func (w *world) lostTasksAreAlone(c *Core, chunk queens.Range) {
	for task := chunk.First; task < chunk.End() && chunk.Tasks > 1; task++ {
		if _, lost := c.queue.losses[task]; lost {
			w.fail("the lost task %d is handed out in %v", task, chunk)
		}
	}
}

// checkRecord checks what is recorded.
func (w *world) checkRecord(r ledger.Record) {
	if w.host == nil {
		return // no coordinator runs
	}
	if w.host.completed {
		w.fail("%T is recorded after the end", r)
	}
	switch r := r.(type) {
	case *ledger.Result:
		w.trace("%v record %v by %s: %v", w.now, r.Range, r.Machine, r.Counts)
		if w.host.bans[r.Machine] {
			w.fail("%v by the banned machine %s is recorded", r.Range, r.Machine)
		}
		w.fewCountsDiffer(r)
	case *ledger.Ban:
		if !w.isWrong(r.Machine) {
			w.fail("the honest machine %s is banned", r.Machine)
		}
	case *ledger.Mark:
		w.host.completed = r.State.Ended()
		if r.State.Ended() && w.host.core.judge.running != nil {
			w.fail("the run ends while task %d is recounted", w.host.core.judge.running.Task)
		}
		if r.State.Ended() && len(w.host.core.queue.holders) > 0 {
			w.fail("the run ends while tasks are held: %v", w.host.core.queue.holders)
		}
		if r.State == queens.Complete {
			w.markHasTheTotal((*big.Int)(r.Total))
		}
	}
}

// fewCountsDiffer checks that at most two different counts of a task by a witness are recorded.
func (w *world) fewCountsDiffer(r *ledger.Result) {
	for i := range r.Counts {
		task, differing := r.First+uint64(i), map[uint64]bool{}
		for _, c := range w.host.state.Counts(task) {
			if !c.Recount && !c.Void && c.Machine.Witness() == r.Machine.Witness() {
				differing[c.Count] = true
			}
		}
		if len(differing) > 2 {
			w.fail("%d counts of task %d by %s are recorded", len(differing), task, r.Machine)
		}
	}
}

// markHasTheTotal checks that a run is complete with the sum of the counts of all tasks.
func (w *world) markHasTheTotal(total *big.Int) {
	state := w.host.state
	if state.NumberDone() < w.header.Manifest.Tasks || state.Solutions().Cmp(total) != 0 {
		w.fail("the mark says that the run is complete with %v; %d tasks are done, with %v", total,
			state.NumberDone(), state.Solutions())
	}
	if w.mustBeExact() && w.total.Cmp(total) != 0 {
		w.fail("the total is %v, not %v", total, w.total)
	}
}

// bansAreRecorded checks that every ban is recorded together with the record that caused it.
func (w *world) bansAreRecorded(h *host, records []ledger.Record) {
	for _, b := range h.state.Bans() {
		recorded := slices.ContainsFunc(records, func(r ledger.Record) bool {
			ban, ok := r.(*ledger.Ban)
			return ok && ban.Machine == b.Machine
		})
		if !h.bans[b.Machine] && !recorded {
			w.fail("the ban of %s is not recorded", b.Machine)
		}
		h.bans[b.Machine] = true
	}
}

// checkRecount checks a recount that begins.
func (w *world) checkRecount(h *host, r *Attempt) {
	w.kernelIsAnother(h, r)
	w.searchIsAnother(h, r)
	task, isAbandoned := h.core.abandoned(w.now)
	if times := h.core.queue.losses[r.Task]; r.Why == ledger.LostWorkers && times < lostAlone &&
		len(w.recounts(h, r.Task)) == 0 && !(isAbandoned && task == r.Task) {
		w.fail("task %d is recounted although it was lost %d times only", r.Task, times)
	}
}

// recounts returns the recounts of a task.
func (w *world) recounts(h *host, task uint64) []ledger.Count {
	return slices.DeleteFunc(h.state.Counts(task), func(c ledger.Count) bool { return !c.Recount })
}

// kernelIsAnother checks that a recount uses another kernel than the workers that have counted its
// task and the earlier recounts on this machine, unless no other way is left.
func (w *world) kernelIsAnother(h *host, r *Attempt) {
	isLast := r.Kernel == generic || r.Kernel == queens.HalvesPrefix+generic &&
		len(w.recounts(h, r.Task))+len(h.core.judge.died) > 0
	for _, c := range h.state.Counts(r.Task) {
		if c.Kernel == r.Kernel && !isLast && (!c.Recount || c.Machine == w.own()) {
			w.fail("task %d is recounted by kernel %s, which machine %s has used", r.Task, r.Kernel,
				c.Machine)
		}
	}
}

// searchIsAnother checks that a recount uses another search than earlier recounts by this machine.
func (w *world) searchIsAnother(h *host, r *Attempt) {
	method := h.state.Header().Manifest.Method
	search := ledger.Search(method, r.Kernel, r.Deeper)
	for _, c := range w.recounts(h, r.Task) {
		if c.Machine == w.own() && ledger.Search(method, c.Kernel, c.Deeper) == search {
			w.fail("task %d is recounted twice by %s", r.Task, r.way())
		}
	}
}

// receiptsAreKept checks that the log has every count for which a worker has a receipt.
func (w *world) receiptsAreKept(state *ledger.State) {
	for _, f := range w.acked {
		outcome := state.Task(f.task)
		isRecorded := slices.ContainsFunc(state.Counts(f.task), func(c ledger.Count) bool {
			return c.Count == f.count && !c.Recount
		})
		if !(outcome.Done && outcome.Count == f.count) && !isRecorded {
			w.fail("a receipt was given for task %d by %s: %d, and the log does not have that count", f.task,
				f.machine, f.count)
		}
	}
}
