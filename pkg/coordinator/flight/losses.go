package flight

import (
	"slices"
	"time"
)

// maxLosses is the number of known keys that must lose a worker while it searches a task alone before the task is
// dead-lettered: one key alone never gets a task out of the queue, whatever its workers say. It also is the
// number of workers, of any keys, after which the coordinator counts the task at the end.
const maxLosses = 3

// Loss is a worker that was lost while it searched a chunk.
type Loss struct {
	Key, Worker string
	Known       bool // the key has accepted results in this run
}

// DeadLetter is a task that no worker gets any more, and the workers that were lost last while they searched it.
type DeadLetter struct {
	Task    uint64
	Workers []string
}

// Lost notes that a worker was lost while it searched a chunk. From the second such worker of known keys on, a
// chunk of several tasks is published again in halves, which are suspect. The first has no consequence: a
// worker searches hundreds of chunks at once, as devices do, of which one at most is to blame, but only one
// suspect chunk. A task that was alone in its chunk when workers of maxLosses known keys were lost is
// dead-lettered.
func (f *Flight) Lost(now time.Time, chunk uint64, l Loss) (dead []DeadLetter) {
	c := f.chunks[chunk]
	if c == nil || c.state == planned {
		return nil
	}
	suspect := false
	for id := c.first; id < c.end(); id++ {
		if f.where[id] != c {
			continue
		}
		if f.losses[id] == nil {
			f.losses[id] = new(losses)
		}
		all := f.losses[id]
		if !all.add(loss{l, c.tasks == 1}) {
			continue
		}
		suspect = suspect || all.isSuspect()
		if all.keysAlone() >= maxLosses {
			f.DeadLetter(now, id)
			dead = append(dead, DeadLetter{id, all.workers()})
		}
	}
	if c.tasks > 1 && suspect {
		f.recall(c)
	}
	return dead
}

// DeadLetter gives a task up: no worker gets it any more, until Settled.
func (f *Flight) DeadLetter(now time.Time, task uint64) {
	if f.losses[task] == nil {
		f.losses[task] = new(losses)
	}
	f.losses[task].dead = true
	f.remove(now, task)
}

// DeadLettered returns the tasks that are dead-lettered, sorted.
func (f *Flight) DeadLettered() (tasks []uint64) {
	for id, l := range f.losses {
		if l.dead {
			tasks = append(tasks, id)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// LostWorkers returns the names of the workers that were lost last while they searched a task.
func (f *Flight) LostWorkers(task uint64) []string { return f.losses[task].workers() }

// NextLost returns the next task that the coordinator must count itself, once nothing else is in flight or to be
// planned, but tasks for which other reports true: the first that is dead-lettered, also if its counts contradict each
// other, or, unless wait, that has lost maxLosses workers of any keys. Tasks for which skip reports true are not returned.
func (f *Flight) NextLost(wait bool, other, skip func(task uint64) bool) (task uint64, found bool) {
	if !f.cursor.isAtEnd() {
		return 0, false
	}
	others := 0
	for id := range f.where {
		if !other(id) {
			others++
		}
	}
	for id, l := range f.losses {
		if !l.dead && other(id) {
			continue
		}
		candidate := l.dead
		if f.IsInFlight(id) && len(l.list) >= maxLosses {
			others--
			candidate = !wait
		}
		if candidate && !skip(id) && (!found || id < task) {
			task, found = id, true
		}
	}
	if others > 0 {
		return 0, false
	}
	return task, found
}

// losses is what is known of the workers that were lost while they searched a task. A nil pointer is valid, and
// means that none was.
type losses struct {
	list []loss
	dead bool // the task is dead-lettered
}

type loss struct {
	Loss
	alone bool // the task was alone in its chunk
}

// add notes a worker that was lost, and reports whether that says anything new. It keeps maxLosses workers of known
// keys, and as many of others: anybody can claim to hold a chunk, and fall silent.
func (l *losses) add(one loss) bool {
	same := slices.IndexFunc(l.list, func(other loss) bool { return other.Loss == one.Loss })
	if same >= 0 {
		if l.list[same].alone || !one.alone {
			return false
		}
		l.list = slices.Delete(l.list, same, same+1)
	}
	l.list = append(l.list, one)
	if l.count(one.Known) > maxLosses {
		at := l.leastTelling(one.Known)
		l.list = slices.Delete(l.list, at, at+1)
	}
	return true
}

// leastTelling returns the index of the loss, of a known key or of another, that tells the least of the task: the
// first that it shared with other tasks; if there is none, the first whose key has a later one; or the first.
func (l *losses) leastTelling(known bool) int {
	first, repeated := -1, -1
	for i, one := range l.list {
		switch {
		case one.Known != known:
			continue
		case !one.alone:
			return i
		case first < 0:
			first = i
		}
		if repeated < 0 && slices.ContainsFunc(l.list[i+1:], func(later loss) bool { return later.Known == known && later.Key == one.Key }) {
			repeated = i
		}
	}
	return max(first, repeated)
}

// count returns the number of losses of known keys, or of others.
func (l *losses) count(known bool) (n int) {
	for _, one := range l.list {
		if one.Known == known {
			n++
		}
	}
	return n
}

// keysAlone returns how many known keys have lost a worker while the task was alone in its chunk.
func (l *losses) keysAlone() int {
	var keys []string
	for _, one := range l.list {
		if one.Known && one.alone && !slices.Contains(keys, one.Key) {
			keys = append(keys, one.Key)
		}
	}
	return len(keys)
}

// isSuspect reports whether the task may be what kills workers.
func (l *losses) isSuspect() bool { return l != nil && l.count(true) > 1 }

func (l *losses) isDead() bool { return l != nil && l.dead }

func (l *losses) workers() (names []string) {
	if l == nil {
		return nil
	}
	for _, one := range l.list {
		names = append(names, one.Worker)
	}
	return names
}
