package core

import (
	"cmp"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// askAll sends the work requests that are due, to the run with the least turn first: see turn. It
// stops asking for chunks after the first run that may have some, so that no run is served before
// its turn.
func (c *Core) askAll(now time.Duration) {
	byTurn := func(a, b *run) int { return cmp.Compare(c.turn(a, now, true), c.turn(b, now, true)) }
	want := c.want(now)
	for _, r := range slices.SortedStableFunc(slices.Values(c.runs), byTurn) {
		c.ask(r, want, now)
		if want > 0 && !r.silent(now) && !r.isDry(now) {
			c.due(now, r.lateAt())
			want = 0
		}
	}
}

// want returns how many more chunks the worker needs: one to wait for each searcher, and one more
// for each idle searcher. Chunks of silent runs do not count, so that other runs are asked.
func (c *Core) want(now time.Duration) int {
	if c.leaving() {
		return 0
	}
	want := len(c.searchers) + c.idle()
	for _, r := range c.runs {
		if !r.silent(now) {
			want -= len(r.waiting)
		}
	}
	return max(0, want)
}

// ask sends a work request to a run if one is due.
func (c *Core) ask(r *run, want int, now time.Duration) {
	c.expire(r, &r.asked, now)
	if !c.due(now, c.askAt(r, want, now)) {
		return
	}
	c.number++
	r.asked = exchange{number: c.number, open: true, sent: now}
	r.awaited = append(slices.DeleteFunc(r.awaited, func(a asked) bool {
		return now >= a.sent+queens.LongestReply
	}), asked{c.number, now, want})
	r.want, r.expected, r.leaving = want, want, c.leaving()
	request := queens.WorkRequest{Number: c.number, Want: want, Leaving: c.leaving(), Seen: r.seen,
		RoundTrip: r.roundTrip}
	if !c.leaving() {
		request.Held = c.held(r, now)
	}
	c.commands = append(c.commands, Ask{Run: r.name, Request: request})
	c.due(now, now+queens.LongestReply)
}

// expire ends the wait of the last message of an exchange if there will be no reply. If the
// coordinator was not silent by then, it has more messages than it can read. So the next message
// waits longer after each one without a reply, unless only other runs keep the worker busy.
func (c *Core) expire(r *run, e *exchange, now time.Duration) {
	last := e.sent + queens.LongestReply
	if !e.open || now < last {
		return
	}
	e.open = false
	if last > r.silentAt {
		return
	}
	r.unanswered++
	if c.holds(r) || c.idle() == len(c.searchers) {
		wait := min(time.Duration(r.unanswered-1)*repeatLater, mostLater)
		e.notBefore = max(e.notBefore, now+wait)
	}
}

// askAt returns when the next request to a run is due if nothing else happens.
func (c *Core) askAt(r *run, want int, now time.Duration) time.Duration {
	switch {
	case c.leaving():
		return c.askAtLeaving(r, now)
	case r.asked.open && (want <= r.expected || r.silent(now)):
		return r.askAtAwaiting(now)
	}
	return max(c.askAtWanting(r, want, now), r.quiet)
}

// askAtLeaving returns when the next request of a worker that leaves is due. Its last one is due
// once results have their receipts, or else 1.5 s after Leave. A run that was never asked does not
// know the worker, and gets none.
func (c *Core) askAtLeaving(r *run, now time.Duration) time.Duration {
	knows := r.asked.number != 0
	isTold := r.left || r.asked.open && r.leaving
	switch {
	case !knows || isTold || r.silent(now):
		return Never
	case c.holds(r):
		return c.leaveAt - leaveAfter + lastResults
	}
	return now
}

// askAtAwaiting returns when the next request is due while the last one has no reply and asks for
// as many chunks as the worker wants.
func (r *run) askAtAwaiting(now time.Duration) time.Duration {
	given := r.asked.sent + queens.LongestReply
	late := r.lateAt()
	if r.unanswered == 0 && !r.dry && !r.silent(now) && r.asked.sent < late {
		return min(given, late)
	}
	return given
}

// askAtWanting returns when the next request is due if the worker may want more than it has asked
// for.
func (c *Core) askAtWanting(r *run, want int, now time.Duration) time.Duration {
	switch {
	case (want == 0 || r.silent(now)) && !c.holds(r):
		return Never
	case r.silent(now):
		return r.asked.sent + askSilent
	case want == 0:
		return max(r.asked.notBefore, r.asked.sent+refreshAfter)
	}
	few := want-r.expected < len(c.searchers)/4 // more searchers will want chunks soon
	if few || r.asked.open && r.dry {
		return max(r.asked.notBefore, r.asked.sent+batchAfter)
	}
	return r.asked.notBefore
}

// held lists what the worker holds of a run: searches that advance, chunks that wait, and counted
// chunks without a receipt. If the searches of all searchers are stalled, it leaves out the chunks
// that wait.
func (c *Core) held(r *run, now time.Duration) (held []queens.Held) {
	for i := range c.searchers {
		if s := &c.searchers[i]; s.run == r && !s.stopped && s.still < stalledPolls {
			for _, h := range s.chunks {
				held = append(held, queens.Held{Range: h.Range, Ticket: h.Ticket,
					Searched: max(1, now-s.began)})
			}
		}
	}
	if slices.ContainsFunc(c.searchers, func(s searcher) bool { return s.still < stalledPolls }) {
		for _, h := range r.waiting {
			held = append(held, queens.Held{Range: h.Range, Ticket: h.Ticket})
		}
	}
	for _, k := range r.results {
		if k.whole {
			held = append(held, queens.Held{Range: k.Range, Ticket: k.Ticket, Searched: k.Searched})
		}
	}
	return held
}

// In a message, a result takes at most fixedBytes, the bytes of its kernel's name, and countBytes
// for each count.
const fixedBytes, countBytes = 128, 10

// deliver sends results of a run that have no receipt, as many as fit, if no delivery awaits its
// reply.
func (c *Core) deliver(r *run, now time.Duration) {
	c.expire(r, &r.delivered, now)
	at := max(r.quiet, r.delivered.notBefore)
	switch {
	case r.delivered.open:
		at = r.delivered.sent + queens.LongestReply
	case len(r.results) == 0:
		return
	case r.silent(now):
		at = max(at, r.delivered.sent+askSilent)
	}
	if !c.due(now, at) {
		return
	}
	var results []queens.Result
	bytes := 0
	for i := range r.results {
		next := &r.results[i].Result
		bytes += fixedBytes + len(next.Kernel) + countBytes*len(next.Counts)
		if bytes > deliveryBytes && i > 0 {
			break
		}
		results = append(results, *next)
	}
	c.number++
	r.delivered = exchange{number: c.number, open: true, sent: now}
	r.inFlight = len(results)
	c.commands = append(c.commands,
		Deliver{Run: r.name, Number: c.number, Delivery: queens.Delivery{Results: results}})
	c.due(now, now+queens.LongestReply)
}

// Stats returns what the worker has done, and what it does now.
func (c *Core) Stats(now time.Duration) Stats {
	s := Stats{Tasks: c.counted, Busy: len(c.searchers) - c.idle()}
	for _, r := range c.runs {
		s.Waiting += len(r.waiting)
		s.Results += len(r.results)
		if c.holds(r) {
			s.Runs = append(s.Runs, r.name)
		}
	}
	if s.Busy == 0 {
		s.Reason, s.Why = c.waitsFor(now)
	}
	return s
}

// waitsFor returns for what a worker that searches nothing waits, and why. Of several runs, the one
// that may give work soonest decides.
func (c *Core) waitsFor(now time.Duration) (reason queens.Reason, why string) {
	reason, why = queens.NoCoordinator, "none is heard"
	for _, r := range c.runs {
		switch {
		case r.refused != "":
			reason, why = queens.MachineBanned, r.refused
		case r.silent(now) && reason == queens.NoCoordinator:
			reason, why = queens.SilentOne, "run "+r.name+" is silent"
		case r.silent(now):
		case r.unanswered > 0:
			reason, why = queens.NoReplies,
				"run "+r.name+" is heard, and does not answer: it may be overloaded"
		default:
			return queens.NoWork,
				"other workers hold the rest of run " + r.name + ", or it needs another machine"
		}
	}
	return reason, why
}
