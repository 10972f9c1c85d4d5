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

// A result with one wrong hash, or one task that the run does not have, is rejected as a whole: the ledger does not store
// a large statement for a few counts that fit.
func TestResultWithAMisfitIsRejected(t *testing.T) {
	for name, change := range map[string]func(*run.ChunkResult){
		"nothing":      func(*run.ChunkResult) {},
		"a hash":       func(r *run.ChunkResult) { r.Counts[1].Hash++ },
		"unknown task": func(r *run.ChunkResult) { r.Counts = append(r.Counts, r.Counts[0]) },
	} {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		result := c.core.resultOfAll("w", 1)
		change(&result)
		if err := c.core.deliver(time.Now(), []delivery{{result: result, wrong: hasWrongHash(c.core.index, &result)}}); err != nil {
			t.Fatal(err)
		}
		refused := c.core.figures.refused
		if got, all := c.ledger.Len(), c.core.manifest.Tasks; name == "nothing" && got != all || name != "nothing" && (got > 0 || refused.WrongHash+refused.UnknownTask != uint64(len(result.Counts))) {
			t.Errorf("%s is wrong: %d of %d tasks are recorded, refused are %+v", name, got, all, refused)
		}
	}
}
