// Package core decides what the coordinator of a run does: it hands out tasks, records counts, and
// ends the run.
//
// [Core] is a state machine: inputs go in, commands come out. It has no I/O, no goroutine, no clock
// and no random numbers: each input carries the time of the caller's monotonic clock. [Commands]
// says in which order the caller carries them out.
package core

import (
	"fmt"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

const (
	// listenFirst is how long a coordinator that resumes a run listens for another coordinator before
	// it announces or answers anything.
	listenFirst = 3 * time.Second
	// adoptFirst is how long such a coordinator hands nothing out, so that workers can say what they
	// hold.
	adoptFirst = 6 * time.Second
	// announceEvery is the time between two announcements if nothing changes.
	announceEvery = 2 * time.Second
	// announceBusy takes its place while there are more messages than the coordinator can read: an
	// announcement to many workers takes the server more time than their messages. Workers that get no
	// replies take a coordinator for silent after 20 s.
	announceBusy = 10 * time.Second
	// markEvery is the time between two marks, if results came in between.
	markEvery = 5 * time.Second
	// checksAtEnd is the part of the run's time for which spot checks may delay its end.
	checksAtEnd = 0.02
)

// Core makes all decisions about a run. It is not safe for concurrent use. After one input or
// several, the caller takes the commands and executes them. The caller calls Tick about four times
// a second.
type Core struct {
	options Options
	state   *ledger.State
	queue   *queue
	fleet   *fleet
	judge   *judge
	clock   clock
	numbers numbers
	out     Commands
	changed bool      // more tasks may wait, or there is more room: look at the kept requests
	unseen  int       // kept requests to look at: see serveKept
	tell    []*worker // workers with a kept request that must drop something
	// 1 + the number of results when the total was asked for; 0 while no total is awaited
	totalOf uint64
	wait    queens.Wait // for what the run waits; without a reason if it does not
	over    *End        // nil until the end
}

// clock has the times of the core.
type clock struct {
	start   time.Duration
	tick    time.Duration // when the last tick was
	median  float64       // of the speeds, at the last tick: see fleet
	open    time.Duration // from then on it announces and answers
	handOut time.Duration // from then on it hands work out
	// how long coordinators have worked on the run, without the gaps: see longestStep
	wall       time.Duration
	onlyChecks time.Duration       // wall time when nothing but spot checks was left; 0 before
	mark       time.Duration       // when the last mark was recorded
	marked     uint64              // the number of results at the last mark
	announced  time.Duration       // when the last announcement was made
	said       queens.Announcement // the last announcement
	busy       bool                // there were too many messages since then: see Busy
}

// numbers counts results that brought nothing new, refused results or listed chunks, and lost
// holds, since this start.
type numbers struct{ repeated, refused, lost uint64 }

// New returns the core of a run whose ledger has been folded, and records the start.
func New(now time.Duration, state *ledger.State, options Options) *Core {
	c := &Core{options: options, state: state,
		judge: newJudge(state, options.Machine, options.Kernels)}
	c.fleet = newFleet(now, c.accepts)
	c.clock = clock{start: now, open: now, handOut: now, mark: now, announced: now - announceEvery}
	if mark := state.Mark(); mark != nil {
		c.clock.wall = mark.Wall
	}
	if state.Starts() > 0 && !options.Alone {
		c.clock.open, c.clock.handOut = now+listenFirst, now+adoptFirst
	}
	m := &state.Header().Manifest
	ends := make([]uint64, len(m.Classes))
	for class := range ends {
		ends[class] = m.Classes[class].First + m.TasksOf(class)
	}
	c.queue = newQueue(ends)
	c.fill()
	start := ledger.Start{Number: state.Starts() + 1, Instance: options.Instance,
		Version: options.Version, At: c.at(now)}
	c.record(now, &start, nil)
	c.checkMachine(now)
	c.after(now)
	return c
}

// at converts a time of the core to a time of day: it adds the time since the start to the time of
// day of the start.
func (c *Core) at(now time.Duration) time.Time {
	return c.options.At.Add(now - c.clock.start).UTC()
}

// Take returns the commands since the last call.
func (c *Core) Take() Commands {
	out := c.out
	c.out = Commands{}
	return out
}

// advance lets time pass. Every input calls it first. It reports whether the core answers workers:
// it does not while it still listens for another coordinator, nor after the run has stopped.
func (c *Core) advance(now time.Duration) bool {
	c.clock.wall += c.fleet.advance(now)
	return now >= c.clock.open && (c.over == nil || c.over.State.Ended())
}

// after does what has become due after an input.
func (c *Core) after(now time.Duration) {
	c.serveKept(now)
	if c.over == nil {
		c.startRecount(now)
		c.finish(now)
	}
	for _, w := range c.tell {
		if len(w.drops) > 0 {
			c.answer(w, nil)
		}
	}
	c.tell = c.tell[:0]
	c.refresh()
}

// mostServed bounds the kept requests that an input looks at.
const mostServed = 100

// serveKept hands out tasks to workers whose requests are kept, in the order in which these came,
// if more tasks may wait than before. It looks at up to mostServed requests; later inputs look at
// the others.
func (c *Core) serveKept(now time.Duration) {
	if c.over != nil || now < c.clock.handOut {
		return
	}
	if c.changed {
		c.changed, c.unseen = false, c.fleet.wanting.Len()
	}
	if c.queue.waits() == 0 {
		c.unseen = 0
	}
	c.unseen = min(c.unseen, c.fleet.wanting.Len())
	for range min(c.unseen, mostServed) {
		c.unseen--
		w := c.fleet.wanting.Front().Value.(*worker)
		if chunks := c.give(now, w); len(chunks) > 0 {
			c.answer(w, chunks)
		} else {
			c.fleet.wanting.MoveToBack(w.inWanting)
		}
	}
}

// takes reports whether there is room for a process: see fleet.takes.
func (c *Core) takes(p queens.Process) bool {
	isRoom, goes := c.fleet.takes(p)
	if goes != nil {
		for _, h := range c.queue.holdsOf(goes.process) {
			c.release(h, false)
		}
		c.fleet.set(goes, false)
		c.fleet.remove(goes)
	}
	return isRoom || goes != nil
}

// Heard handles a message of a process that is dropped unread. A present worker is not silent then.
func (c *Core) Heard(now time.Duration, from queens.Process) {
	c.advance(now)
	if w := c.fleet.workers[from]; w != nil && w.present {
		c.fleet.hear(now, from, false)
	}
}

// Busy notes that there are more messages than the coordinator can read. Until busyTime later, its
// next announcement comes later, and a worker may say nothing for longer.
func (c *Core) Busy(now time.Duration) {
	c.advance(now)
	c.clock.busy, c.fleet.busy = true, now+busyTime
}

// refresh corrects the sums of the fleet after workers have got or lost chunks.
func (c *Core) refresh() {
	for _, p := range c.queue.touched {
		if w := c.fleet.workers[p]; w != nil {
			w.chunks = len(c.queue.holds[p])
			c.fleet.sum(w)
		}
	}
	c.queue.touched = c.queue.touched[:0]
}

// Connected tells the core whether the coordinator is connected to its server, and how many bytes
// the chunks of a reply may take there. Until the first call, the core assumes a connection, and
// the bytes that its options say.
func (c *Core) Connected(now time.Duration, connected bool, replyBytes int) {
	c.advance(now)
	c.fleet.connect(now, connected)
	c.options.ReplyBytes = replyBytes
	c.after(now)
}

// HeardOther handles an announcement of another coordinator of this run. A coordinator that still
// listens, because it has just resumed the run, leaves the run to the other one. Of two
// coordinators that answer already, the one with fewer results ends. If they have equally many, the
// one with the smaller instance ends.
func (c *Core) HeardOther(now time.Duration, other queens.Announcement) {
	c.advance(now)
	if c.over != nil || other.Instance == c.options.Instance || other.State != queens.Running {
		return
	}
	mine := c.state.Results()
	if now >= c.clock.open &&
		(mine > other.Recorded || mine == other.Recorded && c.options.Instance > other.Instance) {
		return
	}
	c.fail(now, "another coordinator has it, with %d results; this one has %d", other.Recorded, mine)
}

// These bound the workers for which a tick does something, so that the core answers others
// meanwhile. The next ticks go on.
const (
	mostSilent   = 500
	mostAnswered = 5000
)

// Tick lets time pass.
func (c *Core) Tick(now time.Duration) {
	c.advance(now)
	c.clock.tick, c.clock.median = now, c.fleet.median
	clear(c.queue.overdue)
	c.endSilent(now)
	c.fleet.forget(now)
	if c.queue.waits() > 0 {
		c.changed = true
	}
	if c.over == nil && now >= c.clock.handOut {
		c.doubleLast(now)
		c.recountAbandoned(now)
	}
	for _, w := range c.fleet.first(c.fleet.kept, mostAnswered) {
		if now-w.waits < longestKept {
			break
		}
		c.answer(w, nil)
	}
	c.after(now)
	if c.over == nil && now-c.clock.mark >= markEvery && c.state.Results() != c.clock.marked {
		c.mark(now, queens.Running, nil)
	}
	c.noteWait(now)
	c.announce(now)
}

// endSilent ends the holds of workers that are silent for too long: they take no part any more.
func (c *Core) endSilent(now time.Duration) {
	for range mostSilent {
		w := c.fleet.silent(now)
		if w == nil {
			return
		}
		for _, h := range c.queue.holdsOf(w.process) {
			c.release(h, true)
		}
		c.fleet.set(w, false)
	}
}

// announce commands an announcement if it says something new, or the last one was 2 s ago; 10 s if
// there are too many messages.
func (c *Core) announce(now time.Duration) {
	news, said := c.Announcement(), c.clock.said
	every := announceEvery
	if c.clock.busy {
		every = announceBusy
	}
	due := now-c.clock.announced >= every || news.State != said.State || news.Work != said.Work
	if now >= c.clock.open && due {
		c.clock.announced, c.clock.said, c.out.Announce = now, news, true
		c.clock.busy = false
	}
}

// Announcement returns the announcement that describes the run now.
func (c *Core) Announcement() queens.Announcement {
	a := queens.Announcement{
		Run: c.state.Header().Run, Instance: c.options.Instance, State: queens.Running,
		Recorded: c.state.Results(),
		Work:     c.over == nil && c.queue.waits() > 0,
	}
	if c.over != nil {
		a.State = c.over.State
	}
	return a
}

// allDone reports whether every task is done.
func (c *Core) allDone() bool { return c.state.NumberDone() == c.state.Header().Manifest.Tasks }

// line adds a line to the log.
func (c *Core) line(warn bool, format string, args ...any) {
	c.out.Log = append(c.out.Log, Line{Warn: warn, Text: fmt.Sprintf(format, args...)})
}
