package flight

import (
	"slices"
)

// check compares what a Flight knows with what the package comment says.
func (m *model) check() {
	m.t.Helper()
	m.checkTasks()
	m.checkChunks()
	m.checkCommands()
	for _, id := range m.DeadLettered() {
		if m.IsInFlight(id) {
			m.t.Fatalf("task %d is dead-lettered and in flight", id)
		}
	}
	if m.t.Failed() {
		m.t.Fatalf("the state is\n%s", m.State(m.now))
	}
}

// checkTasks checks the invariants 1 and 2: each task in flight is in one chunk or waits for one, and one that is needed
// again is in flight.
func (m *model) checkTasks() {
	open, classes := make(map[uint64]int), make([]int, len(m.tasks))
	for id, c := range m.where {
		classes[m.cfg.Manifest.ClassOf(id)]++
		switch {
		case m.settled[id]:
			m.t.Errorf("task %d is settled and in flight", id)
		case c == nil && !slices.ContainsFunc(m.again.list, func(b batch) bool { return id >= b.first && id < b.first+uint64(b.tasks) }):
			m.t.Errorf("task %d is in flight, in no chunk, and does not wait", id)
		case c != nil && (m.chunks[c.id] != c || id < c.first || id >= c.end()):
			m.t.Errorf("task %d is in chunk %+v, which does not have it", id, c)
		case c != nil:
			open[c.id]++
		}
	}
	for id, wanted := range m.wanted {
		if wanted && !m.IsInFlight(uint64(id)) {
			m.t.Errorf("task %d is needed again, and is not in flight", id)
		}
	}
	for id, c := range m.chunks {
		if open[id] != c.open {
			m.t.Errorf("chunk %d has %d open tasks, and says %d", id, open[id], c.open)
		}
	}
	if !slices.Equal(classes, m.tasks) {
		m.t.Errorf("in flight are %v tasks by class, and flight says %v", classes, m.tasks)
	}
}

// checkChunks checks that the accounts of the chunks are right, and invariant 4: a chunk that every task has left, and
// that is not closed, is about to be deleted.
func (m *model) checkChunks() {
	bytes := 0
	for id, c := range m.chunks {
		bytes += c.tasks * m.taskBytes(c.class)
		if c.id != id || c.state == closed || c.tasks < 1 || m.cfg.Manifest.ClassOf(c.first) != m.cfg.Manifest.ClassOf(c.end()-1) {
			m.t.Errorf("chunk %d is %+v", id, c)
		}
		if hasMessage := c.sequence != 0; hasMessage != slices.Contains(m.sent, c) {
			m.t.Errorf("chunk %d is among the sent ones, or not, at sequence %d", id, c.sequence)
		}
		if c.open == 0 && slices.Contains([]state{planned, published, away, checking, missing}, c.state) {
			m.t.Errorf("chunk %d has no open task and is %v", id, c.state)
		}
	}
	if bytes != m.bytes {
		m.t.Errorf("%d bytes; flight says %d", bytes, m.bytes)
	}
}

// checkCommands checks invariant 3: a chunk has the command that its state says, and no other.
func (m *model) checkCommands() {
	waiting, handedOut := make(map[uint64]string), make(map[uint64]string)
	for _, list := range [][]*chunk{m.orders.publications, m.orders.others} {
		for _, c := range list {
			waiting[c.id] += c.waitsTo().String()
		}
	}
	for _, cmd := range m.outstanding {
		handedOut[cmd.Chunk] += cmd.Op.String()
	}
	for id, c := range m.chunks {
		waits, out := waiting[id], handedOut[id]
		right := false
		switch c.state {
		case planned:
			right = waits == "publish" && out == ""
		case publishing:
			right = waits == "" && out == "publish"
		case published, away, missing:
			right = waits == "" && out == ""
		case checking:
			right = waits+out == "check"
		case recalled:
			right = waits+out == "check" || waits == "" && out == "publish"
		case withdrawing:
			right = waits+out == "delete"
		case closed:
		}
		if !right {
			m.t.Errorf("chunk %d is %v; the commands %q wait, and %q is outstanding", id, c.state, waits, out)
		}
	}
}

// checkPlanned checks invariant 2 after Fill: each needed task is in flight or ahead of the cursor, and tasks wait only if the
// window is full.
func (m *model) checkPlanned() {
	for task := range uint64(len(m.counts)) {
		if !m.needed(task) || m.IsInFlight(task) || m.losses[task].isDead() || task >= m.cursor.next {
			continue
		}
		if !slices.ContainsFunc(m.cursor.visits.list, func(b batch) bool { return task >= b.first && task < b.first+uint64(b.tasks) }) {
			m.t.Errorf("task %d is needed, and never comes", task)
		}
	}
	if len(m.again.list) > 0 {
		m.t.Errorf("%d batches wait after Fill", len(m.again.list))
	}
}
