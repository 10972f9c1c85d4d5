package flight

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// model plays queue, workers, ledger and agreement for a Flight, with every fault that it must survive: messages are
// lost, repeated and late, checks fail and err, workers die, stop on the way or hold a chunk for ever, keys are
// refused, results are lost, repeated, rejected and void, or come after their tasks were counted by others. Nothing
// in it depends on the order of a map: the same seed plays the same life.
type model struct {
	*Flight
	t   *testing.T
	rng *rand.Rand
	now time.Time

	need        int // counts of each task
	counts      []int
	settled     []bool
	wanted      []bool    // Again was called, and the task was neither reported nor settled since
	outstanding []Command // handed out, not answered
	queue       []*message
	held        []*message // by workers that live; the queue has lost some of them
	results     []result   // on the way
	furthers    []uint64   // tasks for which Again is due
	sequence    uint64
	deaths      int
	alone       map[uint64]map[string]bool // known keys that lost a worker while it searched the task alone
	faults      bool
	errs        bool // checks may say that a message is missing that is in the queue
	traced      bool
	trace       uint64 // a hash of all commands and states, if traced
}

type message struct {
	Command
	leased bool // a worker holds it
	away   bool // a worker has taken it, and postponed it for ever
}

type result struct {
	*message
	tasks    int // reported
	recorded int // the first ones, whose counts are right
	refused  bool
}

func newModel(t *testing.T, rng *rand.Rand) *model {
	tasks := 1 + rng.Uint64N(60)
	firsts := []uint64{rng.Uint64N(tasks + 1), rng.Uint64N(tasks + 1)}
	slices.Sort(firsts)
	m := &model{
		Flight: newTest(testManifest(tasks, firsts...)), t: t, rng: rng, now: time.Unix(0, 0), need: 1 + rng.IntN(2),
		counts: make([]int, tasks), settled: make([]bool, tasks), wanted: make([]bool, tasks), alone: make(map[uint64]map[string]bool),
		faults: true, errs: rng.IntN(2) == 0,
	}
	m.guide.results = 1 << 20 // the first chunks need not be small
	return m
}

// Every task gets its counts in the end, whatever happens on the way; then no chunk is left, and no message in the
// queue. At each step what the package comment says holds.
func TestModel(t *testing.T) {
	lives := 50
	if testkit.Full() {
		lives = 500
	}
	for life := range lives {
		seed := testkit.Rand(quiet{t}).Uint64()
		m := newModel(t, rand.New(rand.NewPCG(seed, 0)))
		m.live()
		if t.Failed() {
			t.Fatalf("life %d of seed %d", life, seed)
		}
	}
}

// quiet does not log thousands of seeds.
type quiet struct{ testing.TB }

func (quiet) Logf(string, ...any) {}

// The same events give the same commands and the same states.
func TestSameEventsGiveTheSameCommands(t *testing.T) {
	seed := testkit.Rand(t).Uint64()
	var traces []uint64
	for range 3 {
		m := newModel(t, rand.New(rand.NewPCG(seed, 0)))
		m.traced = true
		m.live()
		traces = append(traces, m.trace)
	}
	if traces[0] != traces[1] || traces[0] != traces[2] {
		t.Errorf("the traces are %x", traces)
	}
}

func (m *model) live() {
	for step := 0; !m.isDone(); step++ {
		if step > 100_000 {
			m.t.Fatalf("not done after %d steps:\n%s", step, m.State(m.now))
		}
		if step == 2000 {
			m.faults = false
			m.deadLettersAreCounted()
		}
		m.step()
		m.check()
		if m.traced {
			m.note(m.State(m.now))
		}
	}
	for range 100 { // the messages that are left are deleted
		m.command()
		m.answer()
		m.Fill(0, m.needed)
		m.check()
	}
	if len(m.chunks) > 0 || m.bytes != 0 || len(m.where) > 0 || !m.AllPublished() || !m.errs && len(m.queue) > 0 {
		m.t.Errorf("in the end the queue has %+v, and the state is\n%s", m.queue, m.State(m.now))
	}
}

func (m *model) needed(task uint64) bool { return m.counts[task] == 0 }

func (m *model) isDone() bool { return !slices.Contains(m.settled, false) }

// note adds a text to the trace.
func (m *model) note(text string) {
	h := fnv.New64a()
	h.Write(fmt.Append(nil, m.trace, text)) // never fails
	m.trace = h.Sum64()
}

