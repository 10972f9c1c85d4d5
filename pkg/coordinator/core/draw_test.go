package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// drawn returns what a seed draws: the spot checks of many tasks, the first checks of many
// machines, and the task that is recounted last.
func drawn(seed [32]byte) (tasks []uint64, first, last string) {
	d := draw{seed: seed, share: 0.25}
	for task := range uint64(2000) {
		if d.has(task) {
			tasks = append(tasks, task)
		}
	}
	for machine := range 200 {
		first += fmt.Sprint(d.first(fmt.Sprint("machine-", machine)))
	}
	return tasks, first, fmt.Sprint(d.last(1 << 40))
}

// Every bit of the seed changes every draw, and each draw has its share.
func TestDrawsNeedTheSeed(t *testing.T) {
	tasks, first, last := drawn([32]byte{})
	for bit := range 256 {
		var seed [32]byte
		seed[bit/8] = 1 << (bit % 8)
		otherTasks, otherFirst, otherLast := drawn(seed)
		if slices.Equal(tasks, otherTasks) || first == otherFirst || last == otherLast {
			t.Errorf("bit %d of the seed leaves a draw as it is", bit)
		}
		if n := len(otherTasks); n < 400 || n > 600 {
			t.Errorf("%d of 2000 tasks are drawn at 25%%", n)
		}
	}
	for number := 1; number <= firstChecks; number++ {
		if !slices.Contains([]byte(first), byte('0'+number)) {
			t.Errorf("count %d of a machine is never its first check", number)
		}
	}
}

// Of the first counts of each machine of each user, one is checked that the secret draws for it,
// even if hardly any task is drawn.
func TestFirstChecks(t *testing.T) {
	h := &ledger.Header{
		Format: ledger.Format, Run: "n", Manifest: testManifest(queens.MaxN, []uint64{firstChecks}),
		Redundancy: 1, SpotCheck: 1e-9,
	}
	drawn := map[uint64]bool{}
	for user := range 40 {
		j := newJudge(ledger.NewState(h), "home", []string{generic})
		for task := range uint64(firstChecks) {
			j.counts(queens.Machine{User: fmt.Sprint("user", user), Name: "m"}, task)
		}
		if len(j.checks) != 1 {
			t.Errorf("%d of the first counts are checked", len(j.checks))
		}
		for task := range j.checks {
			drawn[task] = true
		}
	}
	if len(drawn) < 2 {
		t.Error("of machines with one name, the same count is checked")
	}
}

// A count of a banned machine is no check of an equal one, and a check that it made is due again.
func TestVoidCountIsNoCheck(t *testing.T) {
	h := &ledger.Header{
		Format: ledger.Format, Run: "n", Manifest: testManifest(queens.MaxN, []uint64{2}),
		Redundancy: 1, SpotCheck: 1,
	}
	s := ledger.NewState(h)
	for _, machine := range []string{"a", "b"} {
		if _, err := s.Apply(&ledger.Result{Machine: testkit.Machine(machine),
			Range: queens.Range{Tasks: 1}, Counts: []uint64{5}, At: time.UnixMilli(0)}); err != nil {
			t.Fatal(err)
		}
	}
	c := New(0, s, Options{Instance: 1, Version: "v", At: time.Unix(1e9, 0), Machine: "home",
		Kernels: []string{generic}, Shares: testShares(&h.Manifest), TaskBytes: []int{100},
		ReplyBytes: 1 << 20})
	if need := c.judge.need(0); need != needNothing {
		t.Errorf("with both counts, the task needs %d", need)
	}
	ban := queens.Ban{Machine: testkit.Machine("b")}
	c.record(0, &ledger.Ban{Ban: ban, At: time.UnixMilli(0)}, nil)
	if need := c.judge.need(0); need != needCheck || c.queue.waits() != 2 {
		t.Errorf("the task needs %d, and %d tasks wait", need, c.queue.waits())
	}
	if need := newJudge(s, "home", []string{generic}).need(0); need != needCheck {
		t.Errorf("after a restart, the task needs %d", need)
	}
}

// A machine can't tell which of its counts are checked: until every task is counted, the
// coordinator says the same to it whatever the secret is. (Its chunks have one task each here. The
// number of tasks in later chunks depends on all that waits, checks included.)
func TestDrawsAreHidden(t *testing.T) {
	type drawnBy struct {
		said   string
		checks []uint64
	}
	var by []drawnBy
	for secret := range byte(3) {
		h := &ledger.Header{
			Format: ledger.Format, Run: "n", Manifest: testManifest(queens.MaxN, []uint64{40}),
			Redundancy: 1, SpotCheck: 0.25, Secret: ledger.Secret{secret},
		}
		c := New(0, ledger.NewState(h), Options{
			Instance: 1, Version: "v", At: time.Unix(1e9, 0), Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20,
		})
		c.Tick(0)
		var d drawnBy
		say := func() {
			out := c.Take()
			d.said += fmt.Sprintf("%+v %+v %v %v\n", out.Replies, out.OnDisk, out.Recount, out.Announce)
		}
		say()
		process := queens.Process{Machine: testkit.Machine("a"), Name: "a"}
		for number := range uint64(39) {
			now := time.Duration(number+1) * time.Second
			r := &Request{From: process,
				WorkRequest: queens.WorkRequest{Number: number + 1, Want: 1, Searchers: 1, Threads: 1}}
			c.WorkRequested(now, r)
			say()
			chunk := queens.Range{First: number, Tasks: 1}
			result := CheckedResult{Result: queens.Result{Range: chunk, Counted: chunk, Counts: []uint64{5},
				Searched: time.Minute}}
			c.Delivered(now, &Delivery{From: process, Results: []CheckedResult{result}})
			say()
		}
		for task := range c.judge.checks {
			d.checks = append(d.checks, task)
		}
		slices.Sort(d.checks)
		by = append(by, d)
	}
	for _, d := range by[1:] {
		if slices.Equal(d.checks, by[0].checks) || len(d.checks) < 4 {
			t.Errorf("two secrets draw %v and %v", by[0].checks, d.checks)
		}
		if d.said != by[0].said {
			t.Errorf("the coordinator says\n%s\nand with another secret\n%s", by[0].said, d.said)
		}
	}
}
