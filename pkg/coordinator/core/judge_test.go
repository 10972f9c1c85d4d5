package core

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A witness is recorded with up to two different counts of a task: the first, and one that differs
// from it. It can't fill the ledger with more.
func TestNews(t *testing.T) {
	c := startedCore(t, "1")
	one, now := queens.Range{Tasks: 1}, 6*time.Second
	for _, test := range []struct {
		count          uint64
		isNew, tooMany bool
	}{{5, true, false}, {5, false, false}, {6, true, false}, {5, false, false}, {7, false, true}} {
		from := process("w/a/p")
		isNew, tooMany := c.judge.news(from.Machine, 0, test.count)
		if isNew != test.isNew || tooMany != test.tooMany {
			t.Errorf("count %d: new %v, too many %v", test.count, isNew, tooMany)
		}
		if isNew {
			c.Delivered(now, &Delivery{From: from, Results: []CheckedResult{{Result: queens.Result{
				Range: one, Counted: one, Counts: []uint64{test.count}, Kernel: "avx2",
				Searched: time.Second,
			}}}})
		}
	}
}
