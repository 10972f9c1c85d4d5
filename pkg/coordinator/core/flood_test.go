package core

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A machine has one ticket, and lists the ticket's range in the names of ever more processes. At
// most mostHolders of them hold the range, and at most mostWorkers are remembered.
func TestManyNames(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "flood", Redundancy: 1,
		Manifest: testManifest(20, []uint64{8})}
	c := New(0, ledger.NewState(h),
		Options{Instance: 1, Version: "v", Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20})
	list := queens.WorkRequest{Number: 1, Threads: 1, Searchers: 1,
		Held: []queens.Held{{Range: queens.Range{Tasks: 8}}}}
	for i := range mostWorkers + 10 {
		c.WorkRequested(time.Second,
			&Request{From: queens.Process{Machine: testkit.Machine("a"), Name: fmt.Sprint(i)},
				WorkRequest: list})
		c.Take()
	}
	if n := len(c.queue.holders[7]); n > mostHolders {
		t.Errorf("%d processes hold a task", n)
	}
	if n := len(c.fleet.workers); n > mostWorkers {
		t.Errorf("%d processes are remembered", n)
	}
	late := queens.Process{Machine: testkit.Machine("b"), Name: "late"}
	list.Held, list.Want = nil, 1
	c.WorkRequested(20*time.Second, &Request{From: late, WorkRequest: list})
	c.Tick(100 * time.Second)
	c.WorkRequested(100*time.Second, &Request{From: late, WorkRequest: list})
	if w := c.fleet.workers[late]; w != nil {
		t.Error("there is room before the others are silent")
	}
	for now := 100 * time.Second; now <= 140*time.Second; now += time.Second {
		c.Tick(now)
	}
	c.WorkRequested(140*time.Second, &Request{From: late, WorkRequest: list})
	if w := c.fleet.workers[late]; w == nil || !w.present || len(c.queue.holds[late]) == 0 {
		t.Error("no room when the others are silent")
	}
}
