package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
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

// deliverOne delivers a count of a task, and returns the receipts.
func deliverOne(c *Core, from string, task, count uint64) []queens.Receipt {
	one := queens.Range{First: task, Tasks: 1}
	c.Delivered(6*time.Second, &Delivery{From: process(from), Results: []CheckedResult{{
		Result: queens.Result{
			Range: one, Counted: one, Counts: []uint64{count}, Kernel: "avx2", Searched: time.Second,
		},
	}}})
	var receipts []queens.Receipt
	for _, r := range c.Take().OnDisk.Receipts {
		receipts = append(receipts, r.Receipts...)
	}
	return receipts
}

// A task in dispute gets a bounded number of counts: the coordinator's recounts settle it.
func TestCountsOfADispute(t *testing.T) {
	c := startedCore(t, "1")
	for i := range mostCounts + 10 {
		receipts := deliverOne(c, fmt.Sprintf("m%d/p", i), 0, uint64(i))
		if len(receipts) != 1 || !receipts[0].Recorded {
			t.Fatalf("machine %d gets %v", i, receipts)
		}
	}
	if n := len(c.state.Counts(0)); n != mostCounts {
		t.Errorf("%d counts are recorded", n)
	}
}

// While too many tasks need a recount, a result that disputes another one gets no receipt, so that
// its worker delivers it again. Other results do.
func TestTooManyDisputes(t *testing.T) {
	c := startedCore(t, fmt.Sprint(1000+mostUnsettled))
	deliverOne(c, "a/p", 0, 5)
	for task := range uint64(mostUnsettled) {
		c.judge.unsettled[1000+task] = true
	}
	for _, test := range []struct {
		task, count uint64
		receipts    int
	}{{0, 5, 1}, {0, 6, 0}, {1, 6, 1}} {
		if got := deliverOne(c, "b/p", test.task, test.count); len(got) != test.receipts {
			t.Errorf("%+v: %v", test, got)
		}
	}
	delete(c.judge.unsettled, 1000)
	if got := deliverOne(c, "b/p", 0, 6); len(got) != 1 || !c.judge.unsettled[0] {
		t.Errorf("with room for a dispute: %v", got)
	}
}

// A user has results of at most as many machines as stay free for other users.
func TestTooManyMachines(t *testing.T) {
	c := startedCore(t, fmt.Sprint(mostSources))
	for i := range uint64(mostSources / 2) {
		_, err := c.state.Apply(&ledger.Result{
			Machine: queens.Machine{User: "flood", Name: fmt.Sprint(i)}, Process: "p", Kernel: "avx2",
			Range: queens.Range{First: i, Tasks: 1}, Counts: []uint64{1}, At: c.at(0),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for from, refused := range map[string]bool{
		"flood/0/p": false, "flood/new/p": true, "honest/new/p": false,
	} {
		got := deliverOne(c, from, mostSources-1, 7)
		says := "too many machines of user flood"
		if len(got) != 1 || strings.Contains(got[0].Refused, says) != refused {
			t.Errorf("%s gets %v", from, got)
		}
	}
}
