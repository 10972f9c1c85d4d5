package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

func TestReleasedTasksAreRedeliveredAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(time.Hour))
	publishTask(t, s.bus, task("n8-a", 7))
	_, lease := take(t, queue(t, s.bus))
	taken := follow(t, queue(t, s.other))
	s.waiting(t)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	check(t, "the task that comes", receive(t, taken, "the task").ID, 7)
}

// A task counts as redelivered whether its lease was released or has lapsed.
func TestRedeliveredReportsEarlierDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publishTask(t, s.bus, task("n8-a", 7))
	_, first := take(t, queue(t, s.bus))
	check(t, "redelivered at first", first.Redelivered(), false)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	_, second := take(t, queue(t, s.other))
	check(t, "redelivered after a release", second.Redelivered(), true)
	_, third := take(t, queue(t, s.bus))
	check(t, "redelivered after its lease lapsed", third.Redelivered(), true)
	publishTask(t, s.bus, task("n8-a", 8))
	other, fourth := take(t, queue(t, s.other))
	check(t, "the task that comes", other.ID, 8)
	check(t, "another task redelivered", fourth.Redelivered(), false)
}

func TestAckRemovesTheTask(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishTask(t, s.bus, task("n8-a", 7))
	publishTask(t, s.bus, task("n8-a", 8))
	_, lease := take(t, queue(t, s.bus))
	if err := lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Without waiting: the server has confirmed the ack.
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	check(t, "tasks held", s.consumer(t).NumAckPending, 0)
}

// A lease lasts as long as it is extended, and lapses when it is not.
func TestLeasesLapseUnlessExtended(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	for !leaseLastsWhileExtended(t) {
		t.Log("this process stalled for longer than a lease; trying again")
	}
}

// leaseLastsWhileExtended returns false if the lease lapsed rightly, because this process
// was too slow to extend it.
func leaseLastsWhileExtended(t *testing.T) bool {
	const length = time.Second
	s := newScene(t, lease(length))
	publishTask(t, s.bus, task("n8-a", 7))
	extended := time.Now()
	_, held := take(t, queue(t, s.bus))
	taken := follow(t, queue(t, s.other))
	checkLapse := func() {
		t.Helper()
		if since := time.Since(extended); since < length*9/10 {
			t.Fatalf("another worker has the task %v after its lease was extended by %v", since, length)
		}
	}
	for deadline := extended.Add(2 * length); time.Now().Before(deadline); {
		select {
		case <-taken:
			checkLapse()
			return false
		case <-time.After(length / 4):
			extended = time.Now()
			if err := held.Extend(); err != nil {
				t.Fatal(err)
			}
		}
	}
	receive(t, taken, "the task, after its lease has lapsed")
	checkLapse()
	return true
}

// A worker that was suspended beyond its lease acknowledges a task that another worker
// has by then: the task is removed, and both acks succeed.
func TestLateAckIsHarmless(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publishTask(t, s.bus, task("n8-a", 7))
	_, late := take(t, queue(t, s.bus))
	_, second := take(t, queue(t, s.other))
	if err := late.Extend(); err != nil {
		t.Errorf("extend the lapsed lease: %v", err)
	}
	if err := late.Ack(t.Context()); err != nil {
		t.Errorf("late ack: %v", err)
	}
	if err := second.Ack(t.Context()); err != nil {
		t.Errorf("second ack: %v", err)
	}
	testkit.Eventually(t, "the task is gone", func() bool {
		return s.stored(t, tasks, "nq.task.n8-a") == 0
	})
	publishTask(t, s.bus, task("n8-a", 8))
	got, _ := take(t, queue(t, s.bus))
	check(t, "the task that comes", got.ID, 8)
}

// Ack returns when its context ends, without a server too.
func TestAckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishTask(t, s.bus, task("n8-a", 7))
	_, lease := take(t, queue(t, s.bus))
	s.server.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	// Else it would return that the deadline of a request is exceeded.
	if err := lease.Ack(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
