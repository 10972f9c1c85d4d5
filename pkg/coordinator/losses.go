package coordinator

import "slices"

// maxLosses is the number of known keys that lose a worker while it searches a task after which the task
// is dead-lettered: one key alone never gets a task out of the queue, whatever its workers say. It also is
// the number of workers, of any keys, after which the coordinator counts the task at the end.
const maxLosses = 3

// loss is a worker that was lost while it searched a task.
type loss struct {
	key, worker string
	known       bool // the key has accepted results in this run
}

// noteLost notes that a worker was lost while searching a chunk. From the second such worker of a known key
// on, a chunk of several tasks is published again in halves, which are suspect. Not from the first: it may
// have searched hundreds of chunks, as devices do, of which one at most is to blame, and a worker
// searches one suspect chunk at a time. A single task that too many known keys have lost workers to is
// dead-lettered: noteLost returns it, and the workers lost last; otherwise nil.
func (w *window) noteLost(chunk uint64, l loss) (task uint64, workers []string) {
	c := w.chunks[chunk]
	if c == nil {
		return 0, nil
	}
	suspect := false
	for _, id := range w.openTasks(c) {
		t := w.tasks[id]
		if t.deadLettered || !t.lose(l) {
			continue
		}
		suspect = suspect || t.isSuspect()
		if c.tasks == 1 && t.lostKeys() >= maxLosses {
			if t.agreed { // a spot check is not worth that
				w.dropCheck(id)
				continue
			}
			w.deadLetter(t)
			return id, t.lostWorkers()
		}
	}
	if c.tasks > 1 && suspect {
		w.withdrawChunk(c, halves)
	}
	return 0, nil
}

// lose notes a worker that was lost, and reports whether it is another one than those before. It keeps
// the last maxLosses workers of known keys, of these rather those of different keys, and as many of
// others: anybody can claim to hold a chunk, and fall silent.
func (t *inflightTask) lose(l loss) bool {
	if slices.Contains(t.lost, l) {
		return false
	}
	t.lost = append(t.lost, l)
	if t.losses(l.known) > maxLosses {
		drop := slices.IndexFunc(t.lost, func(one loss) bool {
			return one.known == l.known && slices.ContainsFunc(t.lost, func(other loss) bool {
				return other.known == one.known && other.key == one.key && other != one
			})
		})
		if drop < 0 {
			drop = slices.IndexFunc(t.lost, func(one loss) bool { return one.known == l.known })
		}
		t.lost = slices.Delete(t.lost, drop, drop+1)
	}
	return true
}

// lostKeys returns how many known keys have lost workers to a task.
func (t *inflightTask) lostKeys() int {
	keys := make(map[string]bool)
	for _, l := range t.lost {
		if l.known {
			keys[l.key] = true
		}
	}
	return len(keys)
}

// lostWorkers returns the names of the workers lost last.
func (t *inflightTask) lostWorkers() (names []string) {
	for _, l := range t.lost {
		names = append(names, l.worker)
	}
	return names
}

// isSuspect reports whether a task may be what kills workers: more than one of known keys was lost while
// searching it.
func (t *inflightTask) isSuspect() bool { return t.losses(true) > 1 }

// losses returns how many workers of known keys a task has lost, or of others.
func (t *inflightTask) losses(known bool) (workers int) {
	for _, l := range t.lost {
		if l.known == known {
			workers++
		}
	}
	return workers
}

// deadLetter withdraws a task for good: no worker gets it any more.
func (w *window) deadLetter(t *inflightTask) {
	t.deadLettered = true
	w.deadLettered++
	if t.disputed { // count it once
		t.disputed = false
		w.disputed--
	}
	if t.chunk != nil {
		w.exempt(t.chunk)
		w.withdrawChunk(t.chunk, forever)
	}
}

// nextLost returns the first task in flight that is dead-lettered, or has lost as many workers of any keys,
// and for which skip does not report true, if nothing else is left but disputes and spot checks.
func (w *window) nextLost(skip func(id uint64) bool) (first uint64, found bool) {
	if !w.exhausted || w.draft != nil {
		return 0, false
	}
	for id, t := range w.tasks {
		switch {
		case t.deadLettered || len(t.lost) >= maxLosses && !t.disputed && !t.agreed:
			if !skip(id) && (!found || id < first) {
				first, found = id, true
			}
		case !t.disputed && !t.agreed:
			return 0, false
		}
	}
	return first, found
}
