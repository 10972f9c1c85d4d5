// The small worlds explore everything that can happen to the state machines of a coordinator in a small run: each
// order of events, with lost and repeated messages, a worker that lies, and a coordinator that dies.

package flight_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/coordinator/memledger"
	"nqueens/pkg/queens"
)

const (
	tasks = 3
	// step is how much time passes at once. Chunks expire after republishAfter.
	step           = 15 * time.Second
	republishAfter = 2 * step
	patience       = 20 * time.Second
	// maxOutstanding is the number of commands of flight that are executed at once.
	maxOutstanding = 2
)

// rules are those of a small run.
type rules struct {
	name       string
	redundancy int
	share      float64 // of spot checks
	referee    bool    // the coordinator settles disputes
	checks     bool    // the coordinator makes spot checks
	liar       bool    // worker b may lie
	stranger   bool    // worker b is not admitted
	chunk      int     // tasks of a chunk
	prompt     bool    // the coordinator learns at once what became of its commands
	faults     int     // messages that are lost or repeated, workers that are lost, and counts of the coordinator that fail
	deaths     int     // of the coordinator
}

// world is a run at a moment.
type world struct {
	rules
	now    time.Time
	f      *flight.Flight
	a      *agreement.Agreement
	l      *memledger.Ledger
	chunks uint64 // ids given
	queue  []message
	stream []report // of results that the coordinator has not read
	own    []agreement.Command
	// outstanding are commands of flight that are executed, and whose outcomes the coordinator does not know.
	outstanding []outcome
	workers     []worker
	unread      int // results that a new coordinator reads before it publishes
	trace       []event
	wrong       string // what must not be
}

// message is a chunk in the queue.
type message struct {
	flight.Command
	taken bool
}

// outcome is a command, and what the queue answered.
type outcome struct {
	flight.Command
	asOf          time.Time
	queued, taken bool
}

// worker is a key with one thread.
type worker struct {
	key                       string
	admitted, liar, connected bool
	holds                     *flight.Command
}

// report is what a worker reports of a chunk: the first tasks.
type report struct {
	chunk, first uint64
	counts       []uint64
	worker       int
}

func right(task uint64) uint64 { return 100 + task }

// newWorld returns a run in which a coordinator has just started, and two workers are connected. The third connects
// when the faults end.
func newWorld(r *rules) *world {
	w := &world{rules: *r, now: time.Unix(0, 0), l: memledger.New(tasks, r.redundancy)}
	w.workers = []worker{
		{key: "a", admitted: true, connected: true},
		{key: "b", admitted: !r.stranger, liar: r.liar, connected: true},
		{key: "c", admitted: true},
	}
	w.start()
	w.settle()
	return w
}

// start starts a coordinator with what the ledger has.
func (w *world) start() {
	m := &queens.Manifest{Tasks: tasks, Classes: []queens.ClassPlan{{Batch: 1}}}
	w.f = flight.New(flight.Config{Manifest: m, Parts: []float64{0.01}, CheckAfter: step, RepublishAfter: republishAfter, NewID: func() uint64 {
		w.chunks++
		return w.chunks
	}})
	for range 16 * w.chunk {
		w.f.Observe(w.now, 0, time.Millisecond)
	}
	c := agreement.Config{Manifest: m, Redundancy: w.redundancy, Share: w.share, Referee: w.referee, Patience: patience}
	if w.checks {
		c.CheckThreads, c.EndThreads = 1, 1
	}
	w.a = agreement.New(c)
	w.outstanding, w.own, w.unread = nil, nil, len(w.stream)
	for id := range uint64(tasks) {
		w.a.Load(id, w.l.Standing(id), false)
	}
	for id := range uint64(tasks) {
		if d := w.l.Dispute(id); d != nil {
			w.a.LoadDispute(w.now, id, w.l.Standing(id), d)
		}
	}
	for id := range uint64(tasks) {
		if w.l.Standing(id).Counted && w.a.State(id) == agreement.Open {
			w.a.LoadLacking(w.now, id, w.l.Supporters(id))
		}
	}
	w.carryOut()
	w.connect()
}

// settle does what the event loop does after each event: it plans chunks and hands out commands. The queue executes
// them at once.
func (w *world) settle() {
	w.carryOut()
	if w.unread == 0 {
		for w.f.Fill(w.a.Beside(), func(id uint64) bool { return w.a.State(id) == agreement.Open }) {
		}
	}
	for len(w.outstanding) < maxOutstanding {
		c, ok := w.f.Next()
		if !ok {
			return
		}
		w.execute(c)
		if w.prompt {
			w.learn(0)
		}
	}
}

// execute has the queue execute a command.
func (w *world) execute(c flight.Command) {
	for _, o := range w.outstanding {
		if o.Chunk == c.Chunk {
			w.fail("two commands of chunk %d are outstanding", c.Chunk)
		}
	}
	o := outcome{Command: c, asOf: w.now}
	at := w.find(c.Chunk)
	switch c.Op {
	case flight.Publish:
		w.queue = append(w.queue, message{Command: c})
	case flight.Check:
		o.queued = at >= 0
		o.taken = o.queued && w.queue[at].taken
	case flight.Delete:
		if at >= 0 {
			w.queue = slices.Delete(w.queue, at, at+1)
		}
	}
	w.outstanding = append(w.outstanding, o)
}

