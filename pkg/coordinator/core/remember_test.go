package core

import (
	"fmt"
	"testing"
	"time"

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
	away := f.workers[of("bob", 7)]
	f.set(away, false)
	if isRoom, goes := f.takes(of("bob", mostWorkers)); !isRoom || goes != nil ||
		f.workers[away.process] != nil {
		t.Errorf("there is room: %v; goes: %+v", isRoom, goes)
	}
}
