package core

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// world is a simulated system in one goroutine, in which time is a number. It has the real core of
// the coordinator with a real log and fold, and real cores of workers. Messages are lost, doubled,
// late and out of order. Processes are killed, stopped and cut off. Machines lie. After every
// event, the rules of world_checks_test.go are checked. A world is one life of a run.
type world struct {
	setup     setup
	faults    faults
	now       time.Duration
	events    events
	number    uint64 // number of the last event
	header    ledger.Header
	truth     []uint64 // the true count of each task
	total     *big.Int
	disk      []byte // what is on the disk
	writes    uint32 // number of the last write on the disk
	home      string // the machine of the coordinator
	host      *host  // the coordinator, or nil while none runs
	starts    uint64
	procs     []*proc
	spawned   int
	acked     []fact           // counts for which a worker has a receipt
	heard     map[string]heard // for each process, when the coordinator got its last message
	counted   map[uint64]int   // for each task, how often its search ended
	searched  time.Duration    // time of all searches of honest machines
	unchecked bool             // the rules are not checked
	damaged   bool             // the log may have damaged bytes
	doubled   int              // chunks that were handed out twice at the end
	handedOut uint64           // tasks, each as often as it was handed out
	ended     time.Duration    // when the end of the last process was on the disk
	end       *End             // how the run ended
	failure   string           // the first rule that was broken
	trace     func(format string, args ...any)
}

// setup determines a life, except its faults.
type setup struct {
	published  bool
	classes    []uint64 // the number of tasks of each class
	halves     bool     // by the method halves: the tasks of all classes are of one class, of weight 1
	redundancy int
	spot       float64
	secret     ledger.Secret
	alone      bool // the coordinator's machine is the only one
	machines   []machine
	seconds    []float64 // the time of each task on a machine of speed 1
	shares     []float64 // as in Options; nil if all tasks are equal
	poison     map[uint64]bool
	kernels    []string
	dying      map[string]bool // kernels with which the child process of a recount dies
	wrong      string          // the way to recount that is wrong on the first machine, or ""
	hostile    bool            // requests come in the names of other processes
	most       uint64          // bounds the tasks that are held; 0: mostHeld
	roundTrip  time.Duration   // of messages, besides a jitter of up to 30 ms each way
	loss       float64         // part of the messages that are lost
	end        time.Duration   // when faults end
	longest    time.Duration   // how long the life may go on then; 0: longestLife
}

// machine is a computer with worker processes.
type machine struct {
	name      string
	user      string // empty: queens.WorkerUser
	kernel    string
	processes int
	searchers int
	together  bool
	speed     float64
	lies      lie
	offset    uint64        // what the machine adds to a count when it lies
	from      time.Duration // when its processes start
}

// id returns the machine as it is known to the coordinator.
func (m *machine) id() queens.Machine {
	return queens.Machine{User: cmp.Or(m.user, queens.WorkerUser), Name: m.name}
}

// lie is the way in which a machine counts wrong.
type lie byte

const (
	honest   lie = iota
	constant     // each count is wrong
	rare         // one count in five is wrong
	random       // half of the counts are wrong, each in another way
	agreeing     // each count is wrong; all machines with this lie give the same counts
)

// faults decides when something goes wrong.
type faults interface {
	// pick returns a number from 0 to n-1. Each number except 0 has probability p.
	pick(n int, p float64) int
	// between returns a duration from low to just below high.
	between(low, high time.Duration) time.Duration
}

// events is a heap of the events to come, the next one first.
type events []event

type event struct {
	at     time.Duration
	number uint64
	do     func()
}

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// heard says when the coordinator last heard from a process.
type heard struct {
	at   time.Duration
	last order // of the last request
}

// isAfter reports whether a request may come after another one. Numbers of different connections do
// not compare.
func (o order) isAfter(other order) bool {
	return o.connection != other.connection || o.number > other.number
}

// fact is a count for which a worker has a receipt.
type fact struct {
	machine     queens.Machine
	task, count uint64
}

