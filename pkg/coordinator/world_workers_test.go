package coordinator

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// worker is a model of a worker, honest or not.
type worker struct {
	w           *world
	name, key   string
	admission   []byte
	own         bool // it is one of the coordinator's process
	threads     int
	idle        bool // it takes no chunks
	traits      traits
	held        []*holding
	counted     map[uint64]bool
	chunks      int       // reported
	heartbeatAt time.Time // when to send the next heartbeat
	returns     time.Time // when another process takes the place of a dead one; zero while it lives
	gone        bool
	epoch       uint64 // of the newest coordinator that it has heard
}

// holding is a chunk that a worker searches.
type holding struct {
	sequence uint64
	chunk    *run.Chunk
	begun    time.Time
	ends     time.Time
}

const heartbeatInterval = 5 * time.Second

// maxDeclines is how many deliveries of a chunk workers decline that have counted a task of it.
const maxDeclines = 3

// act lets a worker report what it has counted, and take a chunk.
func (p *worker) act() {
	now := time.Now()
	if !p.returns.IsZero() && !now.Before(p.returns) {
		p.returns, p.name, p.counted = time.Time{}, fmt.Sprint(p.key, "-", p.w.newID()), make(map[uint64]bool)
		p.w.note("%s takes the place of a dead worker", p.name)
	}
	if p.gone || !p.returns.IsZero() {
		return
	}
	for _, h := range slices.Clone(p.held) {
		if m := p.w.queue.find(h.sequence, h.chunk.ID); m != nil && m.until.After(now) {
			m.until = now.Add(p.w.setup.lease)
		}
		if !h.ends.After(now) && p.returns.IsZero() {
			p.end(h)
		}
	}
	if p.returns.IsZero() && !p.idle && len(p.held) <= p.threads {
		p.take(now)
	}
	p.tellUnasked()
}

// take takes a chunk from the queue, unless the worker has counted one of its tasks.
func (p *worker) take(now time.Time) {
	w := p.w
	index := 0
	if !w.quiet {
		index = w.rng.IntN(3)
	}
	m := w.queue.next(now, index)
	if m == nil || slices.ContainsFunc(p.held, func(h *holding) bool { return h.chunk.ID == m.chunk.ID }) {
		return
	}
	m.deliveries++
	for i := range m.chunk.Tasks {
		if p.counted[m.chunk.First+uint64(i)] && m.deliveries <= maxDeclines {
			m.until = now.Add(time.Second)
			return
		}
	}
	m.taken, m.until = true, now.Add(w.setup.lease)
	took := time.Duration(len(m.chunk.Tasks)) * w.searchTime()
	if p.traits.hoards {
		took = 1000 * time.Hour
	}
	w.note("%s takes chunk %x, tasks %d+%d", p.name, m.chunk.ID, m.chunk.First, len(m.chunk.Tasks))
	p.held = append(p.held, &holding{m.sequence, m.chunk, now, now.Add(took)})
}

// searchTime draws how long a search takes.
func (w *world) searchTime() time.Duration {
	return w.setup.search/2 + time.Duration(w.rng.Int64N(int64(w.setup.search)))
}

// end ends the search of a chunk: with a report, or with the worker's death.
func (p *worker) end(h *holding) {
	w := p.w
	t := &p.traits
	for i := range h.chunk.Tasks {
		if w.setup.deadly[h.chunk.First+uint64(i)] && t.lying != always {
			w.faults.note("deadly task")
			p.die()
			return
		}
	}
	reported := t.ignores == 0 || !w.chance(t.ignores)
	if reported && !p.report(h.chunk, h.begun) {
		h.ends = time.Now().Add(time.Second)
		return
	}
	p.drop(h)
	if !w.fault("acknowledgement lost", 0.03) {
		w.queue.remove(h.sequence, h.chunk.ID)
	}
}

func (p *worker) drop(h *holding) {
	p.held = slices.DeleteFunc(p.held, func(one *holding) bool { return one == h })
}

