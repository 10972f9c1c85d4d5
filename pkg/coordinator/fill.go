package coordinator

import (
	"iter"

	"nqueens/pkg/queens"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
)

// maxFill is the number of tasks that one call of fill considers: those that have a
// result need no publishing.
const maxFill = 1 << 12

// start begins to pull the tasks of the run.
func (w *window) start() { w.pull, w.close = iter.Pull(split.Tasks(w.manifest)) }

// hasRoom reports whether another chunk may be published.
func (w *window) hasRoom() bool {
	return w.checks < w.most && schedule.HasRoom(w.guide.threads, w.active, w.bytes, w.guide.seconds(w.flight))
}

// fill pulls the tasks of the next chunk to publish if the window has room for it. It skips
// tasks that have a result, and does not publish those with pending results: it returns these
// results, to be recorded now, and whether to call fill again at once.
func (w *window) fill() (ready []taskDelivery, more bool) {
	for range maxFill {
		if w.next != nil || w.exhausted && w.draft == nil || !w.hasRoom() {
			return ready, len(ready) > 0
		}
		task, ok := w.pullTask()
		switch {
		case !ok:
			w.exhausted = true
			w.finishDraft()
			if w.again {
				w.pullAgain()
			}
		case w.has(task.ID) || w.tasks[task.ID] != nil:
			w.guide.left -= w.share(task.ID)
		case len(w.pending.results[task.ID]) > 0:
			w.guide.left -= w.share(task.ID)
			w.addEarly(&task)
			ready = append(ready, w.pending.take(task.ID)...)
		default:
			w.addToDraft(&task)
		}
	}
	return ready, true
}

// pullTask returns the next task of the run.
func (w *window) pullTask() (queens.Task, bool) {
	if w.peeked != nil {
		task := *w.peeked
		w.peeked = nil
		return task, true
	}
	return w.pull()
}

// addToDraft adds a task to the draft, or begins a new draft if it does not fit.
func (w *window) addToDraft(task *queens.Task) {
	if w.draft != nil && !w.fits(task) {
		w.peeked = task
		w.finishDraft()
		return
	}
	if w.draft == nil {
		w.draft = w.newChunk(task.ID, w.guide.size(w.manifest.ClassOf(task.ID)))
		w.draft.message.Board = task.Board
	}
	w.guide.left -= w.draft.share
	w.append(w.draft, task)
	if len(w.draft.message.Tasks) == w.draft.tasks {
		w.finishDraft()
	}
}

// fits reports whether the task can follow those of the draft.
func (w *window) fits(task *queens.Task) bool {
	d := w.draft
	return task.ID == d.first+uint64(len(d.message.Tasks)) &&
		w.manifest.ClassOf(task.ID) == w.manifest.ClassOf(d.first) &&
		d.bytes+schedule.PrefixBytes*len(task.Prefixes) <= schedule.MaxChunkBytes
}

// append adds a task to the message of a chunk, and puts it in flight there.
func (w *window) append(c *inflightChunk, task *queens.Task) {
	t := w.add(task)
	t.enter(c)
	c.message.Tasks = append(c.message.Tasks, task.Prefixes)
	c.open++
	w.flight += c.share
	w.grow(c, task.Prefixes)
}

// grow accounts for the bytes of a task of a chunk.
func (w *window) grow(c *inflightChunk, prefixes []queens.Prefix) {
	c.bytes += schedule.PrefixBytes * len(prefixes)
	w.bytes += schedule.PrefixBytes * len(prefixes)
}

func (w *window) finishDraft() {
	d := w.draft
	w.draft = nil
	switch {
	case d == nil:
	case d.open == 0: // its tasks were accepted in the meantime
		w.drop(d)
	default:
		d.tasks, d.busy = len(d.message.Tasks), true
		w.next = d
	}
}

// reopen has the tasks of the run pulled once more, from the first on, except those on which enough
// voters agree or that are in flight: some results became void. If not all have been pulled yet, they
// are first: however often results become void, each task has its turn.
func (w *window) reopen() {
	w.again = true
	if w.exhausted {
		w.pullAgain()
	}
}

func (w *window) pullAgain() {
	w.close()
	w.start()
	w.peeked, w.exhausted, w.again, w.guide.left = nil, false, false, 1
}