// after adds an event: a call of the function do when the time d has passed.
func (w *world) after(d time.Duration, do func()) {
	w.number++
	heap.Push(&w.events, event{w.now + max(d, 0), w.number, do})
}

// fail notes that a rule was broken.
func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)
	}
}

// faulty returns p while there are faults, and 0 afterwards.
func (w *world) faulty(p float64) float64 {
	if w.now >= w.setup.end {
		return 0
	}
	return p
}

// newWorld begins a life.
func newWorld(s setup, f faults, trace func(string, ...any)) *world {
	n := queens.MaxN
	if s.published {
		n = 20
	}
	w := &world{setup: s, faults: f, trace: trace, heard: map[string]heard{},
		counted: map[uint64]int{}}
	w.header = ledger.Header{
		Format: ledger.Format, Run: "n20-20261120-153012-ab12", Manifest: testManifest(n, s.classes),
		Redundancy: s.redundancy, SpotCheck: s.spot, Secret: s.secret,
	}
	if s.halves {
		w.header.Manifest = halvesManifest(n, w.header.Manifest.Tasks)
	}
	w.truth = make([]uint64, w.header.Manifest.Tasks)
	w.total = new(big.Int)
	for task := range w.truth {
		w.truth[task] = uint64(1000 * (task + 1))
		if s.halves && task%3 == 0 {
			w.truth[task] = 0 // some row sets have no solution
		}
		weight := uint64(w.header.Manifest.Classes[w.header.Manifest.ClassOf(uint64(task))].Weight)
		w.total.Add(w.total, new(big.Int).SetUint64(weight*w.truth[task]))
	}
	var err error
	if w.disk, err = ledger.AppendFrame(nil, 1, &w.header); err != nil {
		panic(err)
	}
	for i := range s.machines {
		for range s.machines[i].processes {
			w.after(s.machines[i].from, func() { w.spawn(&s.machines[i]) })
		}
	}
	w.home = s.machines[0].name
	if s.hostile {
		w.after(0, w.impersonate)
	}
	w.after(0, w.startHost)
	return w
}

// longestLife bounds how long a life goes on after its last fault.
const longestLife = 2 * time.Hour

// live executes events until the run has ended.
func (w *world) live() {
	for w.failure == "" && w.end == nil {
		if len(w.events) == 0 || w.now > w.setup.end+cmp.Or(w.setup.longest, longestLife) {
			w.fail("the run does not end: %s", w.left())
			return
		}
		next := heap.Pop(&w.events).(event)
		w.now = next.at
		next.do()
		if !w.unchecked {
			w.check()
		}
	}
	w.checkEnd()
}

// left says what is left to do.
func (w *world) left() string {
	if w.host == nil {
		return "no coordinator runs"
	}
	c := w.host.core
	text := fmt.Sprintf("%d of %d tasks are done, %d wait, %d await a recount, %d are held",
		c.state.NumberDone(), len(w.truth), c.queue.waits(), len(c.judge.unsettled),
		len(c.queue.holders))
	if len(c.queue.byEnd) > 0 {
		h := c.queue.byEnd[0]
		text += fmt.Sprintf(", such as %v by %s since %v", h.Range, h.holder.Name, h.since)
	}
	return text
}

// send delivers a message to its receiver, perhaps never, twice or late.
func (w *world) send(receive func()) {
	if w.setup.loss > 0 && w.faults.between(0, 1000) < time.Duration(1000*w.setup.loss) {
		return
	}
	way := w.setup.roundTrip/2 + w.faults.between(time.Millisecond, 30*time.Millisecond)
	switch w.faults.pick(4, w.faulty(0.02)) {
	case 0:
		w.after(way, receive)
	case 1:
	case 2:
		w.after(way, receive)
		w.after(w.faults.between(way, 3*time.Second), receive)
	case 3:
		w.after(w.faults.between(way, 30*time.Second), receive)
	}
}

// seeded are faults drawn at random.
type seeded struct{ *rand.Rand }

func (r seeded) pick(n int, p float64) int {
	if x := r.Float64(); x < p*float64(n-1) && p > 0 {
		return 1 + r.IntN(n-1)
	}
	return 0
}

func (r seeded) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
