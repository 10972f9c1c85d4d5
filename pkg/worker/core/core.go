// Package core decides what a worker does: which runs it asks for work, what its searchers search,
// which results it delivers and what it gives up.
//
// [Core] is a state machine: inputs go in, commands come out. It has no I/O, no goroutine, no clock
// and no random numbers. The stories in testdata say what it does.
package core

import (
	"cmp"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// The times of the protocol, and those between a worker's messages.
const (
	silentAfter = 7 * time.Second // a coordinator that was not heard for so long is silent
	// so is a busy one, which is heard but sends no replies, and announces itself less often
	silentBusy = 20 * time.Second
	spread     = 2 * time.Second // a new instance is answered after 0 to 2 s
	// between requests that want or get nothing, and after a failed message
	refreshAfter = time.Second
	// a request for few chunks waits for so long, because more searchers will want chunks soon
	batchAfter = 250 * time.Millisecond
	askSilent  = 5 * time.Second  // between messages to a silent coordinator
	askRefused = 10 * time.Second // between requests of a worker that is refused
	// a message waits for so much longer after each one without a reply but the first, up to mostLater
	repeatLater = 4 * time.Second
	mostLater   = 20 * time.Second
	// after so long, searches of a silent run end for a run that has work
	giveUpAfter = 15 * time.Second
	forgetEmpty = 30 * time.Second // a silent run of which the worker holds nothing is forgotten then
	forgetAfter = 24 * time.Hour   // results of a run that is silent for so long are forgotten
	leaveAfter  = 2 * time.Second  // a worker that leaves ends within this time
	// it waits for receipts for so long before it says that it leaves
	lastResults = leaveAfter * 3 / 4
)

// mostRuns bounds the runs that are known at a time, because a stranger can announce any number of
// them.
const mostRuns = 256

// deliveryBytes bounds the results of a delivery. The names and numbers around them take less than
// 1 KiB more.
const deliveryBytes = 64 << 10

// A search that has not advanced for stalledPolls polls, one a second, is no longer held: see
// [Core.Pulsed].
const stalledPolls = 5

// Never is the time of what is not due at any time.
const Never = time.Duration(math.MaxInt64)

// Core makes all decisions of a worker. It is not safe for concurrent use. Each input has the time,
// which never goes back; after an input, [Core.Commands] returns what to do, and [Core.Next] when
// to call [Core.Tick] if no other input comes before.
type Core struct {
	runs      []*run
	searchers []searcher
	together  bool          // a searcher is a device: it searches several chunks as one load
	number    uint64        // of the last message
	leaveAt   time.Duration // the worker ends then; Never if it does not leave
	idleSince time.Duration
	next      time.Duration
	commands  []Command
	counted   uint64 // tasks
}

// Command is what a [Core] wants to be done: [Ask], [Deliver], [Search], [Stop] or [Note].
type Command any

// Ask sends a work request, to which the sender adds version, kernel, threads and searchers. The
// reply, or nil without one, goes to [Core.Replied] with the number of the request.
type Ask struct {
	Run     string
	Request queens.WorkRequest
}

// Deliver sends results. The reply, or nil without one, goes to [Core.Receipted] with Number.
type Deliver struct {
	Run      string
	Number   uint64
	Delivery queens.Delivery
}

// Search starts a search on an idle searcher. The chunks are of one run; only a device gets
// several. When the search has ended, [Core.Searched] is called.
type Search struct {
	Searcher int
	Run      string
	Chunks   []queens.Chunk
}

// Stop stops the search of a searcher. Then [Core.Searched] is called, with what was counted.
type Stop struct{ Searcher int }

// Note is a line for the log.
type Note struct {
	Run  string
	Warn bool
	Text string
}

// Stats says what a worker has done, and what it does now.
type Stats struct {
	Tasks   uint64   // counted
	Busy    int      // searchers that search
	Waiting int      // chunks that wait for a searcher
	Results int      // results without a receipt
	Runs    []string // for which the worker holds chunks or results
	// Reason says for what a worker waits that searches nothing, and Why says why; empty if it
	// searches.
	Reason queens.Reason
	Why    string
}

type searcher struct {
	run     *run           // nil while the searcher is idle
	chunks  []queens.Chunk // without those whose counts nobody wants
	began   time.Duration
	stopped bool
	pulse   uint64 // at the last poll
	still   int    // polls since the pulse has changed
}

// New returns the core of a worker that has heard of no run. Each searcher searches one load at a
// time. It is a thread or, if together is true, a device, which searches several chunks together.
func New(searchers int, together bool) *Core {
	return &Core{searchers: make([]searcher, searchers), together: together, leaveAt: Never,
		next: Never}
}

// Announced handles an announcement. A new instance gets its first message after random times 2 s;
// random is at least 0 and less than 1.
func (c *Core) Announced(now time.Duration, a queens.Announcement, random float64) {
	r := c.run(a.Run)
	switch {
	case a.State.Ended() && r != nil:
		c.giveUp(r, everything)
		c.runs = slices.DeleteFunc(c.runs, func(other *run) bool { return other == r })
	case r == nil && a.State == queens.Running && len(c.runs) < mostRuns:
		// as if it had got as much search time as that run
		r = &run{name: a.Run, served: c.leastServed(nil, now)}
		c.runs = append(c.runs, r)
		fallthrough
	case r != nil:
		r.hear(a, now, now+time.Duration(random*float64(spread)))
	}
	c.step(now)
}

// Replaced reports whether a newer request to a run has got a reply. Then the coordinator may have
// dropped the one with this number.
func (c *Core) Replaced(name string, number uint64) bool {
	r := c.run(name)
	return r != nil && r.seen > number
}

// Replied takes the reply to a work request; nil says that there will be none.
func (c *Core) Replied(now time.Duration, name string, number uint64, reply *queens.WorkReply) {
	if r := c.run(name); r != nil {
		if asked, ok := r.ends(number); ok {
			c.replied(now, r, asked, reply)
		}
	}
	c.step(now)
}

// replied takes the reply to a request, or nil. Of an older reply than the newest one, it takes
// only the chunks.
func (c *Core) replied(now time.Duration, r *run, to asked, reply *queens.WorkReply) {
	isLast := to.number == r.asked.number
	fails := reply == nil && isLast && r.asked.open // else the wait for the reply has ended before
	if isLast {
		r.asked.open, r.expected = false, 0
		r.left = r.leaving // with or without a reply: a worker says it once
	}
	if fails {
		r.asked.notBefore = now + refreshAfter
		r.unanswered = max(1, r.unanswered)
		if r.silent(now) {
			r.unanswered = 0
		}
	}
	if reply == nil {
		return
	}
	r.unanswered = 0
	r.silentAt = now + silentAfter
	if to.number > r.seen {
		r.seen, r.instance = to.number, reply.Instance
		r.measure(now - to.sent - reply.Kept)
		if reply.Refused != "" {
			c.refused(r, reply.Refused, now)
			return
		}
		r.refused = ""
		for _, drop := range reply.Drop {
			c.giveUp(r, drop)
		}
	}
	c.accepted(r, reply.Chunks, now)
	if isLast && r.want > 0 {
		r.dry, r.asked.notBefore = len(reply.Chunks) == 0, now
		if r.dry && len(reply.Drop) == 0 {
			r.asked.notBefore = r.asked.sent + refreshAfter
		}
	}
}

// refused gives up all chunks and results of a run that accepts nothing from this machine. The
// worker asks the run again after 10 s.
func (c *Core) refused(r *run, why string, now time.Duration) {
	if r.refused != why {
		c.note(r, true, "the coordinator accepts nothing from this machine: "+why)
	}
	r.refused, r.dry, r.asked.notBefore = why, true, now+askRefused
	c.giveUp(r, everything)
	r.results, r.delivered.open = nil, false
}

// accepted takes the chunks that a run hands out.
func (c *Core) accepted(r *run, chunks []queens.Chunk, now time.Duration) {
	if len(chunks) == 0 || c.leaving() || r.refused != "" {
		return
	}
	if !r.began {
		c.note(r, false, "the first chunk has come")
	}
	if r.dry && !c.holds(r) { // the run does not catch up with what others got meanwhile
		r.served = max(r.served, c.leastServed(r, now))
	}
	held := c.held(r, now)
	for _, chunk := range chunks {
		if !slices.ContainsFunc(held, func(h queens.Held) bool { return h.Range == chunk.Range }) {
			r.waiting = append(r.waiting, chunk)
		}
	}
	r.began, r.dry, r.expected = true, false, max(0, r.expected-len(chunks))
}

// Receipted takes the reply to a delivery; nil says that there will be none.
func (c *Core) Receipted(
	now time.Duration, name string, number uint64, reply *queens.DeliveryReply,
) {
	if r := c.run(name); r != nil && r.delivered.ends(number) {
		if reply == nil || len(reply.Receipts) != r.inFlight {
			r.delivered.notBefore = now + refreshAfter
		} else {
			for i, receipt := range reply.Receipts {
				if !receipt.Recorded && receipt.Refused != queens.RunHasEnded {
					c.note(r, true, "the coordinator refuses the result of "+r.results[i].Counted.String()+": "+
						receipt.Refused)
				}
			}
			r.results, r.silentAt = slices.Delete(r.results, 0, r.inFlight), now+silentAfter
			r.unanswered = 0
		}
	}
	c.step(now)
}

// Searched handles the end of a search. The results are those of all its chunks, unless the search
// was stopped or has failed.
func (c *Core) Searched(now time.Duration, of int, results []queens.Result) {
	s := &c.searchers[of]
	r, took := s.run, now-s.began
	for _, result := range results {
		c.counted += result.Counted.Tasks
		if slices.ContainsFunc(s.chunks, func(h queens.Chunk) bool { return h.Range == result.Range }) {
			r.results = append(r.results, kept{result, result.Counted == result.Range})
		}
	}
	r.served += took
	if !s.stopped {
		took /= time.Duration(len(s.chunks))
		mean := cmp.Or(r.mean, took)
		r.mean = max(mean+(took-mean)/8, 1)
	}
	*s = searcher{}
	c.idleSince = now
	c.step(now)
}

// Pulsed takes the pulses of all searchers, numbers that change while their searches advance. They
// are polled about every second. A search whose pulse has not changed for 5 polls is no longer
// held: another worker gets its chunks.
func (c *Core) Pulsed(now time.Duration, pulses []uint64) {
	for i := range c.searchers {
		s := &c.searchers[i]
		if s.pulse != pulses[i] {
			s.pulse, s.still = pulses[i], 0
			continue
		}
		s.still++
		if s.still == stalledPolls && len(s.chunks) > 0 {
			c.note(s.run, true, "the search of "+s.chunks[0].String()+
				" does not advance: another worker gets it")
		}
	}
	c.step(now)
}

// Tick does what is due by time alone.
func (c *Core) Tick(now time.Duration) { c.step(now) }

// Leave ends all searches, delivers what was counted and gives the rest back: within 2 s
// [Core.Left] reports that the worker may end.
func (c *Core) Leave(now time.Duration) {
	if !c.leaving() {
		c.leaveAt = now + leaveAfter
		for _, r := range c.runs {
			c.stopAll(r)
		}
	}
	c.step(now)
}

// Left reports whether a worker that leaves has nothing more to do, or no time left.
func (c *Core) Left(now time.Duration) bool {
	return c.leaving() && (now >= c.leaveAt || c.idle() == len(c.searchers) &&
		!slices.ContainsFunc(c.runs, func(r *run) bool {
			return r.asked.number > 0 && !r.left && !r.silent(now)
		}))
}

// Commands returns the commands since the last call, in order.
func (c *Core) Commands() []Command {
	commands := c.commands
	c.commands = nil
	return commands
}

// Next returns when Tick is due at the latest.
func (c *Core) Next() time.Duration { return c.next }

// Idle returns how long ago the last search ended, or 0 while the worker holds a chunk, or a result
// for a coordinator that is not silent.
func (c *Core) Idle(now time.Duration) time.Duration {
	waits := func(r *run) bool { return len(r.waiting) > 0 || len(r.results) > 0 && !r.silent(now) }
	if c.idle() < len(c.searchers) || slices.ContainsFunc(c.runs, waits) {
		return 0
	}
	return now - c.idleSince
}

// step does all that is due. Every input calls it last.
func (c *Core) step(now time.Duration) {
	c.next = Never
	for _, r := range c.runs {
		c.leaveSilent(r, now)
	}
	c.dispatch(now)
	for _, r := range c.runs {
		c.deliver(r, now)
	}
	c.askAll(now)
	c.runs = slices.DeleteFunc(c.runs, func(r *run) bool {
		return !c.holds(r) && !r.asked.open && c.due(now, r.silentAt+forgetEmpty)
	})
	c.due(now, c.leaveAt)
}

// due reports whether a time has come. If not, it makes sure that Tick will be called at that time.
func (c *Core) due(now, at time.Duration) bool {
	if at > now {
		c.next = min(c.next, at)
	}
	return at <= now
}

// idle returns how many searchers search nothing.
func (c *Core) idle() (searchers int) {
	for i := range c.searchers {
		if c.searchers[i].run == nil {
			searchers++
		}
	}
	return searchers
}

func (c *Core) leaving() bool { return c.leaveAt < Never }

func (c *Core) note(r *run, warn bool, text string) {
	c.commands = append(c.commands, Note{r.name, warn, text})
}
