package coordinator

import (
	"cmp"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// delivery is the result of a chunk with its position in the stream of results, or the news
// that every result that the server had at a time was delivered.
type delivery struct {
	result   queens.ChunkResult
	position run.StreamPosition
	caughtUp time.Time
}

// taskDelivery is the result of one task of a chunk.
type taskDelivery struct {
	result queens.Result // its attempt, and whether its key is admitted, are not known yet
	chunk  uint64
	need   int // voters that must agree on the task if this is its first result
	// admission is the proof that the key was admitted, which is judged when the result is recorded.
	admission []byte
	// foreign says that the worker has signed that it counted for another manifest.
	foreign bool
}

// maxPending bounds the pending results. Those beyond it are dropped, and their tasks
// counted again.
const maxPending = 1 << 20

// pending holds results of tasks that are not in flight yet: those that an earlier
// coordinator published. They can be checked once their tasks are known.
type pending struct {
	results map[uint64][]taskDelivery
	count   int
	names   map[string]string
}

// add keeps a result, and reports whether there was room for it.
func (p *pending) add(d taskDelivery) bool {
	if p.count == maxPending {
		return false
	}
	r := &d.result
	r.Run, r.Worker, r.Kernel = p.intern(r.Run), p.intern(r.Worker), p.intern(r.Kernel)
	p.results[r.Task] = append(p.results[r.Task], d)
	p.count++
	return true
}

// intern returns the one copy of a name: a million results contain few different names.
func (p *pending) intern(name string) string {
	p.names[name] = cmp.Or(p.names[name], name)
	return p.names[name]
}

// take removes and returns the pending results of a task.
func (p *pending) take(id uint64) []taskDelivery {
	results := p.results[id]
	delete(p.results, id)
	p.count -= len(results)
	return results
}
