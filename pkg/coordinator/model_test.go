package coordinator

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

func sorted(ids []uint64) []uint64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// model plays queue and workers for a window, with every fault that the window knows: messages
// are lost, repeated and late, requests fail, workers die, stop on the way or hold a chunk for
// ever, results are lost or come after their task was counted by another.
type model struct {
	t       *testing.T
	w       *window
	rng     *rand.Rand
	done    map[uint64]bool
	queue   []*queens.Chunk          // on the server
	seqs    map[uint64]uint64        // of the chunks in the queue
	held    map[uint64]*queens.Chunk // by workers that live
	away    map[uint64]bool          // chunks in the queue that a worker has postponed for ever
	late    []*queens.ChunkResult    // results on the way
	last    uint64                   // sequence
	workers int                      // died so far
}

// Every task gets its result in the end, whatever happens on the way, and at each step each task
// in flight is in one chunk, and the accounts of the window are right.
func TestWindowModel(t *testing.T) {
	for range 30 {
		rng := testkit.Rand(t)
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, rng: rng, done: make(map[uint64]bool), seqs: make(map[uint64]uint64), held: make(map[uint64]*queens.Chunk), away: make(map[uint64]bool)}
			m.w = newTestWindow(t, 9+rng.IntN(3), func(id uint64) bool { return m.done[id] })
			for step := 0; uint64(len(m.done)) < m.w.manifest.Tasks; step++ {
				if step > 1_000_000 {
					t.Fatalf("%d of %d tasks are done after a million steps", len(m.done), m.w.manifest.Tasks)
				}
				m.step(uint64(len(m.done)) < m.w.manifest.Tasks*9/10)
				m.check()
			}
		})
	}
}

func (m *model) step(faults bool) {
	w, chance := m.w, func(percent int) bool { return faults && m.rng.IntN(100) < percent }
	switch m.rng.IntN(8) {
	case 0:
		w.resize(m.rng.IntN(20))
		if m.rng.IntN(4) == 0 {
			w.guide.speed = math.Exp(m.rng.NormFloat64() * 3)
		}
	case 1, 2:
		m.request(chance)
	case 3: // a worker takes a chunk
		if len(m.queue) > 0 {
			i := m.rng.IntN(len(m.queue))
			if m.away[m.queue[i].ID] = m.away[m.queue[i].ID] || chance(5); m.away[m.queue[i].ID] {
				break
			}
			m.held[m.queue[i].ID] = m.queue[i]
			if !chance(5) { // else it is delivered twice
				m.queue = slices.Delete(m.queue, i, i+1)
			}
		}
	case 4: // a worker reports a chunk, or a part of it, or dies
		for id, c := range m.held {
			if chance(20) {
				m.workers++
				w.noteLost(id, loss{string(rune(m.workers)), "w", true})
				m.queue = append(m.queue, c)
			} else {
				m.report(c, chance)
			}
			delete(m.held, id)
			break
		}
	case 5: // a result arrives
		if len(m.late) > 0 {
			i := m.rng.IntN(len(m.late))
			m.record(m.late[i])
			if !chance(20) {
				m.late = slices.Delete(m.late, i, i+1)
			}
		}
	case 6:
		w.lookUp(m.t)
	case 7:
		time.Sleep(time.Duration(m.rng.IntN(1000)) * time.Millisecond)
		held := make(map[uint64]time.Time)
		for id := range m.held {
			held[id] = time.Now()
		}
		caughtUp := time.Now()
		for len(m.late) > 0 { // all that the server has is recorded
			m.record(m.late[0])
			m.late = m.late[1:]
		}
		w.sweep(held, m.rng.IntN(2) == 0, caughtUp)
	}
}

