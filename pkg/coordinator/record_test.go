package coordinator

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// resultOfAll returns a result of all tasks of a run, with the same count.
func (c *core) resultOfAll(worker string, count uint64) run.ChunkResult {
	r := run.ChunkResult{Run: "r", Manifest: c.manifest.Hash, Worker: worker}
	for _, task := range c.index.Range(0, int(c.manifest.Tasks)) {
		r.Counts = append(r.Counts, run.TaskCount{Hash: task.Hash(), Count: count, Kernel: "k"})
	}
	return r
}

// A result with one wrong hash, one task that the run does not have, or another manifest is rejected as a whole: the ledger does not store
// a large statement for a few counts that fit.
func TestResultWithAMisfitIsRejected(t *testing.T) {
	for name, change := range map[string]func(*run.ChunkResult){
		"nothing":        func(*run.ChunkResult) {},
		"a hash":         func(r *run.ChunkResult) { r.Counts[1].Hash++ },
		"the first task": func(r *run.ChunkResult) { r.First, r.Counts = 1, r.Counts[:1] },
		"the last task":  func(r *run.ChunkResult) { r.Counts = append(r.Counts, r.Counts[0]) },
		"the end": func(r *run.ChunkResult) {
			last := r.Counts[len(r.Counts)-1]
			r.First, r.Counts = uint64(len(r.Counts)-1), []run.TaskCount{last, last}
		},
		"an unknown task":  func(r *run.ChunkResult) { r.First, r.Counts = 1<<40, r.Counts[:1] },
		"another manifest": func(r *run.ChunkResult) { r.Manifest[0]++ },
	} {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		result := c.core.resultOfAll("w", 1)
		change(&result)
		if err := c.core.deliver(time.Now(), []delivery{{result: result, wrong: hasWrongHash(c.core.index, &result)}}); err != nil {
			t.Fatal(err)
		}
		refused, tasks, recorded := c.core.figures.refused, uint64(len(result.Counts)), uint64(0)
		rejected := tasks
		if name == "nothing" {
			recorded, rejected = tasks, 0
		}
		if c.ledger.Len() != recorded || c.ledger.Rejected() != rejected || refused.WrongHash+refused.UnknownTask+refused.OtherManifest != rejected {
			t.Errorf("%s is wrong: %d of %d tasks are recorded, %d rejected; refused are %+v", name, c.ledger.Len(), tasks, c.ledger.Rejected(), refused)
		}
	}
}
