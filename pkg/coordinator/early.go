package coordinator

import (
	"maps"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// arrival is a result, and where it stands in the stream of results.
type arrival struct {
	result queens.Result
	at     run.StreamPosition
}

// maxEarly bounds the results that are held until their tasks are made. What comes
// beyond is let go, and its task counted again.
const maxEarly = 1 << 20

// early holds results of tasks that were not drawn yet: of those that another
// coordinator has published. What a result must have counted is known when its task
// is drawn, or found.
type early struct {
	results map[uint64][]arrival
	held    int
	names   map[string]string
}

func newEarly() *early {
	return &early{results: make(map[uint64][]arrival), names: make(map[string]string)}
}

// hold keeps a result, and reports whether there was room for it.
func (e *early) hold(a arrival) bool {
	if e.held == maxEarly {
		return false
	}
	a.result.Run, a.result.Worker, a.result.Kernel = e.one(a.result.Run), e.one(a.result.Worker), e.one(a.result.Kernel)
	e.results[a.result.Task] = append(e.results[a.result.Task], a)
	e.held++
	return true
}

// one makes equal names share their memory: a few names stand in a million results.
func (e *early) one(name string) string {
	if known, ok := e.names[name]; ok {
		return known
	}
	e.names[name] = name
	return name
}

// ids returns the tasks of the results that are held.
func (e *early) ids() []uint64 {
	return slices.Collect(maps.Keys(e.results))
}

// take gives up the results of a task.
func (e *early) take(id uint64) []arrival {
	came := e.results[id]
	delete(e.results, id)
	e.held -= len(came)
	return came
}