// report stores the result of a chunk, if the stream has room.
func (p *worker) report(chunk *run.Chunk, begun time.Time) bool {
	w, t := p.w, &p.traits
	if w.stream.full {
		return false
	}
	n := len(chunk.Tasks)
	if t.partial > 0 && w.chance(t.partial) || w.fault("worker stops in a chunk", 0.02) {
		n = 1 + w.rng.IntN(n)
	}
	key, admission := p.identity()
	r := run.ChunkResult{
		Run: "r", Manifest: chunk.Manifest, Chunk: chunk.ID, First: chunk.First, Worker: p.name,
		Sealed: &run.Sealed{Key: key, Statement: []byte{1}, Signature: []byte{1}}, Admission: admission,
	}
	garbage := t.garbage > 0 && w.chance(t.garbage)
	for i := range n {
		id := chunk.First + uint64(i)
		count := w.setup.board.tasks[id]
		c := run.TaskCount{Hash: count.hash, Count: count.count, Kernel: "k", Elapsed: time.Since(begun) / time.Duration(n)}
		if garbage {
			c.Hash++
		} else if p.lies(id) {
			c.Count += t.wrong
			w.lies.add(lie{id, c.Count}, key, len(admission) > 0)
		}
		if t.absurd {
			c.Elapsed = time.Duration(w.rng.Int64())
		}
		p.counted[id] = true
		r.Counts = append(r.Counts, c)
	}
	p.chunks++
	w.note("%s reports chunk %x, tasks %d+%d, with %s %v", p.name, r.Chunk, r.First, n, key, admission)
	w.stream.publish(&r)
	for t.repeats > 0 && w.chance(t.repeats) || w.fault("result stored again", 0.03) {
		again := r
		if t.bare > 0 && w.chance(t.bare) { // as if the key were not admitted
			again.Admission = nil
		}
		w.stream.publish(&again)
	}
	return true
}

// reportOf stores the result of a task in a chunk of its own, which a coordinator of before has published.
func (w *world) reportOf(p *worker, id uint64, task boardTask) {
	w.stream.publish(&run.ChunkResult{
		Run: "r", Manifest: w.setup.board.manifest.Hash, Chunk: w.newID(), First: id, Worker: p.name,
		Sealed: &run.Sealed{Key: p.key, Statement: []byte{1}, Signature: []byte{1}}, Admission: p.admission,
		Counts: []run.TaskCount{{Hash: task.hash, Count: task.count, Kernel: "k", Elapsed: w.setup.search}},
	})
}

// die ends a worker without a word. Another process with its key takes its place later.
func (p *worker) die() {
	p.w.note("%s dies with %d chunks", p.name, len(p.held))
	p.held = nil
	p.returns = time.Now().Add(time.Second + time.Duration(p.w.rng.Int64N(int64(time.Minute))))
}

// leave ends a worker in good order: it returns what it holds.
func (p *worker) leave() {
	now := time.Now()
	p.w.note("%s leaves", p.name)
	for _, h := range p.held {
		if m := p.w.queue.find(h.sequence, h.chunk.ID); m != nil {
			m.taken, m.until = false, now
		}
	}
	p.held, p.gone = nil, true
	for _, host := range p.w.hosts {
		last := p.heartbeat()
		last.Leaving = true
		host.cfg.Roster.ObserveHeartbeat(last)
	}
}

// sendHeartbeat sends a heartbeat to every coordinator, if it is time for one.
func (p *worker) sendHeartbeat() {
	now := time.Now()
	if p.gone || !p.returns.IsZero() || now.Before(p.heartbeatAt) {
		return
	}
	p.heartbeatAt = now.Add(heartbeatInterval)
	for _, h := range p.w.hosts {
		p.greet(h)
	}
}

// greet sends a heartbeat to a coordinator.
func (p *worker) greet(h *host) {
	if !p.gone && p.returns.IsZero() && !h.stopped && !p.w.fault("heartbeat lost", 0.05) {
		h.cfg.Roster.ObserveHeartbeat(p.heartbeat())
	}
}

func (p *worker) heartbeat() run.Heartbeat {
	key, admission := p.identity()
	b := run.Heartbeat{Worker: p.name, Kernel: "k", Threads: p.threads, Key: key, Admission: admission}
	for _, h := range p.held {
		b.Held = append(b.Held, run.HeldChunk{Run: "r", Chunk: h.chunk.ID, Searching: true, Elapsed: time.Since(h.begun)})
	}
	if p.traits.claims {
		for _, m := range p.w.queue.messages {
			if m.chunk.First%3 == 0 {
				b.Held = append(b.Held, run.HeldChunk{Run: "r", Chunk: m.chunk.ID, Searching: true, Elapsed: time.Hour})
			}
		}
	}
	return b
}

// hear follows an announcement of a coordinator: what is obsolete is not searched on.
func (p *worker) hear(h *host, b *run.Announcement) {
	if p.gone || !p.returns.IsZero() || h.epoch < p.epoch || p.w.fault("announcement lost", 0.05) {
		return
	}
	p.epoch = h.epoch
	for _, held := range slices.Clone(p.held) {
		if _, obsolete := slices.BinarySearch(b.Obsolete, held.chunk.ID); obsolete {
			p.w.note("%s gives chunk %x up", p.name, held.chunk.ID)
			p.drop(held)
			p.w.queue.remove(held.sequence, held.chunk.ID)
		}
	}
}