// chance reports true in some percent of the cases while there are faults.
func (m *model) chance(percent int) bool { return m.faults && m.rng.IntN(100) < percent }

// take removes a random element.
func take[T any](rng *rand.Rand, list *[]T) (one T, found bool) {
	if len(*list) == 0 {
		return one, false
	}
	i := rng.IntN(len(*list))
	one = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return one, true
}

func (m *model) step() {
	m.now = m.now.Add(time.Duration(m.rng.Int64N(int64(time.Second))))
	switch m.rng.IntN(10) {
	case 0:
		m.Resize(m.rng.IntN(20))
		if m.rng.IntN(4) == 0 {
			m.guide.speed = math.Exp(m.rng.NormFloat64() * 3)
		}
	case 1:
		m.Fill(0, m.needed)
		m.checkPlanned()
	case 2, 3:
		m.command()
	case 4:
		m.answer()
	case 5:
		m.work()
	case 6:
		m.report()
	case 7:
		if r, found := take(m.rng, &m.results); found {
			m.record(r)
			if m.chance(20) { // it comes again
				m.results = append(m.results, r)
			}
		}
	case 8:
		m.sweep()
	case 9:
		m.others()
	}
}

// command takes the next command.
func (m *model) command() {
	cmd, found := m.Next()
	if !found {
		return
	}
	if m.traced {
		m.note(fmt.Sprint(cmd))
	}
	if slices.ContainsFunc(m.outstanding, func(o Command) bool { return o.Chunk == cmd.Chunk }) {
		m.t.Fatalf("chunk %d gets the command %v while another is outstanding", cmd.Chunk, cmd.Op)
	}
	m.outstanding = append(m.outstanding, cmd)
}

// answer executes a command.
func (m *model) answer() {
	cmd, found := take(m.rng, &m.outstanding)
	if !found {
		return
	}
	switch cmd.Op {
	case Publish:
		m.sequence++
		cmd.Sequence = m.sequence
		if !m.chance(10) { // else it is lost
			m.queue = append(m.queue, &message{Command: cmd})
		}
		if m.chance(20) { // its result comes before the queue acknowledges it
			m.work()
			m.report()
			for len(m.results) > 0 {
				r, _ := take(m.rng, &m.results)
				m.record(r)
			}
		}
		m.Published(m.now, cmd.Chunk, cmd.Sequence)
	case Check:
		in := slices.IndexFunc(m.queue, func(q *message) bool { return q.Chunk == cmd.Chunk })
		switch {
		case m.chance(10):
			m.CheckFailed(m.now, cmd.Chunk)
		case m.errs && m.chance(10):
			m.Checked(m.now, cmd.Chunk, m.now, false, false)
		default:
			m.Checked(m.now, cmd.Chunk, m.now, in >= 0, in >= 0 && (m.queue[in].leased || m.queue[in].away))
		}
	case Delete:
		m.unqueue(cmd.Chunk, cmd.Sequence)
		m.Deleted(m.now, cmd.Chunk)
	}
}

// unqueue removes the message of a chunk from the queue.
func (m *model) unqueue(chunk, sequence uint64) {
	m.queue = slices.DeleteFunc(m.queue, func(q *message) bool {
		if q.Chunk == chunk && q.Sequence != sequence {
			m.t.Fatalf("chunk %d is deleted at sequence %d, it is at %d", chunk, sequence, q.Sequence)
		}
		return q.Chunk == chunk
	})
}

// work has a worker take a chunk, or postpone it for ever.
func (m *model) work() {
	if len(m.queue) == 0 {
		return
	}
	one := m.queue[m.rng.IntN(len(m.queue))]
	if one.leased && !m.chance(10) { // else it is delivered twice
		return
	}
	if one.away = one.away || m.chance(5); !one.away {
		one.leased = true
		m.held = append(m.held, one)
	}
}

// report has a worker report the chunk that it holds, or a part of it, and acknowledge the message; or die.
func (m *model) report() {
	one, found := take(m.rng, &m.held)
	if !found {
		return
	}
	if m.chance(25) {
		m.die(one)
		return
	}
	r := result{message: one, tasks: one.Tasks, refused: m.chance(5)}
	if m.chance(20) {
		r.tasks = 1 + m.rng.IntN(one.Tasks)
	}
	r.recorded = r.tasks
	if m.chance(5) {
		r.recorded = m.rng.IntN(r.tasks + 1)
	}
	if !m.chance(10) { // else it is lost
		m.results = append(m.results, r)
	}
	m.unqueue(one.Chunk, one.Sequence)
}

