package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

func TestReturnGivesTheTaskToAnotherAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t) // with leases of 10 s
	publishTask(t, s.bus, task("n8-a", 7))
	_, lease := take(t, queue(t, s.bus), 5*time.Second)
	taken := follow(t, queue(t, s.other))
	s.waiting(t)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	check(t, "the task that comes", receive(t, taken, 2*time.Second, "the task").ID, 7)
}

// Who takes a task learns whether another has had it before: one who handed it back, or
// one who was not heard of again.
func TestAgainTellsThatATaskWasLentBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publishTask(t, s.bus, task("n8-a", 7))
	_, first := take(t, queue(t, s.bus), 5*time.Second)
	check(t, "lent before, the first time", first.Redelivered(), false)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	_, second := take(t, queue(t, s.other), 5*time.Second)
	check(t, "lent before, having been handed back", second.Redelivered(), true)
	_, third := take(t, queue(t, s.bus), 5*time.Second)
	check(t, "lent before, its lease being over", third.Redelivered(), true)
	publishTask(t, s.bus, task("n8-a", 8))
	other, fourth := take(t, queue(t, s.other), 5*time.Second)
	check(t, "the task that comes", other.ID, 8)
	check(t, "another task lent before", fourth.Redelivered(), false)
}

func TestDoneRemovesTheTask(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishTask(t, s.bus, task("n8-a", 7))
	publishTask(t, s.bus, task("n8-a", 8))
	_, lease := take(t, queue(t, s.bus), 5*time.Second)
	if err := lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	// No waiting: Done has had the server's word for it.
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	check(t, "tasks held", s.consumer(t).NumAckPending, 0)
}

// Who does not extend loses the task when the lease is over, not before; who
// extends keeps it.
func TestLeaseLapsesUnlessExtended(t *testing.T) {
	t.Parallel()
	const length = time.Second
	s := newScene(t, lease(length))
	publishTask(t, s.bus, task("n8-a", 7))
	_, held := take(t, queue(t, s.bus), 5*time.Second)
	taken := follow(t, queue(t, s.other))

	extended := time.Now()
	for deadline := extended.Add(2 * length); time.Now().Before(deadline); {
		select {
		case <-taken:
			t.Fatalf("another has the task %v after it was extended", time.Since(extended))
		case <-time.After(length / 4):
			extended = time.Now()
			if err := held.Extend(); err != nil {
				t.Fatal(err)
			}
		}
	}
	receive(t, taken, 3*length, "the task, its lease being over")
	if since := time.Since(extended); since < length/2 {
		t.Errorf("another has the task %v after it was extended by %v", since, length)
	}
}

// A worker that was stopped past its lease finishes a task that is another's by
// then: the task is gone, and neither is harmed.
func TestLateDoneDoesNoHarm(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publishTask(t, s.bus, task("n8-a", 7))
	_, late := take(t, queue(t, s.bus), 5*time.Second)
	_, second := take(t, queue(t, s.other), 5*time.Second)
	if err := late.Extend(); err != nil {
		t.Errorf("the late one: %v", err)
	}
	if err := late.Ack(t.Context()); err != nil {
		t.Errorf("the late one: %v", err)
	}
	if err := second.Ack(t.Context()); err != nil {
		t.Errorf("the second one: %v", err)
	}
	testkit.Eventually(t, "the task is gone", func() bool {
		return s.stored(t, tasks, "nq.task.n8-a") == 0
	})
	publishTask(t, s.bus, task("n8-a", 8))
	got, _ := take(t, queue(t, s.bus), 5*time.Second)
	check(t, "the task that comes", got.ID, 8)
}

// Ack does not wait for ever for a server that is gone, nor past its context.
func TestDoneEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishTask(t, s.bus, task("n8-a", 7))
	_, lease := take(t, queue(t, s.bus), 5*time.Second)
	s.server.Stop()
	start := time.Now()
	if err := lease.Ack(within(t, 100*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it takes %v", took)
	}
}
