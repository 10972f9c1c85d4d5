package bus_test

import (
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestNextReturnsPublishedTasks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	queue := queue(t, s.other)
	for id := range uint64(3) {
		want := task("n8-a", id)
		publishTask(t, s.bus, want)
		if got, _ := take(t, queue); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v arrives as %+v", want, got)
		}
	}
}

// Several workers share the tasks: no task goes to two of them.
func TestQueuesShareTasks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const total = 60
	type taken struct {
		id    uint64
		lease run.Lease
	}
	all := make(chan taken, 2*total)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var queues sync.WaitGroup
	for i := range 4 {
		queue := []*bus.Bus{s.bus, s.other}[i%2].Queue()
		queues.Go(func() {
			for {
				task, lease, err := queue.Next(ctx)
				if err != nil {
					return
				}
				all <- taken{task.ID, lease}
			}
		})
	}
	for id := range uint64(total) {
		publishTask(t, s.bus, task("n8-a", id))
	}
	seen := make(map[uint64]bool)
	for range total {
		select {
		case next := <-all:
			if seen[next.id] {
				t.Errorf("task %d is delivered twice", next.id)
			}
			seen[next.id] = true
			if err := next.lease.Ack(t.Context()); err != nil {
				t.Error(err)
			}
		case <-time.After(testkit.Stall):
			t.Fatalf("%d of %d tasks came, and no more within %v", len(seen), total, testkit.Stall)
		}
	}
	stop()
	queues.Wait()
}

// A queue requests no more than it returns: the rest stays for other workers.
func TestNextPrefetchesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(3) {
		publishTask(t, s.bus, task("n8-a", id))
	}
	first, second := queue(t, s.bus), queue(t, s.other)
	take(t, first)
	take(t, second)
	take(t, second)
	if held := s.consumer(t).NumAckPending; held != 3 {
		t.Errorf("%d tasks are held, want 3", held)
	}
}

func TestGarbageIsTerminatedCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	s := newScene(t, logTo(&log))
	flood := append([]byte{0xff, 0xfe, 0xfd}, make([]byte, 5000)...)
	for range 3 {
		s.raw(t, "nq.task.n8-flood", flood)
	}
	s.raw(t, "nq.task.n8-drop", []byte("hello"))
	s.raw(t, "nq.task.n8-empty", nil)
	want := task("n8-a", 7)
	publishTask(t, s.bus, want)

	if got, _ := take(t, queue(t, s.bus)); got.ID != want.ID {
		t.Errorf("task %d comes, want %d", got.ID, want.ID)
	}
	check(t, "rejected messages", s.bus.Rejected(), 5)
	check(t, "messages rejected by the other bus", s.other.Rejected(), 0)
	testkit.Eventually(t, "the garbage is gone from the stream", func() bool {
		return s.stream(t, tasks).State.Msgs == 1
	})
	check(t, "log lines", len(log.Lines("")), 3)
	for subject, data := range map[string][]byte{"nq.task.n8-flood": flood, "nq.task.n8-drop": []byte("hello"), "nq.task.n8-empty": nil} {
		lines := log.Lines(subject)
		if len(lines) != 1 {
			t.Errorf("%d log lines name %s, want 1", len(lines), subject)
			continue
		}
		if begin := hex.EncodeToString(data[:min(len(data), 8)]); !strings.Contains(lines[0], begin) || len(lines[0]) > 500 {
			t.Errorf("the log line is %q, want one with %q and no more than the beginning", lines[0], begin)
		}
	}
}

// A task of another protocol version stays for workers that can read it, and does not block
// the tasks behind it.
func TestTasksOfAnotherVersionStayQueued(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log bustest.Log
	s := newScene(t, logTo(&log))
	s.raw(t, "nq.task.n8-a", otherVersion(t))
	publishTask(t, s.bus, task("n8-a", 7))
	queue := queue(t, s.bus)
	got, lease := take(t, queue)
	check(t, "the task that comes", got.ID, 7)
	if err := lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "rejected messages", s.bus.Rejected(), 1)
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	if lines := log.Lines("version 2"); len(lines) != 1 || !strings.Contains(lines[0], "version 1") {
		t.Errorf("log lines that name both versions: %q", lines)
	}

	// It is delivered to this program again, but only after a while.
	rejected := time.Now()
	follow(t, queue)
	testkit.Eventually(t, "the task comes again", func() bool { return s.bus.Rejected() == 2 })
	if since := time.Since(rejected); since < 2*time.Second {
		t.Errorf("it comes again after %v", since)
	}
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	check(t, "log lines", len(log.Lines("version")), 1)
}

func TestNextReturnsTheCauseOfItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	bare := bustest.Connect(t, bustest.Server(t))
	gone := bustest.Server(t)
	lost := bustest.Connect(t, gone)
	gone.Stop()
	why := errors.New("the reason")
	for name, queue := range map[string]*bus.Queue{
		"waiting for a task":      queue(t, s.bus),
		"waiting for the streams": queue(t, bare),
		"waiting for the server":  queue(t, lost),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			returned := make(chan error, 1)
			go func() {
				_, _, err := queue.Next(ctx)
				returned <- err
			}()
			if name == "waiting for a task" {
				s.waiting(t)
			}
			cancel(why)
			if err := receive(t, returned, "Next returns"); !errors.Is(err, why) {
				t.Errorf("it returns %v, want %v", err, why)
			}
		})
	}
}

// A task that is sent to a worker while it leaves goes to another worker at once, not only
// after its lease has lapsed.
func TestTasksSentToALeavingWorkerAreRedelivered(t *testing.T) {
	t.Parallel()
	const seed, rounds = 8, 60
	rng := rand.New(rand.NewPCG(seed, 0))
	s := newScene(t, lease(time.Hour))
	successor := queue(t, s.other)
	released := 0
	for round := range uint64(rounds) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for leaving := s.bus.Queue(); ; released++ {
				_, lease, err := leaving.Next(ctx)
				if err != nil {
					return
				}
				<-ctx.Done()
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		}()
		s.waiting(t)
		delay := time.Duration(rng.IntN(250)) * time.Microsecond
		time.AfterFunc(delay, cancel)
		publishTask(t, s.other, task("n8-a", round))
		<-ended

		got, lease, err := successor.Next(within(t, testkit.Stall))
		if err != nil {
			t.Fatalf("seed %d, round %d, cancelled after %v: no task: %v", seed, round, delay, err)
		}
		check(t, "the task that comes", got.ID, round)
		if err := lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("in %d of %d rounds the leaving worker released the task", released, rounds)
}
