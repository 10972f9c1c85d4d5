package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// These tests run with a real server and bus.

// startReal starts a worker that ends with ctx; the group waits for it.
func startReal(ctx context.Context, t *testing.T, group *sync.WaitGroup, b *bus.Bus, k kernel.Kernel, threads int) {
	t.Helper()
	w := worker.New(worker.Config{
		Name: worker.NewName(), Identity: identitytest.Of("w"), Version: "v", Kernel: k, Threads: threads, Lease: bus.DefaultLease, Log: zerolog.Nop(),
	}, b.Queue(), b.Results(), b.Telemetry())
	group.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// startAnnouncements sends announcements of runs until ctx ends.
func startAnnouncements(ctx context.Context, t *testing.T, group *sync.WaitGroup, b *bus.Bus, runs ...string) {
	t.Helper()
	group.Go(func() {
		for ctx.Err() == nil {
			for _, name := range runs {
				if err := b.Telemetry().PublishAnnouncement(run.Announcement{
					Run: name, Epoch: 1, State: run.Running, Waiting: 1, Weight: 1, Threads: 6,
				}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(run.AnnouncementInterval / 10): // so that the test is short
			}
		}
	})
}

// Several workers with a real server count each task of two runs as the oracle does.
func TestAgainstTheOracle(t *testing.T) {
	const n = 8
	runs := []string{"oracle", "delphi"}
	b := bustest.Connect(t, bustest.Server(t))
	want := make(map[uint64]uint64)
	board := queens.FullBoard(n)
	tasks := make([][]queens.Prefix, n)
	for column := range n {
		want[uint64(column)] = oracle.Count(n, func(int, int) bool { return true }, []int{column})
		tasks[column] = []queens.Prefix{queens.Prefix{}.Place(&board, 1<<column)}
	}
	for _, name := range runs {
		bustest.Ensure(t, b, name)
		for first, id := 0, uint64(1); first < n; first, id = first+3, id+1 {
			c := run.Chunk{Run: name, ID: id, Board: board, First: uint64(first), Tasks: tasks[first:min(n, first+3)]}
			if _, err := b.Tasks().Publish(t.Context(), &c); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), testkit.Stall)
	defer stop()
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for range 3 {
		startReal(ctx, t, &workers, b, generic, 2)
	}
	startAnnouncements(ctx, t, &workers, b, runs...)
	for _, name := range runs {
		reading, done := context.WithCancel(ctx)
		got := make(map[uint64]uint64)
		if err := b.Results().Read(reading, name, run.StreamPosition{}, func(r run.ChunkResult, _ run.StreamPosition) {
			for i := range r.Counts {
				got[r.First+uint64(i)] = r.Counts[i].Count
			}
			if len(got) == len(want) {
				done()
			}
		}, func(time.Time) {}); err != nil {
			t.Fatal(err)
		}
		done()
		for id, count := range want {
			if got[id] != count {
				t.Errorf("run %s, task %d: counted %d, the oracle %d", name, id, got[id], count)
			}
		}
	}
	stop()
	workers.Wait()
	bustest.NoGoroutines(t, "nqueens/pkg/worker.(*Worker)")
}

// With a real server, the heartbeat of a worker that searches a released chunk names it, and the
// chunk is back in the queue when the worker has stopped.
func TestReleasedChunk(t *testing.T) {
	b := bustest.Connect(t, bustest.Server(t))
	bustest.Ensure(t, b, "r")
	want := chunk(7, 2)
	if _, err := b.Tasks().Publish(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	q := b.Queue()
	take := func() (loan run.Loan) {
		t.Helper()
		testkit.Eventually(t, "the consumer has the chunk", func() bool {
			loans, err := q.Take(t.Context(), "r", 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(loans) == 1 {
				loan = loans[0]
			}
			return len(loans) == 1
		})
		return loan
	}
	if err := take().Lease.Release(); err != nil {
		t.Fatal(err)
	}
	heard := make(chan run.HeldChunk, 1)
	unsubscribe, err := b.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
		if len(h.Held) > 0 && h.Held[0].Searching { // one before may name it while it waits for the thread
			select {
			case heard <- h.Held[0]:
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	ctx, stop := context.WithTimeout(t.Context(), testkit.Stall)
	defer stop()
	var group sync.WaitGroup
	startReal(ctx, t, &group, b, fakeKernel(t, lasting(time.Hour)), 1)
	startAnnouncements(ctx, t, &group, b, "r")
	select {
	case got := <-heard:
		if got.Run != "r" || got.Chunk != 7 || !got.Searching {
			t.Errorf("heard of %+v, want the search of chunk 7", got)
		}
	case <-ctx.Done():
		t.Error("no heartbeat names the chunk")
	}
	stop()
	group.Wait()
	bustest.NoGoroutines(t, "nqueens/pkg/worker.(*Worker)")
	if loan := take(); loan.Chunk.ID != 7 || loan.Lease.Redelivered() < 2 {
		t.Errorf("then took %v, want chunk 7 again", loan)
	}
	q.Close()
}
