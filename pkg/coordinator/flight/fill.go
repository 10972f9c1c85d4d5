package flight

import (
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
)

const (
	// maxPassed is the number of tasks that one call of Fill considers.
	maxPassed = 1 << 14
	// maxFresh is the number of waiting Publish commands with which no chunk from the cursor is planned: chunks of
	// tasks that are published again do not have to wait for more.
	maxFresh = 16
)

// Fill plans chunks: first of tasks that wait to be published again, unless the window is full, and then of
// tasks from the cursor while the window has room. needed reports whether a task needs its first count: the
// cursor passes over the others. So many chunks beside take no room: they are counted for a spot check or a dispute,
// perhaps by nobody for a while. Fill reports whether to call it again soon: it considers some tasks only.
func (f *Flight) Fill(beside int, needed func(task uint64) bool) (more bool) {
	left := maxPassed
	for left > 0 && len(f.again.list) > 0 && !f.IsFull() {
		left -= f.planAgain()
	}
	for left > 0 {
		task, found := f.cursor.peek()
		switch {
		case !found:
			return false
		case !f.isFresh(task, needed):
			f.pass(task)
			left--
		case len(skipClosed(f.orders.publications)) >= maxFresh || !f.hasRoom(beside):
			return false
		default:
			left -= f.planFresh(task, needed)
		}
	}
	return true
}

// isFresh reports whether a task at the cursor needs a chunk.
func (f *Flight) isFresh(task uint64, needed func(task uint64) bool) bool {
	return needed(task) && !f.IsInFlight(task) && !f.losses[task].isDead()
}

// pass moves the cursor beyond its task.
func (f *Flight) pass(task uint64) {
	f.cursor.pass()
	f.guide.left -= f.part(task)
}

// part returns the part of the run's work in a task.
func (f *Flight) part(task uint64) float64 { return f.cfg.Parts[f.cfg.Manifest.ClassOf(task)] }

// planFresh plans a chunk from the cursor, which is at its first task, and returns its number of tasks.
func (f *Flight) planFresh(first uint64, needed func(task uint64) bool) (tasks int) {
	most := f.chunkTasks(first)
	for task, found := first, true; found && tasks < most && task == first+uint64(tasks) && f.isFresh(task, needed); tasks++ {
		f.pass(task)
		task, found = f.cursor.peek()
	}
	f.plan(first, tasks, 1)
	return tasks
}

// planAgain plans a chunk of the first tasks that wait to be published again, if any of the first batch still do.
// It returns the number of tasks that it considered.
func (f *Flight) planAgain() (considered int) {
	b := f.again.first()
	for b.tasks > 0 && !f.isWaiting(b.first) {
		b.drop(1)
		considered++
	}
	if b.tasks == 0 {
		f.again.pop()
		return considered
	}
	most := b.most
	if most == 0 {
		most = f.chunkTasks(b.first)
	}
	tasks := 1
	for tasks < min(b.tasks, most) && f.isWaiting(b.first+uint64(tasks)) {
		tasks++
	}
	f.plan(b.first, tasks, b.attempt)
	b.drop(tasks)
	if b.tasks == 0 {
		f.again.pop()
	}
	return considered + tasks
}

// isWaiting reports whether a task waits to be published again.
func (f *Flight) isWaiting(task uint64) bool {
	c, known := f.where[task]
	return known && c == nil
}

// chunkTasks returns the greatest number of tasks of a chunk that begins with a task: as the guide says, all of
// its class, and not too many bytes.
func (f *Flight) chunkTasks(first uint64) int {
	m := f.cfg.Manifest
	class := m.ClassOf(first)
	rest := m.Classes[class].First + m.TasksOf(class) - first
	bytes := max(schedule.MaxChunkBytes/f.taskBytes(class), 1)
	return int(min(uint64(min(f.guide.size(class), bytes, run.MaxChunk)), rest))
}

// hasRoom reports whether the window has room for another chunk from the cursor.
func (f *Flight) hasRoom(beside int) bool {
	work := 0.0
	for class, tasks := range f.tasks {
		work += float64(tasks) * f.cfg.Parts[class]
	}
	return !f.IsFull() && schedule.HasRoom(f.guide.threads, max(len(f.chunks)-beside, 0), f.bytes, f.guide.seconds(work))
}

// Reopen says that the first count of a task became void: the task needs one again.
func (f *Flight) Reopen(task uint64) { f.reopen(task, 1) }

// reopen makes the cursor visit tasks again, before those that it has not passed.
func (f *Flight) reopen(first uint64, tasks int) {
	f.cursor.visits.add(first, tasks)
	for id := first; id < first+uint64(tasks); id++ {
		f.guide.left += f.part(id)
	}
}

// Again says that consecutive tasks need a further count, by other voters. They are planned again, except those
// that are in flight and those that are dead-lettered. Calls for adjacent tasks share chunks.
//
// The tasks of a chunk are in flight until Returned. If the result of a chunk shows that its tasks need a
// further count, call Returned first.
func (f *Flight) Again(first uint64, tasks int) {
	for id := first; id < first+uint64(tasks); id++ {
		if !f.IsInFlight(id) && !f.losses[id].isDead() {
			f.enter(id, nil)
			f.again.add(id, 1)
		}
	}
}
