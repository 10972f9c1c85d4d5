package flight

import "time"

// Returned says that a worker has reported the first tasks of a chunk, as many as given, and acknowledged its
// message. These tasks leave flight, and the chunk is closed. If the worker has not reported all, the others are
// published again with the same attempt: they were not lost.
//
// Call Returned before Settled or Again for its tasks. If neither is called for a reported task, Fill asks
// whether the task is needed.
func (f *Flight) Returned(now time.Time, chunk, first uint64, tasks int) {
	c := f.chunks[chunk]
	if c == nil || c.state == planned || c.first != first {
		return
	}
	tasks = min(tasks, c.tasks)
	left := 0
	for id := first; id < first+uint64(tasks); id++ {
		if f.where[id] == c {
			f.leave(id)
			left++
		}
	}
	if left > 0 {
		f.vacate(now, c, left)
		f.reopen(first, tasks)
	}
	f.replan(now, c, first+uint64(tasks), c.attempt)
	if tasks == c.tasks {
		f.close(c)
	} else {
		f.recall(c)
	}
}

// Settled says that a task needs no further count: it leaves flight. If its chunk has no other open task, its
// message is deleted.
func (f *Flight) Settled(now time.Time, task uint64) {
	delete(f.losses, task)
	f.remove(now, task)
}

// remove takes a task out of flight, and recalls its chunk if that has no other open task.
func (f *Flight) remove(now time.Time, task uint64) {
	if c := f.leave(task); c != nil {
		f.vacate(now, c, 1)
		if c.open == 0 {
			f.recall(c)
		}
	}
}

// Attempt returns which publication of a task is in flight, from 1 on: 1 unless chunks of the task ended without
// a report since it last came into flight.
func (f *Flight) Attempt(task uint64) uint32 {
	if c := f.where[task]; c != nil {
		return c.attempt
	}
	return 1
}

// IsInFlight reports whether a task is in a chunk or waits to be published again.
func (f *Flight) IsInFlight(task uint64) bool {
	_, known := f.where[task]
	return known
}
