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

func anyMachine(queens.Machine) bool { return true }

// Nothing is left of a worker that is forgotten, or of its machine and its user.
func TestForgotten(t *testing.T) {
	f := newFleet(0, anyMachine)
	for _, name := range []string{"a/1", "a/2", "bob/b/1"} {
		f.set(f.hear(0, process(name), true), false)
	}
	f.forget(remembered - 1)
	if len(f.workers) != 3 {
		t.Errorf("%d workers are remembered", len(f.workers))
	}
	f.forget(remembered)
	if left := len(f.workers) + len(f.numbers) + f.away.Len() + len(f.users) + len(f.largest) +
		len(f.computers) + len(f.labels.taken) + len(f.labels.names); left > 0 {
		t.Errorf("%d things are left: %+v", left, f)
	}
}

// While there is no room, a new worker takes the place of one that is away, or else of the worker
// of the user with the most workers from which nothing was heard for longest. Of two users with
// equally many, none pushes out the other.
func TestWhoGoes(t *testing.T) {
	f := newFleet(0, anyMachine)
	of := func(user string, i int) queens.Process {
		return queens.Process{Machine: testkit.Machine(user + "/m"), Name: fmt.Sprint(i)}
	}
	for i := range mostWorkers / 2 {
		f.hear(0, of("alice", i), true)
		f.hear(0, of("bob", i), true)
	}
	if isRoom, goes := f.takes(of("bob", mostWorkers)); isRoom || goes != nil {
		t.Errorf("there is room: %v; goes: %+v", isRoom, goes)
	}
	f.hear(time.Second, of("alice", 0), true)
	f.hear(time.Second, of("bob", 0), true)
	isRoom, goes := f.takes(of("carol", 0))
	if isRoom || goes == nil || goes.process.Name != "1" {
		t.Fatalf("there is room: %v; goes: %+v", isRoom, goes)
	}
	away, later := f.workers[of("bob", 7)], f.workers[of("bob", 6)]
	f.set(away, false)
	f.set(later, false)
	if isRoom, goes := f.takes(of("bob", mostWorkers)); !isRoom || goes != nil ||
		f.workers[away.process] != nil || f.workers[later.process] == nil {
		t.Errorf("there is room: %v; goes: %+v", isRoom, goes)
	}
	f.hear(0, of("carol", 0), true)
	f.set(later, true)
	// bob has one worker less than alice: a new one of his would only change places with one of hers
	if isRoom, goes := f.takes(of("bob", mostWorkers)); isRoom || goes != nil {
		t.Errorf("there is room: %v; goes: %+v", isRoom, goes)
	}
}

// The user with the most workers is known after each worker that comes or is forgotten.
func TestLargestUser(t *testing.T) {
	f := newFleet(0, anyMachine)
	for _, step := range []struct {
		name  string
		comes bool
		want  string
	}{
		{"bob/m/1", true, "bob"}, {"alice/m/1", true, ""}, {"alice/m/2", true, "alice"},
		{"alice/m/3", true, "alice"}, {"bob/m/2", true, "alice"}, {"alice/m/1", false, ""},
		{"alice/m/2", false, "bob"}, {"bob/m/1", false, ""}, {"bob/m/2", false, "alice"},
	} {
		p := process(step.name)
		if step.comes {
			f.hear(0, p, true)
		} else {
			f.set(f.workers[p], false)
			f.remove(f.workers[p])
		}
		if user := f.largest[0].user; step.want != "" && user != step.want {
			t.Errorf("after %s: the largest user is %s, want %s", step.name, user, step.want)
		}
	}
}

// coreOf returns the core of a run with one class that begins at time 0.
func coreOf(h *ledger.Header) *Core {
	return New(0, ledger.NewState(h), Options{Instance: 1, Version: "v", At: time.Unix(1e9, 0),
		Machine: "home", Kernels: []string{generic}, Shares: testShares(&h.Manifest),
		TaskBytes: []int{100}, ReplyBytes: 1 << 20})
}

// What a worker holds waits again when the worker has to go for another one.
func TestTasksOfWhoGoes(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "n", Redundancy: 1,
		Manifest: testManifest(queens.MaxN, []uint64{2})}
	c := coreOf(h)
	ask := func(name string) []queens.Range {
		c.Take()
		r := queens.WorkRequest{Number: 1, Want: 1, Threads: 1, Searchers: 1}
		c.WorkRequested(0, &Request{From: process(name), WorkRequest: r})
		for _, r := range c.Take().Replies {
			if r.To == process(name) {
				return r.Chunks
			}
		}
		return nil
	}
	first := ask("alice/m/first")
	for i := 1; i < mostWorkers; i++ {
		c.fleet.hear(0, process(fmt.Sprintf("alice/m/%d", i)), true)
	}
	if chunks := ask("bob/m/p"); len(first) == 0 || !slices.Equal(chunks, first) {
		t.Errorf("the worker that goes held %v, and the one that comes gets %v", first, chunks)
	}
	f := c.fleet
	if f.workers[process("alice/m/first")] != nil || len(f.workers) != mostWorkers ||
		f.sums.workers != mostWorkers || f.heard.Len() != mostWorkers {
		t.Errorf("%d workers are known, %d present, %d in order", len(f.workers), f.sums.workers,
			f.heard.Len())
	}
}
