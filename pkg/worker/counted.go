package worker

import "hash/maphash"

// countedSize is the number of tasks that a worker remembers.
const countedSize = 1 << 16

// countedTasks remembers the tasks whose counts the worker has reported lately. It is asked
// before a search: a task that comes again is one whose result was refused, or disputed, and then
// the count of another worker is worth more than a second one of the same.
type countedTasks struct {
	seed  maphash.Seed
	set   map[uint64]struct{}
	order []uint64 // a ring of the keys in set
	next  int      // where the next key goes once the ring is full
}

// key identifies a task of a run. Equal keys of two tasks only delay the second one.
func (c *countedTasks) key(run string, hash uint64) uint64 {
	if c.set == nil {
		c.seed, c.set = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	return hash ^ maphash.String(c.seed, run)
}

func (c *countedTasks) add(run string, hash uint64) {
	key := c.key(run, hash)
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

func (c *countedTasks) has(run string, hash uint64) bool {
	_, known := c.set[c.key(run, hash)]
	return known
}
