package flight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// State describes all chunks and all tasks in flight, for stories, traces and hashes of states: everything that the
// next commands depend on but the sizes of chunks and the times of closed chunks. Times are relative to now.
func (f *Flight) State(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cursor at %d of %d\n", f.cursor.next, f.cursor.end)
	f.cursor.visits.describe(&b, "visit again")
	f.again.describe(&b, "waiting")
	for _, c := range f.sortedChunks() {
		f.describeChunk(&b, now, c)
	}
	for _, c := range slices.Concat(f.orders.publications, f.orders.others) {
		if c.state != closed {
			fmt.Fprintf(&b, "to %v chunk %d\n", c.waitsTo(), c.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.losses)) {
		f.losses[id].describe(&b, id)
	}
	for _, id := range slices.Sorted(maps.Keys(f.past)) {
		if p := f.past[id]; p.tasks > 0 {
			fmt.Fprintf(&b, "slow chunk %d: %s\n", id, span(p.first, p.tasks))
		}
	}
	return b.String()
}

// sortedChunks returns the chunks in order of their first tasks.
func (f *Flight) sortedChunks() []*chunk {
	return slices.SortedFunc(maps.Values(f.chunks), func(a, b *chunk) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.id, b.id))
	})
}

func (f *Flight) describeChunk(b *strings.Builder, now time.Time, c *chunk) {
	fmt.Fprintf(b, "chunk %d: %s, %v, attempt %d", c.id, span(c.first, c.tasks), c.state, c.attempt)
	if c.open < c.tasks {
		fmt.Fprintf(b, ", open %s", f.openTasks(c))
	}
	switch c.state {
	case published, away:
		fmt.Fprintf(b, ", check in %v, expires in %v", c.checkAt.Sub(now), c.expiresAt.Sub(now))
	case checking:
		fmt.Fprintf(b, ", expires in %v", c.expiresAt.Sub(now))
	case missing:
		fmt.Fprintf(b, ", not found %v ago", now.Sub(c.missingAt))
	case planned, publishing, recalled, withdrawing, closed:
	}
	b.WriteByte('\n')
}

// openTasks lists the open tasks of a chunk.
func (f *Flight) openTasks(c *chunk) string {
	var open []string
	for id := c.first; id < c.end(); id++ {
		if f.where[id] == c {
			open = append(open, fmt.Sprint(id))
		}
	}
	return cmp.Or(strings.Join(open, " "), "none")
}

// span names consecutive tasks.
func span(first uint64, tasks int) string {
	if tasks == 1 {
		return fmt.Sprintf("task %d", first)
	}
	return fmt.Sprintf("tasks %d-%d", first, first+uint64(tasks)-1)
}

func (q *batches) describe(b *strings.Builder, what string) {
	for _, one := range q.list {
		fmt.Fprintf(b, "%s: %s", what, span(one.first, one.tasks))
		if one.attempt > 1 {
			fmt.Fprintf(b, ", attempt %d", one.attempt)
		}
		if one.most > 0 {
			fmt.Fprintf(b, ", at most %d in a chunk", one.most)
		}
		b.WriteByte('\n')
	}
}

func (l *losses) describe(b *strings.Builder, task uint64) {
	if len(l.list) == 0 && !l.dead {
		return
	}
	fmt.Fprintf(b, "task %d", task)
	if l.dead {
		b.WriteString(", dead-lettered")
	}
	b.WriteString(": lost")
	for _, one := range l.list {
		fmt.Fprintf(b, " %s/%s", one.Key, one.Worker)
		if !one.Known {
			b.WriteString(" unknown")
		}
		if one.alone {
			b.WriteString(" alone")
		}
	}
	b.WriteByte('\n')
}

func (op Op) String() string { return [...]string{"publish", "check", "delete"}[op] }

// InFlight returns the number of tasks in flight.
func (f *Flight) InFlight() int { return len(f.where) }
