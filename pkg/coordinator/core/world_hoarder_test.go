package core

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// hoarder takes work and does not do it, to stop the run or to delay it. It acts once a second.
type hoarder struct {
	w      *world
	on     queens.Machine
	does   conduct
	names  []queens.Process
	number uint64
	held   map[queens.Process][]held
}

// held is a chunk that a hoarder has got.
type held struct {
	queens.Range
	at        time.Duration
	delivered bool
}

// conduct is what a hoarder does.
type conduct string

const (
	listsAll       conduct = "lists all that it gets"
	claimsBegun    conduct = "says that each search has just begun"
	claimsAlmost   conduct = "says that it has searched since it got the chunk"
	deliversHalf   conduct = "delivers every second chunk"
	deliversLate   conduct = "delivers after a minute"
	keepsLast      conduct = "delivers all but the highest tasks"
	inventsNames   conduct = "has a new process every five seconds"
	inventsOwners  conduct = "has a new machine every five seconds"
	listsAndDrops  conduct = "lists and drops in turn"
	sharesTickets  conduct = "lists each chunk under many names"
	asksAndForgets conduct = "asks and lists nothing"
	claimsFar      conduct = "delivers every second chunk, says that it is far away, and sees no reply"
)

var conducts = []conduct{
	listsAll, claimsBegun, claimsAlmost, deliversHalf, deliversLate, keepsLast, inventsNames,
	inventsOwners, listsAndDrops, sharesTickets, asksAndForgets, claimsFar,
}

// hoard starts a hoarder on a machine.
func (w *world) hoard(on queens.Machine, does conduct) {
	h := &hoarder{w: w, on: on, does: does, held: map[queens.Process][]held{}}
	h.invent()
	w.after(0, h.act)
}

// invent adds a name.
func (h *hoarder) invent() {
	i := len(h.names)
	name := queens.Process{Machine: h.on, Name: fmt.Sprint("hoarder", i)}
	if h.does == inventsOwners {
		name.Machine.Name = fmt.Sprint(h.on.Name, i)
	}
	h.names = append(h.names, name)
}

// act sends what the hoarder sends once a second.
func (h *hoarder) act() {
	w := h.w
	w.after(time.Second, h.act)
	seconds := int(w.now / time.Second)
	if (h.does == inventsNames || h.does == inventsOwners) && seconds%5 == 4 {
		h.invent()
	}
	if h.does == sharesTickets && len(h.names) < 20 {
		h.invent()
	}
	for _, name := range h.names {
		h.deliver(name)
		h.ask(name)
	}
}

// ask sends a work request that wants all there is.
func (h *hoarder) ask(name queens.Process) {
	w := h.w
	h.number++
	request := Request{From: name, Origin: h}
	request.Number, request.Version, request.Kernel = h.number, "v", "avx2"
	request.Want, request.Threads, request.Searchers = 1000, 1000, 1000
	switch {
	case h.does == asksAndForgets, h.does == listsAndDrops && h.number%2 == 0:
	case h.does == claimsFar:
		request.RoundTrip = time.Hour
	case h.does == sharesTickets:
		request.Held = h.list(h.names[0])
	default:
		request.Held = h.list(name)
	}
	w.send(func() {
		w.host.receive(name, order{0, request.Number}, func() {
			again := request
			w.host.core.WorkRequested(w.now, &again)
		})
	})
}

// list returns the chunks of a name, as a request lists them.
func (h *hoarder) list(name queens.Process) (list []queens.Held) {
	for _, chunk := range h.held[name] {
		if chunk.delivered {
			continue
		}
		listed := queens.Held{Range: chunk.Range, Ticket: ticket(name.Machine, chunk.Range)}
		switch h.does {
		case claimsBegun:
			listed.Searched = time.Millisecond
		case claimsAlmost:
			listed.Searched = max(1, h.w.now-chunk.at)
		}
		list = append(list, listed)
	}
	return list
}

