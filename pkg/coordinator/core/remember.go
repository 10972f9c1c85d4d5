package core

import (
	"container/heap"
	"container/list"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

const (
	// remembered is how long after its last message a worker that is not present is remembered: it may
	// come back.
	remembered = 10 * time.Minute
	// mostWorkers bounds the worker processes that are remembered, because a stranger can invent any
	// number of names. When there is no room, the user with the most workers loses one to a user with
	// fewer.
	mostWorkers = 1 << 16
)

// takes reports whether there is room for a process. To make room, it forgets a worker that is not
// present. If all are present, and the user with the most workers has more than the process's user
// would have, takes returns the worker of that user whose last message is the oldest: it has to go,
// see Core.takes.
func (f *fleet) takes(p queens.Process) (isRoom bool, goes *worker) {
	if f.workers[p] != nil || len(f.workers) < mostWorkers {
		return true, nil
	}
	if f.away.Len() > 0 {
		f.remove(f.away.Front().Value.(*worker))
		return true, nil
	}
	mine := 1
	if c := f.users[p.Machine.User]; c != nil {
		mine += c.workers.Len()
	}
	if most := f.largest[0].workers; most.Len() > mine {
		return false, most.Front().Value.(*worker)
	}
	return false, nil
}

// forget removes workers that have been away for long.
func (f *fleet) forget(now time.Duration) {
	for f.away.Len() > 0 {
		w := f.away.Front().Value.(*worker)
		if now-w.heard < remembered {
			return
		}
		f.remove(w)
	}
}

// add remembers a process that was not heard before. It is not present yet.
func (f *fleet) add(p queens.Process) *worker {
	f.heardOf++
	w := &worker{process: p, number: f.heardOf}
	f.workers[p], f.numbers = w, append(f.numbers, w)
	f.computer(w).processes++
	w.inOrder = f.away.PushBack(w)
	c := f.ofUser(p.Machine.User)
	w.inUser = c.workers.PushBack(w)
	heap.Fix(&f.largest, c.place)
	return w
}

// remove forgets a worker that is not present.
func (f *fleet) remove(w *worker) {
	f.away.Remove(w.inOrder)
	delete(f.workers, w.process)
	i := f.after(w.number - 1)
	f.numbers = slices.Delete(f.numbers, i, i+1)
	c := f.ofUser(w.process.Machine.User)
	c.workers.Remove(w.inUser)
	heap.Fix(&f.largest, c.place)
	if c.workers.Len() == 0 {
		heap.Remove(&f.largest, c.place)
		delete(f.users, c.user)
	}
	on := f.computer(w)
	on.processes--
	if on.processes == 0 {
		f.labels.remove(on)
		delete(f.computers, on.computer)
	}
}

// userWorkers is a user with its remembered workers, in the order of their last messages.
type userWorkers struct {
	user    string
	workers *list.List
	place   int // in the heap of usersBySize
}

// ofUser returns the workers of a user.
func (f *fleet) ofUser(user string) *userWorkers {
	c := f.users[user]
	if c == nil {
		c = &userWorkers{user: user, workers: list.New()}
		f.users[user] = c
		heap.Push(&f.largest, c)
	}
	return c
}

// usersBySize is a heap of users. The largest comes first.
type usersBySize []*userWorkers

func (c usersBySize) Len() int           { return len(c) }
func (c usersBySize) Less(i, j int) bool { return c[i].workers.Len() > c[j].workers.Len() }
func (c usersBySize) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].place, c[j].place = i, j
}
func (c *usersBySize) Push(x any) {
	x.(*userWorkers).place = len(*c)
	*c = append(*c, x.(*userWorkers))
}
func (c *usersBySize) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
