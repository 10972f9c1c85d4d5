package core

import (
	"cmp"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// run is what a worker knows about a run, and what it holds of the run.
type run struct {
	name     string
	instance uint64
	silentAt time.Duration // when its coordinator is silent unless it is heard before
	quiet    time.Duration // until when nothing is sent to a new instance
	work     bool          // work waits, as announced
	workFrom time.Duration // since when
	refused  string        // why the machine is refused, if it is
	dry      bool          // the last reply had no chunk for this machine
	began    bool          // it had a chunk
	left     bool          // it knows that the worker has left
	// how many messages in a row got no reply, although the coordinator was heard
	unanswered int

	asked     exchange      // work requests
	want      int           // of the last one
	leaving   bool          // the last one says that the worker leaves
	awaited   []asked       // the requests that may still get a reply, in order
	seen      uint64        // number of the newest request that got a reply
	expected  int           // chunks that the last request asked for and that may still come
	roundTrip time.Duration // the mean one; 0 while unknown
	delivered exchange      // deliveries
	inFlight  int           // results of the last one: the first ones

	waiting []queens.Chunk
	results []kept

	served time.Duration // search time of one searcher that the run got
	mean   time.Duration // of its chunks; 0 while unknown
}

// asked is a work request that may still get a reply.
type asked struct {
	number uint64
	sent   time.Duration
	want   int
}

// ends returns a request that has got its reply, or will get none. It returns false if none was
// awaited.
func (r *run) ends(number uint64) (asked, bool) {
	i := slices.IndexFunc(r.awaited, func(a asked) bool { return a.number == number })
	if i < 0 {
		return asked{}, false
	}
	a := r.awaited[i]
	r.awaited = slices.Delete(r.awaited, i, i+1)
	return a, true
}

// measure notes the time from a request to its reply, without the time for which the coordinator
// has kept the request.
//
// References: V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix A.
func (r *run) measure(roundTrip time.Duration) {
	last := min(roundTrip, queens.LongestReply) // more if the process was suspended
	mean := cmp.Or(r.roundTrip, last)
	r.roundTrip = max(mean+(last-mean)/8, 1)
}

// lateAt returns when the reply to the oldest request for chunks, of those after the newest reply,
// is late: it is lost, or the coordinator keeps the request. It returns Never if no such request is
// awaited.
func (r *run) lateAt() time.Duration {
	for _, a := range r.awaited {
		if a.number > r.seen && a.want > 0 {
			return a.sent + queens.ReplyTime(r.roundTrip)
		}
	}
	return Never
}

// exchange is the state of the messages of one kind to a run. Of deliveries, at most one waits for
// its reply.
type exchange struct {
	number    uint64 // of the last one
	open      bool   // it has no reply yet
	sent      time.Duration
	notBefore time.Duration // the next one
}

// ends notes that the message with this number no longer waits for its reply. It returns false if
// it did not wait.
func (e *exchange) ends(number uint64) bool {
	awaited := e.open && e.number == number
	e.open = e.open && !awaited
	return awaited
}

// kept is a result without a receipt.
type kept struct {
	queens.Result
	whole bool // it has all tasks of its chunk: the chunk is held until the receipt
}

func (c *Core) run(name string) *run {
	i := slices.IndexFunc(c.runs, func(r *run) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return c.runs[i]
}

// hear handles an announcement. If its instance is new, messages to the earlier one no longer wait,
// and nothing is sent until the time quiet.
func (r *run) hear(a queens.Announcement, now, quiet time.Duration) {
	if r.instance != a.Instance {
		r.instance, r.quiet = a.Instance, quiet
		r.asked = exchange{number: r.asked.number, sent: r.asked.sent}
		r.awaited, r.expected = nil, 0
		r.delivered = exchange{}
		r.refused, r.left, r.dry, r.work, r.unanswered = "", false, !a.Work, false, 0
	}
	r.silentAt = now + silentAfter
	if r.unanswered > 0 {
		r.silentAt = now + silentBusy
	}
	if a.State == queens.Stopped {
		r.silentAt, r.asked.open, r.delivered.open = now, false, false
		r.awaited, r.expected = nil, 0
	}
	if a.Work && !r.work {
		r.workFrom = now
		if r.refused == "" {
			r.dry, r.asked.notBefore = false, 0
		}
	}
	r.work = a.Work
}

func (r *run) silent(now time.Duration) bool { return now >= r.silentAt }

// holds reports whether the worker holds chunks or results of a run.
func (c *Core) holds(r *run) bool {
	searches := func(s searcher) bool { return s.run == r }
	return len(r.waiting) > 0 || len(r.results) > 0 || slices.ContainsFunc(c.searchers, searches)
}

// everything is all tasks that a run can have.
var everything = queens.Range{Tasks: math.MaxUint64}

// giveUp drops the chunks of a range of tasks whose counts nobody wants, and ends searches that
// have no other chunk. Results that the worker has already still wait for receipts, but are not
// listed any more.
func (c *Core) giveUp(r *run, of queens.Range) {
	for i := range r.results {
		r.results[i].whole = r.results[i].whole && !of.Contains(r.results[i].Range)
	}
	within := func(h queens.Chunk) bool { return of.Contains(h.Range) }
	r.waiting = slices.DeleteFunc(r.waiting, within)
	for i := range c.searchers {
		if s := &c.searchers[i]; s.run == r {
			s.chunks = slices.DeleteFunc(s.chunks, within)
			if len(s.chunks) == 0 {
				c.stop(i)
			}
		}
	}
}

// stopAll ends all searches of a run, and drops its chunks that wait. What the searches have
// counted so far is delivered.
func (c *Core) stopAll(r *run) {
	r.waiting = nil
	for i := range c.searchers {
		if c.searchers[i].run == r {
			c.stop(i)
		}
	}
}

func (c *Core) stop(searcher int) {
	if s := &c.searchers[searcher]; !s.stopped {
		s.stopped = true
		c.commands = append(c.commands, Stop{searcher})
	}
}

// leaveSilent ends the searches of a silent run if another run has had work during the last 15 s of
// the silence. After a day of silence, it forgets the results of the silent run.
func (c *Core) leaveSilent(r *run, now time.Duration) {
	if !c.due(now, r.silentAt) {
		return
	}
	if len(r.results) > 0 && c.due(now, r.silentAt+forgetAfter) {
		c.note(r, true, "the coordinator has been silent for a day: its results are forgotten")
		r.results, r.delivered.open = nil, false
	}
	searched := func(s searcher) bool { return s.run == r && !s.stopped }
	if len(r.waiting) == 0 && !slices.ContainsFunc(c.searchers, searched) {
		return
	}
	for _, other := range c.runs {
		if !other.silent(now) && other.work && !other.isDry(now) &&
			c.due(now, max(other.workFrom, r.silentAt)+giveUpAfter) {
			c.note(r, false, "the coordinator is silent, and run "+other.name+" has work: the searches end")
			c.stopAll(r)
			return
		}
	}
}

// isDry reports whether the run has no work for this machine now: its last reply had none, a reply
// is late, or no request may be sent yet.
func (r *run) isDry(now time.Duration) bool {
	return r.dry || now < max(r.quiet, r.asked.notBefore) || now >= r.lateAt()
}

// turn returns the search time that a run has had, including its present searches. If ahead is
// true, it adds the time that the waiting chunks will take. The run with the least turn is served
// next (Waldspurger and Weihl: Stride scheduling, 1995).
func (c *Core) turn(r *run, now time.Duration, ahead bool) time.Duration {
	turn, mean := r.served, cmp.Or(r.mean, time.Second)
	if ahead {
		turn += time.Duration(len(r.waiting)) * mean
	}
	for i := range c.searchers {
		if s := &c.searchers[i]; s.run == r {
			turn += max(now-s.began, mean)
		}
	}
	return turn
}

// leastServed returns the least turn of the runs other than r that are not silent; 0 if there are
// none.
func (c *Core) leastServed(r *run, now time.Duration) time.Duration {
	_, turn := c.least(now, func(other *run) bool { return other != r && !other.silent(now) })
	return turn
}

// least returns the eligible run with the least turn, and this turn; nil and 0 if no run is
// eligible.
func (c *Core) least(now time.Duration, eligible func(*run) bool) (least *run, turn time.Duration) {
	for _, r := range c.runs {
		if eligible(r) && (least == nil || c.turn(r, now, false) < turn) {
			least, turn = r, c.turn(r, now, false)
		}
	}
	return least, turn
}

// dispatch starts searches on idle searchers.
func (c *Core) dispatch(now time.Duration) {
	for i := range c.searchers {
		if c.searchers[i].run != nil {
			continue
		}
		r, _ := c.least(now, func(r *run) bool { return len(r.waiting) > 0 })
		if r == nil {
			return
		}
		load := c.load(r)
		c.searchers[i] = searcher{run: r, chunks: load, began: now, pulse: ^uint64(0)}
		c.commands = append(c.commands, Search{Searcher: i, Run: r.name, Chunks: slices.Clone(load)})
	}
}

// load takes the chunks of the next search from those that wait: the first one, and for a device
// all others.
func (c *Core) load(r *run) (load []queens.Chunk) {
	n := 1
	if c.together {
		n = len(r.waiting)
	}
	load = slices.Clone(r.waiting[:n])
	r.waiting = slices.Delete(r.waiting, 0, n)
	return load
}
