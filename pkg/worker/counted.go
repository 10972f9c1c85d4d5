package worker

import (
	"hash/maphash"
	"sync"

	"nqueens/pkg/run"
)

// countedSize is the number of tasks that CountedTasks remembers.
const countedSize = 1 << 16

// CountedTasks remembers the tasks whose counts were reported lately under one key. It is asked
// before a search: a task that comes again is one whose result was refused, disputed or is to be
// confirmed, and then the count of another key is worth more than a second one of the same. The zero
// value remembers nothing yet. It is safe for concurrent use.
type CountedTasks struct {
	mu    sync.Mutex
	seed  maphash.Seed
	set   map[uint64]struct{}
	order []uint64 // a ring of the keys in set
	next  int      // where the next key goes once the ring is full
}

// key identifies a task of a run. Equal keys of two tasks only delay the second one.
func (c *CountedTasks) key(run string, hash uint64) uint64 {
	if c.set == nil {
		c.seed, c.set = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	return hash ^ maphash.String(c.seed, run)
}

// add notes the tasks of a result.
func (c *CountedTasks) add(run string, counts []run.TaskCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range counts {
		c.addKey(c.key(run, counts[i].Hash))
	}
}

func (c *CountedTasks) addKey(key uint64) {
	if _, known := c.set[key]; known {
		return
	}
	c.set[key] = struct{}{}
	if len(c.order) < countedSize {
		c.order = append(c.order, key)
		return
	}
	delete(c.set, c.order[c.next])
	c.order[c.next] = key
	c.next = (c.next + 1) % countedSize
}

// hasAny reports whether one of the tasks with the hashes of these counts was counted.
func (c *CountedTasks) hasAny(run string, counts []run.TaskCount) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range counts {
		if _, known := c.set[c.key(run, counts[i].Hash)]; known {
			return true
		}
	}
	return false
}
