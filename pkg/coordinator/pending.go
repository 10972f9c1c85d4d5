package coordinator

import (
	"maps"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// delivery is a result, and where it stands in the stream of results.
type delivery struct {
	result queens.Result
	at     run.StreamPosition
}

// maxPending bounds the results that are held until their tasks are made. What comes
// beyond is let go, and its task counted again.
const maxPending = 1 << 20

// pending holds results of tasks that were not drawn yet: of those that another
// coordinator has published. What a result must have counted is known when its task
// is drawn, or found.
type pending struct {
	results map[uint64][]delivery
	count   int
	names   map[string]string
}

func newPending() *pending {
	return &pending{results: make(map[uint64][]delivery), names: make(map[string]string)}
}

// renewLoop keeps a result, and reports whether there was room for it.
func (e *pending) add(a delivery) bool {
	if e.count == maxPending {
		return false
	}
	a.result.Run, a.result.Worker, a.result.Kernel = e.intern(a.result.Run), e.intern(a.result.Worker), e.intern(a.result.Kernel)
	e.results[a.result.Task] = append(e.results[a.result.Task], a)
	e.count++
	return true
}

// intern makes equal names share their memory: a few names stand in a million results.
func (e *pending) intern(name string) string {
	if known, ok := e.names[name]; ok {
		return known
	}
	e.names[name] = name
	return name
}

// ids returns the tasks of the results that are held.
func (e *pending) ids() []uint64 {
	return slices.Collect(maps.Keys(e.results))
}

// take gives up the results of a task.
func (e *pending) take(id uint64) []delivery {
	came := e.results[id]
	delete(e.results, id)
	e.count -= len(came)
	return came
}
