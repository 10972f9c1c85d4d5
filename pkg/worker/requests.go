package worker

import (
	"cmp"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// askAll sends the work requests that are due, in the order of the runs' turns. It stops asking for
// chunks after the first run that may have some, so that no run is served before its turn.
func (c *Core) askAll(now time.Duration) {
	order := slices.Clone(c.runs)
	slices.SortStableFunc(order, func(a, b *run) int { return cmp.Compare(c.turn(a, now, true), c.turn(b, now, true)) })
	want := c.want(now)
	for _, r := range order {
		c.ask(r, want, now)
		if want > 0 && !r.silent(now) && !r.isDry(now) {
			if r.asked.open {
				c.due(r.asked.sent + keptAfter)
			}
			want = 0
		}
	}
}

// want returns how many searchers have no next chunk: each idle one lacks two. Chunks of silent runs are left out, so that
// other runs are asked.
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

// ask sends a work request to a run if it is due.
func (c *Core) ask(r *run, want int, now time.Duration) {
	if r.asked.open && now >= r.asked.sent+replyAfter {
		r.asked.open = false
	}
	if !c.due(c.askAt(r, want, now)) {
		return
	}
	c.number++
	r.asked = exchange{number: c.number, open: true, sent: now}
	r.want, r.leaving = want, c.leaving()
	request := queens.WorkRequest{Number: c.number, Want: want, Leaving: c.leaving()}
	if !c.leaving() {
		request.Held = c.held(r, now)
	}
	c.commands = append(c.commands, Ask{Run: r.name, Request: request})
	c.due(now + replyAfter)
}

// askAt returns when the next request is due if nothing else happens.
func (c *Core) askAt(r *run, want int, now time.Duration) (at time.Duration) {
	switch {
	case c.leaving():
		return c.leaveNow(r, now)
	case r.asked.open && (want <= r.want || r.silent(now)):
		return r.asked.sent + replyAfter
	case r.silent(now) && c.holds(r):
		at = r.asked.sent + askSilent
	case r.silent(now):
		return forever
	case r.asked.open && r.want > 0: // the answer may come any moment; if not, a new request replaces it
		at = r.asked.sent + keptAfter
	case want > 0:
		at = r.asked.notBefore
		if enough := max(1, len(c.searchers)/4); want < enough && c.idle() == 0 {
			at = max(at, r.asked.sent+keptAfter) // some more searchers will want work soon
		}
	case c.holds(r):
		at = r.asked.sent + refreshAfter
	default:
		return forever
	}
	return max(at, r.quiet)
}

// leaveNow returns when the last request is due: once results have their receipts, and in any case when little time is left.
// A run that was not asked does not know the worker.
func (c *Core) leaveNow(r *run, now time.Duration) time.Duration {
	switch {
	case r.asked.number == 0 || r.left || r.silent(now) || r.asked.open && r.leaving:
		return forever
	case !c.holds(r):
		return now
	}
	return c.leaveAt - leaveAfter + lastResults
}

// held lists what the worker holds of a run: searches that advance, chunks that wait, and counted chunks without a receipt.
func (c *Core) held(r *run, now time.Duration) (held []queens.Held) {
	advances := c.idle() > 0
	for i := range c.searchers {
		s := &c.searchers[i]
		if !s.busy() || s.still >= stalledPolls {
			continue
		}
		advances = true
		if s.run != r || s.stopped {
			continue
		}
		for _, h := range s.chunks {
			held = append(held, queens.Held{Range: h.Range, Ticket: h.Ticket, Searched: max(1, now-s.began)})
		}
	}
	for _, h := range r.waiting {
		if advances {
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

// deliver sends the results of a run that have no receipt, if none are in flight.
func (c *Core) deliver(r *run, now time.Duration) {
	at := max(r.quiet, r.delivered.notBefore)
	switch {
	case r.delivered.open:
		at = r.delivered.sent + replyAfter
	case len(r.results) == 0:
		return
	case r.silent(now):
		at = max(at, r.delivered.sent+askSilent)
	}
	if !c.due(at) {
		return
	}
	r.inFlight = 0
	for size := 0; r.inFlight < len(r.results); r.inFlight++ {
		if size += resultBytes(&r.results[r.inFlight].Result); size > MaxDelivery && r.inFlight > 0 {
			break
		}
	}
	c.number++
	r.delivered = exchange{number: c.number, open: true, sent: now}
	results := make([]queens.Result, r.inFlight)
	for i := range results {
		results[i] = r.results[i].Result
	}
	c.commands = append(c.commands, Deliver{Run: r.name, Number: c.number, Delivery: queens.Delivery{Results: results}})
	c.due(now + replyAfter)
}

// resultBytes is the most that a result takes in a message.
func resultBytes(r *queens.Result) int {
	const fixed, count = 128, 10
	return fixed + len(r.Kernel) + count*len(r.Counts)
}

// Stats returns what the worker has done, and does.
func (c *Core) Stats(now time.Duration) Stats {
	s := Stats{Tasks: c.counted, Busy: len(c.searchers) - c.idle(), Reason: "no run is heard"}
	for _, r := range c.runs {
		s.Waiting += len(r.waiting)
		s.Results += len(r.results)
		if c.holds(r) {
			s.Runs = append(s.Runs, r.name)
		}
		switch {
		case r.refused != "":
			s.Reason = "this machine is refused: " + r.refused
		case !r.silent(now):
			s.Reason = "no work waits"
		}
	}
	if s.Busy > 0 {
		s.Reason = ""
	}
	return s
}
