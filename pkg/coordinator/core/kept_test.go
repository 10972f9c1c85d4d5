package core

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// An input looks at some of the kept requests only. The next ones look at the others, so a task
// gets to the one worker that may count it, however many wait before it that may not.
func TestKeptRequestsInTurn(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "n", Redundancy: 2,
		Manifest: testManifest(queens.MaxN, []uint64{1})}
	c := coreOf(h)
	request := func(machine string, i int, leaving bool) {
		p := process(fmt.Sprintf("%s/%d", machine, i))
		r := queens.WorkRequest{Number: 1, Want: 1, Threads: 1, Searchers: 1, Leaving: leaving}
		if leaving {
			r.Number, r.Want = 2, 0
		}
		c.WorkRequested(0, &Request{From: p, WorkRequest: r})
	}
	request("counted", 0, false)
	task := queens.Range{Tasks: 1}
	c.Delivered(0, &Delivery{From: process("counted/0"), Results: []CheckedResult{{
		Result: queens.Result{Range: task, Counted: task, Counts: []uint64{5}, Kernel: generic}}}})
	request("leaves", 0, false) // it gets the task
	const before = 2*mostServed + mostServed/2
	for i := range before {
		request("counted", 1+i, false)
	}
	request("other", 0, false)
	c.Take()
	request("leaves", 0, true)
	for range before / mostServed {
		c.Connected(0, true, 1<<20)
	}
	got := ""
	for _, r := range c.Take().Replies {
		if len(r.Chunks) > 0 {
			got = r.To.Machine.Name
		}
	}
	if got != "other" {
		t.Errorf("the task goes to %q", got)
	}
}

// The second chunk of a reply is a part of what the first one leaves.
func TestChunksOfOneReply(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "n", Redundancy: 1,
		Manifest: testManifest(queens.MaxN, []uint64{1000})}
	c, p := coreOf(h), process("a/p")
	request := func(number uint64, want int) []queens.Range {
		r := queens.WorkRequest{Number: number, Want: want, Threads: 1, Searchers: 1, Seen: number - 1}
		c.WorkRequested(2*time.Second, &Request{From: p, WorkRequest: r})
		return c.Take().Replies[0].Chunks
	}
	c.Take()
	first := request(1, 1)[0]
	c.Delivered(2*time.Second, &Delivery{From: p, Results: []CheckedResult{{
		Result: queens.Result{Range: first, Counted: first, Counts: []uint64{5}, Kernel: generic,
			Searched: time.Millisecond}}}})
	c.Take()
	// a quarter of 999 tasks, and a quarter of the other 750
	if chunks := request(2, 2); len(chunks) != 2 || chunks[0].Tasks != 249 || chunks[1].Tasks != 187 {
		t.Errorf("chunks %v", chunks)
	}
}

// A process without a result holds up to 256 chunks, however often it asks.
func TestNewcomerHoldsFew(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "n", Redundancy: 1,
		Manifest: testManifest(queens.MaxN, []uint64{2 * newcomerChunks})}
	c, r := coreOf(h), queens.WorkRequest{Want: newcomerChunks - 1, Threads: 1, Searchers: 1}
	for _, want := range []int{newcomerChunks - 1, 1, 0} {
		c.Take()
		r.Number++
		r.Seen = r.Number - 1
		c.WorkRequested(0, &Request{From: process("a/p"), WorkRequest: r})
		got := 0
		for _, reply := range c.Take().Replies {
			got += len(reply.Chunks)
			for _, chunk := range reply.Chunks {
				r.Held = append(r.Held, queens.Held{Range: chunk})
			}
		}
		if got != want {
			t.Errorf("request %d gets %d chunks, want %d", r.Number, got, want)
		}
	}
}

// A run waits for recounts only if nobody counts meanwhile.
func TestWaitsForRecounts(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "n", Redundancy: 1,
		Manifest: testManifest(queens.MaxN, []uint64{1})}
	c := coreOf(h)
	r := queens.WorkRequest{Number: 1, Want: 1, Threads: 1, Searchers: 1}
	c.WorkRequested(0, &Request{From: process("a/p"), WorkRequest: r})
	c.judge.unsettled[0] = true
	if reason, _ := c.waitReason(0); reason != "" {
		t.Errorf("while a task is held, the run waits for %s", reason)
	}
	for _, h := range c.queue.holdsOf(process("a/p")) {
		c.queue.release(h, false)
	}
	if reason, _ := c.waitReason(0); reason != queens.Recounting {
		t.Errorf("when no task is held, the run waits for %q", reason)
	}
}
