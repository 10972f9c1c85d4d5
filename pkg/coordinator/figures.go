package coordinator

import (
	"nqueens/pkg/queens"
)

// note takes up whether enough voters agree on a task, and returns it.
func (c *collector) note(id uint64) (agrees bool) {
	agrees = c.trust.agrees(id)
	word, bit := &c.agreed[id/64], uint64(1)<<(id%64)
	if agrees == (*word&bit != 0) {
		return agrees
	}
	*word ^= bit
	class := c.manifest.ClassOf(id)
	if agrees {
		c.agreedLen++
		c.agreedOf[class]++
	} else {
		c.agreedLen--
		c.agreedOf[class]--
	}
	return agrees
}

// add adds an accepted result to the figures.
func (c *collector) add(r *queens.Result) {
	c.sums.Add(c.weight(r), r.Count)
	c.coreTime += r.Elapsed
	if !r.IsOwn() {
		c.workers[r.Worker]++
	}
}

// remove takes a result out of the figures.
func (c *collector) remove(r *queens.Result) {
	c.sums.Replace(c.weight(r), r.Count, 0)
	c.coreTime -= r.Elapsed
	if r.IsOwn() {
		return
	}
	if c.workers[r.Worker]--; c.workers[r.Worker] == 0 {
		delete(c.workers, r.Worker)
	}
}

// weight returns the k of the result's class: its solutions weigh 8/k.
func (c *collector) weight(r *queens.Result) int {
	return c.manifest.Classes[c.manifest.ClassOf(r.Task)].K
}
