package session

import (
	"math/big"
	"sync"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

// history is the progress of a run over time, from the marks of its ledger and from later
// snapshots. It keeps nothing until somebody asks.
type history struct {
	lock sync.Mutex
	kept *progress.History // nil until somebody asks
}

// points returns the progress so far. The first call begins to read the ledger, beside everything
// else; until it is read, there are only later snapshots.
func (h *history) points(read func() []progress.Point) []progress.Point {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.kept == nil {
		h.kept = new(progress.History)
		go h.complete(read) // it does nothing else, so nobody waits for it at the end
	}
	return h.kept.Points()
}

// complete reads the ledger, and adds what has come meanwhile.
func (h *history) complete(read func() []progress.Point) {
	all := new(progress.History)
	for _, p := range read() {
		all.Add(p)
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, p := range h.kept.Points() {
		all.Add(p)
	}
	h.kept = all
}

// add adds a snapshot, but only after somebody has asked. The loop of the coordinator calls it.
func (h *history) add(snapshot *queens.Snapshot) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.kept != nil && snapshot.Solutions != nil {
		solutions, _ := (*big.Int)(snapshot.Solutions).Float64()
		work, elapsed := float64(snapshot.WorkDone), snapshot.Elapsed.Duration
		h.kept.Add(progress.Point{Elapsed: elapsed, Work: work, Solutions: solutions})
	}
}
