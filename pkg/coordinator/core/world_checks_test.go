package core

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// These rules hold after every event of a simulated life.

// check checks the rules that hold at every moment.
func (w *world) check() {
	if w.host == nil {
		return
	}
	c := w.host.core
	q := c.queue
	var undone, waits, held, recounting, waiting uint64
	for task := range w.header.Manifest.Tasks {
		need, by := c.judge.need(task), c.state.Counter(task).Witness()
		waitsIn := 0
		for group, set := range q.groups {
			if set.has(task) {
				waitsIn++
				waiting++
				if group != by {
					w.fail("task %d, which %v have counted, waits as if %v had", task, by, group)
				}
			}
		}
		holds := q.holders[task]
		wanted := need == needCount || need == needCheck
		switch {
		case waitsIn > 1, waitsIn == 1 && len(holds) > 0:
			w.fail("task %d waits %d times and is held %d times", task, waitsIn, len(holds))
		case wanted && waitsIn == 0 && len(holds) == 0:
			w.fail("task %d neither waits nor is held", task)
		case !wanted && (waitsIn > 0 || len(holds) > 0):
			w.fail("task %d, which needs no worker, waits or is held", task)
		}
		for _, h := range holds {
			if h.holder.Machine.Witness() == by {
				w.fail("task %d is held by machine %s, whose witness has counted it", task, h.holder.Machine)
			}
			if q.holds[h.holder][h.Range] != h || !h.Contains(queens.Range{First: task, Tasks: 1}) {
				w.fail("the hold %v of %v is not known", h.Range, h.holder)
			}
			if c.state.Banned(h.holder.Machine) {
				w.fail("the banned machine %s holds task %d", h.holder.Machine, task)
			}
		}
		if c.state.Task(task).Done {
			continue
		}
		undone++
		switch {
		case need == needRecount:
			recounting++
		case waitsIn > 0:
			waits++
		case len(holds) > 0:
			held++
		}
		if recount := c.state.Task(task).NeedsRecount; recount != (need == needRecount) {
			w.fail("task %d needs a recount: %v, and awaits one: %v", task, recount, !recount)
		}
	}
	if undone != waits+held+recounting || undone != w.header.Manifest.Tasks-c.state.NumberDone() {
		w.fail("%d tasks are not done; %d wait, %d are held, %d are recounted", undone, waits, held,
			recounting)
	}
	if q.waits() != waiting {
		w.fail("%d tasks wait, not %d", waiting, q.waits())
	}
	if c.over == nil && recounting > 0 && c.judge.running == nil {
		w.fail("a task is in dispute and no recount runs")
	}
	w.checkHolds(q)
	w.checkSums(c)
	w.checkFleet(c)
	w.checkEnding(c)
	for _, b := range c.state.Bans() {
		if !w.isWrong(b.Machine) {
			w.fail("the honest machine %s is banned", b.Machine)
		}
	}
}

func (w *world) checkHolds(q *queue) {
	for p, holds := range q.holds {
		for r, h := range holds {
			left := uint64(0)
			for task := r.First; task < r.End(); task++ {
				if slices.Contains(q.holders[task], h) {
					left++
				}
			}
			if left != h.left || left == 0 || h.Range != r || h.holder != p {
				w.fail("the hold %v of %v has %d tasks left, not %d", r, p, left, h.left)
			}
		}
	}
}

