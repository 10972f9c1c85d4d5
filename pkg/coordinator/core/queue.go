package core

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// queue is the set of the tasks that need a count by a worker. Each of them waits, or is held by at
// least one worker process, never both.
type queue struct {
	waitSet
	holdSet
	// tasks that a worker lost, and how often they were alone in the chunk then
	losses map[uint64]int
	often  map[uint64]bool // tasks that were lost lostAlone times or more
}

// mostLost bounds the tasks whose losses are known.
const mostLost = 1 << 20

func newQueue(ends []uint64) *queue {
	return &queue{
		waitSet: newWaitSet(ends), holdSet: newHoldSet(),
		losses: map[uint64]int{}, often: map[uint64]bool{},
	}
}

// take hands out tasks to a process: the lowest waiting tasks that its witness has not counted.
// They are consecutive and of one class; a task that a worker lost is handed out alone. It takes at
// most most(class) tasks of a class. take returns false if no such task waits, or if none may be
// taken.
func (q *queue) take(
	now time.Duration, p queens.Process, most func(class int) uint64,
) (queens.Range, bool) {
	by, first, found := q.lowest(p.Machine.Witness())
	if !found {
		return queens.Range{}, false
	}
	class := q.class(first)
	r := queens.Range{First: first,
		Tasks: min(q.groups[by].ranges[0].Tasks, q.ends[class]-first, most(class))}
	if r.Tasks == 0 {
		return queens.Range{}, false
	}
	if len(q.losses) > 0 {
		for i := range r.Tasks {
			if _, lost := q.losses[first+i]; lost {
				r.Tasks = max(i, 1)
				break
			}
		}
	}
	q.remove(r, by)
	q.hold(now, p, r, func(uint64) bool { return true })
	return r, true
}

// release ends a hold and returns the tasks that nobody holds any more: they neither wait nor are
// held now. If the hold is lost, each of its tasks is handed out alone from now on, unless mostLost
// others are lost.
func (q *queue) release(h *hold, lost bool) (free []uint64) {
	for task := h.First; task < h.End(); task++ {
		if !slices.Contains(q.holders[task], h) {
			continue
		}
		q.unhold(task, h)
		if lost {
			q.lose(task, h.Tasks == 1)
		}
		if !q.held(task) {
			free = append(free, task)
		}
	}
	return free
}

// lose notes that a worker has lost a task that needs a count. The parameter alone says whether the
// task was alone in its chunk.
func (q *queue) lose(task uint64, alone bool) {
	n, known := q.losses[task]
	if !known && len(q.losses) >= mostLost {
		return
	}
	if alone {
		n++
	}
	q.losses[task] = n
	if n >= lostAlone {
		q.often[task] = true
	}
}

// move moves a task to where it belongs. The parameter by is the witness that has counted it. If it
// needs a count again, the processes of this witness no longer hold it, and it waits if nobody else
// holds it. If it needs no more counts, it leaves the queue. move returns the holds that end.
func (q *queue) move(task uint64, by queens.Witness, again bool) (ended []*hold) {
	if !q.held(task) {
		q.removeTask(task, by)
	}
	for _, h := range q.holders[task] {
		if again && h.holder.Machine.Witness() != by {
			continue
		}
		q.unhold(task, h)
		if h.left == 0 {
			ended = append(ended, h)
		}
	}
	switch {
	case !again:
		delete(q.losses, task)
		delete(q.often, task)
	case !q.held(task):
		q.wait(queens.Range{First: task, Tasks: 1}, by)
	}
	return ended
}

// mayDouble reports whether the range of a hold may also be handed out to another process. It may
// not if a hold that ends sooner shares a task with the hold, or if the hold has several tasks and
// a worker has lost one of them. Of holds that end at the same time, the first one in the order of
// [compareEnds] may: it is among those that a tick looks at, however many others there are.
func (q *queue) mayDouble(h *hold) bool {
	sooner := func(other *hold) bool {
		return other.end < h.end || other.end == h.end && compareEnds(other, h) < 0
	}
	for task := h.First; task < h.End(); task++ {
		if holds := q.holders[task]; slices.Contains(holds, h) && slices.ContainsFunc(holds, sooner) {
			return false
		}
		if _, lost := q.losses[task]; lost && h.Tasks > 1 {
			return false
		}
	}
	return true
}