// find returns the index of a chunk in the queue, or -1.
func (w *world) find(chunk uint64) int {
	return slices.IndexFunc(w.queue, func(m message) bool { return m.Chunk == chunk })
}

// carryOut carries out the commands of the agreement, as the coordinator does.
func (w *world) carryOut() {
	for commands := w.a.Commands(); len(commands) > 0; commands = w.a.Commands() {
		for _, o := range commands {
			w.carryOutOne(&o)
		}
	}
}

func (w *world) carryOutOne(o *agreement.Command) {
	switch o.Op {
	case agreement.Settle:
		w.f.Settled(w.now, o.Task)
	case agreement.Reopen:
		w.f.Reopen(o.Task)
	case agreement.Again:
		w.f.Again(o.Task, 1)
	case agreement.Referee, agreement.Check:
		w.own = append(w.own, *o)
	case agreement.Look:
		w.a.Seen(o.Task, w.l.Supporters(o.Task))
	case agreement.Quarantine:
		if o.Vote.Count == right(o.Task) {
			w.fail("the honest %s is quarantined", o.Vote.Key)
		}
		w.l.Quarantine(o.Vote.Key)
		for i := range w.workers {
			if h := w.workers[i].holds; h != nil && w.refuses(i) {
				w.f.Withdraw(h.Chunk)
			}
		}
		w.connect()
	case agreement.Opened, agreement.Outvoted, agreement.Closed:
	}
}

// refuses reports whether nothing is accepted from a worker.
func (w *world) refuses(i int) bool {
	return w.l.IsQuarantined(w.workers[i].key) || w.redundancy > 1 && !w.workers[i].admitted
}

// connect tells the agreement who is connected.
func (w *world) connect() {
	var voters []string
	for i := range w.workers {
		if v := &w.workers[i]; v.connected && v.admitted && !w.refuses(i) {
			voters = append(voters, v.key)
		}
	}
	w.a.Connected(w.now, voters)
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// String describes everything that what follows depends on.
func (w *world) String() string {
	var b strings.Builder
	b.WriteString(w.f.State(w.now))
	w.describeAgreement(&b)
	for id := range uint64(tasks) {
		fmt.Fprintf(&b, "%s ", w.a.State(id))
	}
	b.WriteString(w.l.String())
	for _, o := range w.outstanding {
		fmt.Fprintf(&b, "outstanding %v %d since %v, %v %v\n", o.Op, o.Chunk, w.now.Sub(o.asOf), o.queued, o.taken)
	}
	for _, m := range w.queue {
		fmt.Fprintf(&b, "queue %d, %d from %d, taken %v\n", m.Chunk, m.Tasks, m.First, m.taken)
	}
	for _, r := range w.stream {
		fmt.Fprintf(&b, "stream %d, %v from %d by %d\n", r.chunk, r.counts, r.first, r.worker)
	}
	for _, o := range w.own {
		fmt.Fprintf(&b, "own %d of %d %v\n", o.Op, o.Task, o.Unlimited)
	}
	for _, v := range w.workers {
		if v.holds != nil {
			fmt.Fprintf(&b, "%s holds %d\n", v.key, v.holds.Chunk)
		}
	}
	fmt.Fprintf(&b, "unread %d, %d faults, %d deaths\n", w.unread, w.faults, w.deaths)
	return b.String()
}

// describeAgreement describes what decides what the agreement does next, but the states of the tasks. Times are
// relative to now, so that states that differ only in the time are one.
func (w *world) describeAgreement(b *strings.Builder) {
	v := reflect.ValueOf(w.a).Elem()
	checks, disputes, all := v.FieldByName("checks"), v.FieldByName("disputes"), v.FieldByName("tasks")
	fmt.Fprintf(b, "checks due %v, missed %v, in vain %v, running %d; disputes %v, voters %v, slow %v, withdrawn %v, own", checks.FieldByName("due").FieldByName("count"),
		checks.FieldByName("missed"), checks.FieldByName("vain").FieldByName("count"), checks.FieldByName("running").Len(),
		disputes.FieldByName("count"), v.FieldByName("voters"), disputes.FieldByName("slow"), v.FieldByName("withdrawn"))
	w.describeTime(b, checks.FieldByName("ownAt"))
	w.describeTime(b, checks.FieldByName("leftAt"))
	for id := range uint64(tasks) {
		t := all.MapIndex(reflect.ValueOf(id))
		if !t.IsValid() {
			continue
		}
		t = t.Elem()
		fmt.Fprintf(b, "\ntask %d %v, voters %v, in vain %v, failed %v, disputed %v", id, t.FieldByName("state"), t.FieldByName("voters"), t.FieldByName("vain"),
			disputes.FieldByName("failures").MapIndex(reflect.ValueOf(id)), !t.FieldByName("dispute").IsNil())
		if at := timeOf(t.FieldByName("notBefore")); at.After(w.now) {
			fmt.Fprintf(b, ", not for %v", at.Sub(w.now))
		}
		w.describeTime(b, t.FieldByName("askedAt"))
	}
	b.WriteByte('\n')
}

func (w *world) describeTime(b *strings.Builder, field reflect.Value) {
	if at := timeOf(field); !at.IsZero() {
		fmt.Fprintf(b, " since %v", w.now.Sub(at))
	}
}

func timeOf(field reflect.Value) time.Time { return *(*time.Time)(field.Addr().UnsafePointer()) }