// checkFleet checks that workers become silent neither too early nor too late, and that no request
// is kept for too long, or while work waits for its machine, or while its worker must drop
// something.
func (w *world) checkFleet(c *Core) {
	if w.host.lastTick != w.now {
		return // the coordinator has not run since the last event
	}
	for _, p := range c.fleet.workers {
		since := w.now - w.heard[p.process.Name].at
		silent := !p.present && !p.request.Leaving
		if silent && since < 20*time.Second {
			w.fail("worker %s is silent, and was heard %v ago", p.process.Name, since)
		}
		if silent && p.heard+20*time.Second > w.host.gap && w.now-w.host.gap < 30*time.Second &&
			w.now < p.heard+21*time.Second {
			w.fail("worker %s is silent %v after a gap", p.process.Name, w.now-w.host.gap)
		}
		if c.over == nil && p.present && len(c.queue.holds[p.process]) > 0 && c.fleet.connected &&
			w.now >= w.host.frozen &&
			since > 51*time.Second && w.now-w.host.gap > 51*time.Second {
			w.fail("worker %s was heard %v ago and is not silent", p.process.Name, since)
		}
		if !p.kept || w.now < w.host.frozen {
			continue
		}
		if by, isProc := p.request.Origin.(*proc); isProc && by.asked == p.request.Number {
			for _, r := range by.listed {
				if c.queue.holds[p.process][r] == nil && !by.delivered[r] {
					w.fail("%s is not told to drop %v: %v, %v, drops %v", p.process.Name, r,
						c.queue.holders[r.First], c.state.Counter(r.First), p.drops)
				}
			}
		}
		if w.now-p.waits > 7500*time.Millisecond && w.now-w.host.gap > 5*time.Second {
			w.fail("%s waits for an answer for %v", p.process.Name, w.now-p.waits)
		}
		if _, _, found := c.queue.lowest(p.process.Machine.Witness()); found &&
			c.accepts(p.process.Machine) && c.over == nil && p.wants() && !c.hoards(p) &&
			c.mostChunks(p) > 0 && w.now > c.clock.handOut+time.Second/2 && w.now-w.host.gap > time.Second {
			w.fail("work waits for %s, whose request is kept", p.process.Name)
		}
	}
}

// checkEnding checks that a run ends soon after every task is done: it may wait for checks for a
// fiftieth of its time.
func (w *world) checkEnding(c *Core) {
	if c.over != nil || c.state.NumberDone() < w.header.Manifest.Tasks || c.judge.running != nil ||
		c.totalOf != 0 {
		w.host.done = 0
		return
	}
	if w.host.done == 0 {
		w.host.done = c.clock.wall
	}
	if waited := c.clock.wall - w.host.done; waited > c.clock.wall/50+time.Second {
		w.fail("every task is done, and the run has waited for %v", waited)
	}
}

