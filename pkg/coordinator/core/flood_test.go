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

// A user takes tasks in the names of ever more processes, until it gets no more. Another user gets
// tasks at once, and another worker of the same user when holds are overdue.
func TestManyHolds(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "flood", Redundancy: 1,
		Manifest: testManifest(20, []uint64{2 * mostHeld})}
	c := New(0, ledger.NewState(h),
		Options{Instance: 1, Version: "v", Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{1}, ReplyBytes: 1 << 20})
	ask := func(now time.Duration, user, name string) (held int) {
		from := queens.Process{Machine: queens.Machine{User: user, Name: name}, Name: name}
		c.WorkRequested(now, &Request{From: from, WorkRequest: queens.WorkRequest{Number: 1,
			Threads: 1000, Searchers: 1000, Want: 1000}})
		c.Take()
		return len(c.queue.holds[from])
	}
	names := 0
	for ask(time.Second, "hoarder", fmt.Sprint(names)) > 0 {
		names++
	}
	t.Logf("%d names hold %d tasks", names, c.queue.heldTasks)
	if c.queue.heldTasks > mostHeld {
		t.Errorf("%d tasks are held", c.queue.heldTasks)
	}
	if held := ask(time.Second, "honest", "a"); held != newcomerChunks {
		t.Errorf("another user gets %d tasks", held)
	}
	if held := ask(time.Second+overdueAfter, "hoarder", "honest"); held != 1 {
		t.Errorf("another worker of the user gets %d tasks", held)
	}
}

// Pages have every present worker once, in the order of their numbers.
func TestPages(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "pages", Redundancy: 1,
		Manifest: testManifest(20, []uint64{8})}
	c := New(0, ledger.NewState(h),
		Options{Instance: 1, Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20})
	const workers = 2*queens.MaxPage + 10
	for i := range workers {
		c.WorkRequested(time.Second, &Request{
			From:        queens.Process{Machine: testkit.Machine(fmt.Sprint("m", i)), Name: "p"},
			WorkRequest: queens.WorkRequest{Number: 1, Threads: 1, Searchers: 1, Leaving: i%10 == 0}})
	}
	var all []string
	for next, more := uint64(0), true; more; more = next > 0 {
		var page []queens.Worker
		page, next = c.Workers(time.Second, next)
		if len(page) > queens.MaxPage {
			t.Errorf("a page has %d workers", len(page))
		}
		for _, w := range page {
			all = append(all, w.Name)
		}
	}
	var want []string
	for i := range workers {
		if i%10 != 0 {
			want = append(want, fmt.Sprint("m", i))
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("%d workers are on the pages, not %d", len(all), len(want))
	}
}

// A snapshot of a large fleet has its sums, and lists silent, banned, slow and fast workers.
func TestLargeFleetIsShown(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "large", Redundancy: 1,
		Manifest: testManifest(20, []uint64{1000})}
	c := New(0, ledger.NewState(h),
		Options{Instance: 1, At: time.Unix(1e9, 0), Version: "v", Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20})
	process := func(i int) queens.Process {
		return queens.Process{Machine: testkit.Machine(fmt.Sprintf("m%03d", i)), Name: "p"}
	}
	ask := func(now time.Duration, i int, number uint64) {
		c.WorkRequested(now, &Request{From: process(i), WorkRequest: queens.WorkRequest{Number: number,
			Threads: 4, Searchers: 2, Want: 1}})
	}
	banned := &ledger.Ban{Ban: queens.Ban{Machine: process(77).Machine}}
	if _, err := c.state.Apply(banned); err != nil {
		t.Fatal(err)
	}
	const workers = 300
	for i := range workers {
		ask(time.Second, i, 1)
		replies := c.Take().Replies
		if i == 77 {
			continue
		}
		chunk := replies[0].Chunks[0]
		c.Delivered(time.Second, &Delivery{From: process(i), Results: []CheckedResult{{
			Result: queens.Result{Range: chunk, Counted: chunk, Counts: make([]uint64, chunk.Tasks),
				Kernel: "avx2", Searched: time.Duration(1+(i*7)%workers) * time.Second}}}})
	}
	for i := range workers {
		if i != 123 {
			ask(9*time.Second, i, 2)
		}
	}
	s := c.Snapshot(12 * time.Second)
	listed := map[string]bool{}
	for _, w := range s.WorkerList {
		listed[w.Name] = true
	}
	// m077 is banned, m123 silent. The fastest search for 1 to 3 s, the slowest for 299 and 300 s.
	for _, name := range []string{"m077", "m123", "m043", "m086", "m257", "m214"} {
		if !listed[name] {
			t.Errorf("worker %s is not listed", name)
		}
	}
	if len(s.WorkerList) != queens.MaxWorkers || s.Workers != workers || s.Threads != 4*workers ||
		s.Machines != workers {
		t.Errorf("%d workers are listed; the sums are %+v", len(s.WorkerList), *s.Live)
	}
}

// If one user has as many names as are remembered, another user still gets room, up to as many as
// the first.
func TestUsersShareRoom(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "flood", Redundancy: 1,
		Manifest: testManifest(20, []uint64{8})}
	c := New(0, ledger.NewState(h),
		Options{Instance: 1, Version: "v", Machine: "home", Kernels: []string{generic},
			Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20})
	ask := func(user string, i int) *worker {
		p := queens.Process{Machine: queens.Machine{User: user, Name: "a"}, Name: fmt.Sprint(i)}
		c.WorkRequested(time.Second, &Request{From: p,
			WorkRequest: queens.WorkRequest{Number: 1, Threads: 1, Searchers: 1, Want: 1}})
		c.Take()
		return c.fleet.workers[p]
	}
	for i := range mostWorkers + 10 {
		ask("flood", i)
	}
	for i := range 1000 {
		if ask("honest", i) == nil {
			t.Fatalf("worker %d has no room", i)
		}
	}
	if ask("flood", mostWorkers+20) != nil {
		t.Error("the flood pushes out others")
	}
	if w := ask("honest", 0); w == nil || len(c.fleet.workers) != mostWorkers {
		t.Errorf("%d workers are remembered; the honest one is %v", len(c.fleet.workers), w)
	}
	if held := len(c.queue.holds); held == 0 || c.queue.waits()+uint64(held) > 8 {
		t.Errorf("%d tasks wait, and %d workers hold others", c.queue.waits(), held)
	}
}