// request executes the next request of the window.
func (m *model) request(chance func(int) bool) {
	ready, _ := m.w.fill()
	if len(ready) > 0 {
		m.t.Fatal("results were pending")
	}
	r, ok := m.w.nextRequest()
	if !ok {
		return
	}
	m.w.sent()
	r.at = time.Now()
	in := slices.IndexFunc(m.queue, func(c *queens.Chunk) bool { return c.ID == r.chunk })
	switch r.op {
	case opPublish:
		m.last++
		r.streamSeq, r.published = m.last, true
		m.seqs[r.chunk] = m.last
		if !chance(10) { // else it is lost
			m.queue = append(m.queue, r.message)
		}
	case opCheck:
		r.missing = in < 0 && m.held[r.chunk] == nil && !chance(5)
		r.taken = m.away[r.chunk] && in >= 0
	case opDelete:
		if r.streamSeq == 0 || r.streamSeq != m.seqs[r.chunk] {
			m.t.Fatalf("chunk %x is deleted at sequence %d, it is at %d", r.chunk, r.streamSeq, m.seqs[r.chunk])
		}
		if in >= 0 {
			m.queue = slices.Delete(m.queue, in, in+1)
		}
	}
	if chance(30) {
		time.Sleep(100 * time.Millisecond)
	}
	m.w.completed(r)
}

// report puts the result of a chunk on the way.
func (m *model) report(c *queens.Chunk, chance func(int) bool) {
	n := len(c.Tasks)
	if chance(20) {
		n = 1 + m.rng.IntN(n)
	}
	r := &queens.ChunkResult{Run: c.Run, Chunk: c.ID, First: c.First, Worker: "w", Counts: make([]queens.TaskCount, n)}
	for i := range r.Counts {
		task := c.Task(i)
		r.Counts[i] = queens.TaskCount{Hash: task.Hash(), Kernel: "k", Elapsed: time.Duration(m.rng.IntN(1e9))}
	}
	if !chance(10) { // else it is lost
		m.late = append(m.late, r)
	}
}

// record does what the collector does.
func (m *model) record(r *queens.ChunkResult) {
	for i, c := range r.Counts {
		id := r.First + uint64(i)
		if m.done[id] {
			m.w.repeated(id, r.Chunk)
			continue
		}
		if task := m.w.tasks[id]; task == nil || task.hash != c.Hash {
			m.t.Fatalf("task %d is not expected, or with another hash: %+v", id, task)
		}
		m.done[id] = true
		m.w.accepted(id, c.Elapsed, r.Chunk)
		m.w.guide.observe(r.Worker, m.w.share(id), c.Elapsed)
	}
	m.w.returned(r, false)
}

// check compares the accounts of the window with its contents.
func (m *model) check() {
	w := m.w
	for id, task := range w.tasks {
		if task.deadLettered && m.rng.IntN(100) == 0 { // a person has it counted
			m.done[id] = true
			w.accepted(id, 0, 0)
		}
	}
	open, active, bytes := make(map[*inflightChunk]int), 0, 0
	flight := 0.0
	for id, task := range w.tasks {
		c := task.chunk
		if c == nil && !task.deadLettered || c != nil && (w.chunks[c.id] != c || id < c.first) {
			m.t.Fatalf("task %d is in no chunk: %+v, %+v", id, task, c)
		}
		if c != nil {
			open[c]++
			flight += c.share
		}
	}
	for id, c := range w.chunks {
		if c.id != id || open[c] != c.open || c.open == 0 && c != w.draft {
			m.t.Fatalf("chunk %x has %d open tasks, not %d: %+v", id, open[c], c.open, c)
		}
		if !c.exempt {
			active++
		}
		bytes += c.bytes
	}
	if active != w.active || bytes != w.bytes {
		m.t.Fatalf("%d chunks with %d bytes, the window says %d with %d", active, bytes, w.active, w.bytes)
	}
	checkByClass(m.t, w)
	if math.Abs(w.flight-flight) > 1e-9 {
		m.t.Fatalf("a share of %v is in flight, the window says %v", flight, w.flight)
	}
}

// checkByClass compares the tasks in flight that are no spot checks with their number by class.
func checkByClass(t *testing.T, w *window) {
	t.Helper()
	classes := make([]uint64, len(w.manifest.Classes))
	for id, task := range w.tasks {
		if !task.agreed {
			classes[w.manifest.ClassOf(id)]++
		}
	}
	if !slices.Equal(classes, w.flying) {
		t.Fatalf("in flight are %v tasks by class, the window says %v", classes, w.flying)
	}
}