// checkReply checks what is handed out, and what is dropped.
func (w *world) checkReply(h *host, r *Reply) {
	c := h.core
	for _, drop := range r.Drop {
		for task := drop.First; task < drop.End() && c.over == nil && c.accepts(r.To.Machine); task++ {
			if need := c.judge.need(task); (need == needCount || need == needCheck) &&
				!c.witnessHolds(r.To, task) && c.state.Counter(task).Witness() != r.To.Machine.Witness() &&
				!slices.ContainsFunc(c.queue.holders[task], func(h *hold) bool {
					return h.holder == r.To && h.Range != drop
				}) {
				w.fail("%s is told to drop %v, but task %d needs its count", r.To.Name, drop, task)
			}
		}
	}
	if c.accepts(r.To.Machine) != (r.Refused == "") {
		w.fail("%s, whose machine is accepted: %v, is told %q", r.To.Name, c.accepts(r.To.Machine),
			r.Refused)
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
		if w.header.Manifest.ClassOf(chunk.First) != w.header.Manifest.ClassOf(chunk.End()-1) {
			w.fail("chunk %v is of two classes", chunk)
		}
		if len(c.queue.holders[chunk.First]) > 1 {
			w.doubled++
		}
		if c.queue.holds[r.To][chunk] == nil {
			w.fail("%v is handed out to %s and not held by it", chunk, r.To.Name)
		}
		for task := chunk.First; task < chunk.End(); task++ {
			holds := c.queue.holders[task]
			if len(holds) > 1 && waits {
				w.fail("task %d is handed out again while other work waits", task)
			}
			if _, lost := c.queue.losses[task]; lost && chunk.Tasks > 1 {
				w.fail("the lost task %d is handed out in %v", task, chunk)
			}
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
		if w.host.bans[r.Machine] {
			w.fail("%v by the banned machine %s is recorded", r.Range, r.Machine)
		}
		for i := range r.Counts {
			differing := map[uint64]bool{}
			for _, c := range w.host.state.Counts(r.First + uint64(i)) {
				if !c.Recount && !c.Void && c.Machine.Witness() == r.Machine.Witness() {
					differing[c.Count] = true
				}
			}
			if len(differing) > 2 {
				w.fail("%d counts of task %d by %s are recorded", len(differing), r.First+uint64(i), r.Machine)
			}
		}
		w.trace("%v record %v by %s: %v", w.now, r.Range, r.Machine, r.Counts)
	case *ledger.Ban:
		if !w.isWrong(r.Machine) {
			w.fail("the honest machine %s is banned", r.Machine)
		}
	case *ledger.Mark:
		w.host.completed = r.State.Ended()
		if r.State.Ended() && w.host.core.judge.running != nil {
			w.fail("the run ends while task %d is recounted", w.host.core.judge.running.Task)
		}
		state := w.host.state
		if r.State == queens.Complete &&
			(state.NumberDone() < w.header.Manifest.Tasks ||
				state.Solutions().Cmp((*big.Int)(r.Total)) != 0) {
			w.fail("the mark says that the run is complete with %v; %d tasks are done, with %v",
				(*big.Int)(r.Total), state.NumberDone(), state.Solutions())
		}
		if r.State == queens.Complete && w.mustBeExact() && w.total.Cmp((*big.Int)(r.Total)) != 0 {
			w.fail("the total is %v, not %v", (*big.Int)(r.Total), w.total)
		}
	}
}

// checkBans checks that every ban is recorded together with the record that caused it.
func (w *world) checkBans(h *host, records []ledger.Record) {
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

// checkRecount checks that a recount uses another kernel than the counts of its task, unless it is
// the last way, and another search than earlier recounts by this machine. It also checks that a
// lost task is recounted only if no other work waits.
func (w *world) checkRecount(h *host, r *Attempt) {
	method := h.state.Header().Manifest.Method
	recounts := slices.DeleteFunc(h.state.Counts(r.Task), func(c ledger.Count) bool {
		return !c.Recount
	})
	last := r.Kernel == generic || r.Kernel == queens.HalvesPrefix+generic &&
		len(recounts)+len(h.core.judge.died) > 0
	for _, c := range h.state.Counts(r.Task) {
		if c.Kernel == r.Kernel && !last && (!c.Recount || c.Machine == w.own()) {
			w.fail("task %d is recounted by kernel %s, which machine %s has used", r.Task, r.Kernel,
				c.Machine)
		}
	}
	if slices.ContainsFunc(recounts, func(c ledger.Count) bool {
		return c.Machine == w.own() &&
			ledger.Search(method, c.Kernel, c.Deeper) == ledger.Search(method, r.Kernel, r.Deeper)
	}) {
		w.fail("task %d is recounted twice by %s", r.Task, r.way())
	}
	if task, found := h.core.abandoned(w.now); found && task == r.Task {
		return
	}
	if r.Why != ledger.LostWorkers || len(recounts) > 0 {
		return
	}
	for _, set := range h.core.queue.groups {
		for _, waits := range set.ranges {
			for task := waits.First; task < waits.End(); task++ {
				if h.core.queue.losses[task] < lostAlone && !h.state.Task(task).Done {
					w.fail("lost task %d is recounted while task %d waits", r.Task, task)
				}
			}
		}
	}
}

// checkDisk checks that the log has every count for which a worker has a receipt.
func (w *world) checkDisk(state *ledger.State) {
	for _, f := range w.acked {
		o := state.Task(f.task)
		recorded := slices.ContainsFunc(state.Counts(f.task), func(c ledger.Count) bool {
			return c.Count == f.count && !c.Recount
		})
		if !(o.Done && o.Count == f.count) && !recorded {
			w.fail("a receipt was given for task %d by %s: %d, and the log does not have that count", f.task,
				f.machine, f.count)
		}
	}
}

// checkEnd checks how the run has ended.
func (w *world) checkEnd() {
	if w.failure != "" {
		return
	}
	state, notes, err := ledger.Fold(
		io.NewSectionReader(bytes.NewReader(w.disk), 0, int64(len(w.disk))), "the world's")
	if err != nil || notes.Torn > 0 {
		w.fail("the log of the end can't be read: %v", err)
		return
	}
	w.checkDisk(state)
	switch w.end.State {
	case queens.Complete:
		switch {
		case state.Banned(w.own()):
			w.fail("the run is complete on a machine that is banned")
		case state.Ended() != queens.Complete:
			w.fail("the run is complete, but its log says %q", state.Ended())
		case w.mustBeExact() && w.end.Total.Cmp(w.total) != 0:
			w.fail("the total is %v, not %v", w.end.Total, w.total)
		case w.setup.published && w.end.Total.Cmp(w.total) != 0:
			w.fail("the total %v contradicts the published one", w.end.Total)
		}
		for task := range w.truth {
			if o := state.Task(uint64(task)); !o.Done {
				w.fail("the run is complete without task %d", task)
			} else if o.Count != w.truth[task] && w.mustBeExact() {
				w.fail("task %d has the wrong count %d", task, o.Count)
			} else if !o.Verdict {
				witnesses := map[queens.Witness]bool{}
				for _, c := range state.Counts(uint64(task)) {
					if !c.Recount && !state.Banned(c.Machine) {
						witnesses[c.Machine.Witness()] = true
					}
				}
				if len(witnesses) < w.setup.redundancy {
					w.fail("task %d is done by %v", task, witnesses)
				}
			}
		}
		if w.header.Redundancy == 1 && w.setup.spot > 0 && !w.setup.published && state.Checked() == 0 &&
			len(w.truth) > 0 && !w.damaged {
			w.fail("nothing was checked")
		}
		if w.header.Redundancy > 1 {
			if c := state.Confirmation(nil); c.Checked != c.Tasks {
				w.fail("%d of %d tasks are confirmed", c.Checked, c.Tasks)
			}
		}
	case queens.Contradicted:
		if s := state.Snapshot(1); s.Solutions != nil || s.NoTotal() == "" {
			w.fail("a contradicted run shows %s solutions", s.Solutions)
		}
		if !w.setup.published || w.mustBeExact() {
			w.fail("the run ends with a contradiction: %v", w.end.Err)
		}
	default:
		switch {
		case !errors.Is(w.end.Err, queens.ErrIncomplete):
			w.fail("the run ends with %v", w.end.Err)
		case w.setup.alone && w.setup.wrong != "" && len(state.Unsettled()) > 0:
		case w.setup.alone && state.Banned(w.own()) && w.setup.machines[0].lies != honest:
		case w.setup.dying["all"], w.setup.dying[generic]:
		default:
			w.fail("the run ends with %v", w.end.Err)
		}
	}
}

// mustBeExact reports whether every wrong count must be found: too few witnesses agree on a lie,
// and none lies at redundancy 1.
func (w *world) mustBeExact() bool {
	agree := map[queens.Witness]bool{}
	for _, m := range w.setup.machines {
		if m.lies == agreeing {
			agree[m.id().Witness()] = true
		}
	}
	return len(agree) < w.setup.redundancy && (w.setup.redundancy > 1 || !w.hasLiar())
}

// isWrong reports whether a machine gives wrong counts or wrong recounts.
func (w *world) isWrong(m queens.Machine) bool {
	first := queens.Machine{User: queens.CoordinatorUser, Name: w.setup.machines[0].name}
	return w.machine(m).lies != honest || w.setup.wrong != "" && m == first
}

func (w *world) hasLiar() bool {
	return slices.ContainsFunc(w.setup.machines, func(m machine) bool { return m.lies != honest })
}

func (w *world) machine(id queens.Machine) *machine {
	for i := range w.setup.machines {
		if w.setup.machines[i].id() == id {
			return &w.setup.machines[i]
		}
	}
	return &machine{}
}
