package coordinator

import (
	"cmp"
	"context"
	"slices"

	"nqueens/pkg/queens"
)

// leftCheck is a chunk that an earlier coordinator has recorded, as far as its tasks have too few
// voters for the spot check that it is due.
type leftCheck struct {
	report uint64 // of the chunk in the ledger
	key    string
	first  uint64
	tasks  int
	hashes map[uint64]uint64 // by task
}

// leftChecks finds the chunks of a ledger that are still to be checked.
type leftChecks struct {
	trust  *trust
	chunk  leftCheck              // being read
	chosen []leftCheck            // by the seed
	early  map[string][]leftCheck // by key: its first chunks
}

// read takes the next accepted result of the ledger.
func (l *leftChecks) read(r *queens.Result) {
	c := &l.chunk
	if c.tasks == 0 || r.Report != c.report || r.Task != c.first+uint64(c.tasks) {
		l.end()
		*c = leftCheck{report: r.Report, key: r.Key, first: r.Task, hashes: make(map[uint64]uint64)}
	}
	c.tasks++
	if l.trust.agrees(r.Task) && !l.trust.isChecked(r.Task, l.trust.Redundancy+1) {
		c.hashes[r.Task] = r.Hash
	}
}

// end takes up the chunk that was read.
func (l *leftChecks) end() {
	c := l.chunk
	if c.report == 0 {
		return
	}
	if l.trust.need(c.first, c.tasks, "", 0) > l.trust.Redundancy {
		if len(c.hashes) > 0 {
			l.chosen = append(l.chosen, c)
		}
		return
	}
	if l.trust.need(c.first, c.tasks, c.key, 0) == l.trust.Redundancy {
		return
	}
	early := slices.Concat(l.early[c.key], []leftCheck{c})
	slices.SortFunc(early, func(a, b leftCheck) int { return cmp.Compare(a.report, b.report) })
	l.early[c.key] = early[:min(len(early), newChunks)]
}

// load reads what the ledger holds, and puts the spot checks in flight that an earlier coordinator
// has left.
func (c *Coordinator) load(ctx context.Context) error {
	left := leftChecks{trust: &c.trust, early: make(map[string][]leftCheck)}
	if err := c.collector.load(ctx, left.read); err != nil {
		return err
	}
	left.end()
	c.resumedTime = c.collector.coreTime
	all := left.chosen
	for _, early := range left.early {
		all = append(all, early...)
	}
	for _, chunk := range all {
		var ids []uint64
		for id := chunk.first; id < chunk.first+uint64(chunk.tasks); id++ {
			if hash, open := chunk.hashes[id]; open && c.collector.disputes[id] == nil {
				c.window.addCheck(id, hash, c.trust.Redundancy+1)
				ids = append(ids, id)
			}
		}
		for len(ids) > 0 {
			n := consecutive(ids)
			c.window.park(ids[:n])
			ids = ids[n:]
		}
	}
	return c.collector.checkKnownTotal() // now that it is known what is to be checked
}