// deliver sends the results that the hoarder delivers now. Their counts are right.
func (h *hoarder) deliver(name queens.Process) {
	w := h.w
	var results []queens.Result
	for i := range h.held[name] {
		chunk := &h.held[name][i]
		if chunk.delivered || !h.delivers(i, chunk) {
			continue
		}
		chunk.delivered = true
		r := queens.Result{
			Range: chunk.Range, Counted: chunk.Range, Kernel: "avx2", Searched: time.Second,
			Ticket: ticket(name.Machine, chunk.Range),
		}
		for task := chunk.First; task < chunk.End(); task++ {
			r.Counts = append(r.Counts, w.truth[task])
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return
	}
	d := &Delivery{From: name, Origin: delivered{by: h, results: results}}
	for _, r := range results {
		d.Results = append(d.Results, CheckedResult{Result: r})
	}
	w.send(func() {
		w.host.receive(name, order{}, func() { again := *d; w.host.core.Delivered(w.now, &again) })
	})
}

// delivers reports whether the hoarder delivers a chunk now, its i-th one.
func (h *hoarder) delivers(i int, chunk *held) bool {
	switch h.does {
	case deliversHalf, claimsFar:
		return i%2 == 0
	case deliversLate:
		return h.w.now-chunk.at > time.Minute
	case keepsLast:
		return chunk.End() < h.w.header.Manifest.Tasks*9/10
	}
	return false
}

func (h *hoarder) replied(to queens.Process, reply *queens.WorkReply) {
	for _, chunk := range reply.Chunks {
		h.held[to] = append(h.held[to], held{Range: chunk.Range, at: h.w.now})
	}
}

func (h *hoarder) receipted(uint64, *queens.DeliveryReply) {}

// Whatever a hoarder does, the run ends, and takes at most twice as long as with the honest workers
// alone, and two minutes and a half. That holds even if there is room for few tasks, and the
// hoarder takes all that its user may hold.
func TestHoarders(t *testing.T) {
	for _, of := range []struct {
		seconds float64
		most    uint64
	}{{2, mostHeld}, {40, mostHeld}, {2, 60}} {
		for _, redundancy := range []int{1, 2} {
			alone := honestRun(t, of.most, of.seconds, redundancy, "")
			for _, does := range conducts {
				w := honestRun(t, of.most, of.seconds, redundancy, does)
				t.Logf("room for %d tasks of %vs, redundancy %d, a hoarder that %s: %v instead of %v", of.most,
					of.seconds, redundancy, does, w.ended.Round(time.Second), alone.ended.Round(time.Second))
				if w.ended > 2*alone.ended+150*time.Second {
					t.Errorf("room for %d tasks of %vs, redundancy %d, a hoarder that %s: the run takes %v, and "+
						"%v without it", of.most, of.seconds, redundancy, does, w.ended, alone.ended)
				}
			}
		}
	}
}

// honestRun simulates a run of two minutes by three honest machines, which start one second after
// the hoarder, if there is one.
func honestRun(
	t *testing.T, most uint64, seconds float64, redundancy int, does conduct,
) *world {
	s := setup{redundancy: redundancy, kernels: []string{generic}, longest: 10 * time.Minute,
		most: most}
	for i := range 3 {
		s.machines = append(s.machines, machine{
			name: fmt.Sprint("m", i), kernel: "avx2", processes: 1, searchers: 2, speed: 1,
			from: time.Second,
		})
	}
	tasks := uint64(6 * 120 / seconds / float64(redundancy))
	s.classes = []uint64{tasks - tasks/5, tasks / 5}
	for range tasks {
		s.seconds = append(s.seconds, seconds)
	}
	w := newWorld(s, quiet{}, func(string, ...any) {})
	w.unchecked = true // checks of all tasks after each event would take minutes
	if does != "" {
		w.hoard(testkit.Machine("hoarder"), does)
	}
	w.live()
	if w.failure != "" {
		t.Errorf("tasks of %vs, redundancy %d, a hoarder that %s: %s", seconds, redundancy, does,
			w.failure)
	}
	return w
}

// If every worker is a hoarder, the coordinator counts the tasks itself, also if there is room for
// few, and the hoarder takes two at a time.
func TestOnlyHoarders(t *testing.T) {
	for most, rounds := range map[uint64]int{mostHeld: 1, 4: 3} {
		longest := time.Duration(rounds)*(overdueAfter+overdueFor) + 2*5*10*time.Second
		for _, does := range conducts {
			s := setup{redundancy: 1, kernels: []string{generic}, classes: []uint64{5},
				longest: 20 * time.Minute, most: most}
			s.machines = []machine{{name: "m0", kernel: "avx2", speed: 1}}
			s.seconds = []float64{1, 1, 1, 1, 1}
			w := newWorld(s, quiet{}, func(string, ...any) {})
			w.unchecked = true
			w.hoard(testkit.Machine("hoarder"), does)
			w.live()
			t.Logf("room for %d tasks, a hoarder that %s: %v, %s", most, does, w.ended, w.failure)
			if w.failure != "" || w.ended > longest {
				t.Errorf("room for %d tasks, a hoarder that %s: the run ends after %v: %s", most, does, w.ended,
					w.failure)
			}
		}
	}
}