// die loses the worker that holds a chunk, whose lease lapses.
func (m *model) die(one *message) {
	m.deaths++
	l := Loss{Key: fmt.Sprint("key", m.rng.IntN(5)), Worker: fmt.Sprint(m.deaths), Known: m.rng.IntN(4) > 0}
	if l.Known && one.Tasks == 1 {
		if m.alone[one.First] == nil {
			m.alone[one.First] = make(map[string]bool)
		}
		m.alone[one.First][l.Key] = true
	}
	for _, dead := range m.Lost(m.now, one.Chunk, l) {
		m.wanted[dead.Task] = false
		if len(m.alone[dead.Task]) < maxLosses || one.Tasks > 1 {
			m.t.Fatalf("task %d is dead-lettered after the losses of the keys %v", dead.Task, m.alone[dead.Task])
		}
	}
	one.leased = false
}

// record does what the ledger and agreement do with a result.
func (m *model) record(r result) {
	if r.refused {
		r.tasks, r.recorded = 0, 0
	}
	for i := range r.recorded {
		id := r.First + uint64(i)
		m.counts[id]++
		if m.counts[id] >= m.need && m.rng.IntN(2) == 0 { // in this order too
			m.settle(id)
		}
	}
	for id := r.First; id < r.First+uint64(r.tasks); id++ {
		if c := m.where[id]; c != nil && c.id == r.Chunk {
			m.wanted[id] = false
		}
	}
	m.Returned(m.now, r.Chunk, r.First, r.tasks)
	for i := range r.tasks {
		if id := r.First + uint64(i); !m.settled[id] {
			m.judge(id)
		}
	}
}

// judge says what a task needs, as agreement does.
func (m *model) judge(id uint64) {
	switch {
	case m.counts[id] >= m.need:
		m.settle(id)
	case m.counts[id] > 0:
		m.furthers = append(m.furthers, id)
		if m.rng.IntN(2) == 0 {
			m.further()
		}
	}
}

// settle says that a task needs nothing more.
func (m *model) settle(id uint64) {
	m.counts[id], m.settled[id], m.wanted[id] = max(m.counts[id], m.need), true, false
	delete(m.alone, id)
	m.Settled(m.now, id)
}

// further calls Again for the tasks that need a further count.
func (m *model) further() {
	for _, id := range m.furthers {
		if !m.settled[id] && m.counts[id] > 0 {
			m.Again(id, 1)
			m.wanted[id] = !m.losses[id].isDead()
		}
	}
	m.furthers = nil
}

// sweep first records all that the server has.
func (m *model) sweep() {
	held := make(map[uint64]time.Time)
	for _, h := range m.held {
		held[h.Chunk] = m.now
	}
	caughtUp := m.now
	for len(m.results) > 0 {
		r, _ := take(m.rng, &m.results)
		m.record(r)
	}
	m.now = m.now.Add(time.Duration(m.rng.Int64N(int64(m.cfg.CheckAfter))))
	m.Sweep(m.now, held, Workers(m.rng.IntN(3)), caughtUp)
}

// others does what happens seldom.
func (m *model) others() {
	m.further()
	id := m.rng.Uint64N(uint64(len(m.counts)))
	switch what := m.rng.IntN(100); {
	case !m.faults:
	case what < 5 && m.settled[id]: // its counts become void
		m.counts[id], m.settled[id] = 0, false
		m.Reopen(id)
	case what < 10: // another coordinator has counted it
		m.settle(id)
	case what < 15 && !m.settled[id]:
		m.DeadLetter(m.now, id)
		m.wanted[id] = false
	case what < 25:
		if chunk, _, found := m.Oldest(); found {
			m.Withdraw(chunk)
		}
	case what < 35: // the queue loses a message
		take(m.rng, &m.queue)
	case what < 45:
		m.deadLettersAreCounted()
	}
	if !m.faults {
		m.deadLettersAreCounted()
	}
}

// deadLettersAreCounted has the coordinator count the tasks that no worker gets.
func (m *model) deadLettersAreCounted() {
	for _, id := range m.DeadLettered() {
		m.settle(id)
	}
}
