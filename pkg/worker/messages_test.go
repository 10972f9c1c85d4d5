package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker"
)

// A request says which program asks, and with what it counts. A device is one searcher, whatever
// the number of its threads.
func TestRequestsSayWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{request: endless(1), deliver: recorded}
		device := &kerneltest.Fake{CountTasks: func(context.Context, []queens.Task, *atomic.Uint64,
			[]uint64) (int, error) {
			return 0, errors.New("broken") // which ends the worker
		}}
		stop, ended := start(t, tr, device.Kernel(t), 3, func(c *worker.Config) { c.Host = "lab" })
		defer stop()
		if err := <-ended; err == nil {
			t.Error("a worker with a broken kernel ends without an error")
		}
		if r := tr.requests[0]; r.Host != "lab" || r.Version != "v" || r.Kernel != "fake" ||
			r.Threads != 3 || r.Searchers != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// A worker asks for work when its searchers are ready, not before.
func TestSearchersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{request: endless(1), deliver: recorded}
		slow := lasting(time.Second)
		slow.New = func() error {
			time.Sleep(5 * time.Second)
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.New(config(slow.Kernel(t), 2), tr).Run(ctx) }()
		time.Sleep(4 * time.Second)
		if tr.isHeard() {
			t.Error("the worker listens before it can search")
		}
		time.Sleep(2 * time.Second)
		if !tr.isHeard() {
			t.Error("the worker does not listen")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A delivery that gets no receipts is sent again a second later.
func TestDeliversAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []time.Time
		tr := &transport{request: endless(1)}
		tr.deliver = func(d *queens.Delivery) *queens.DeliveryReply {
			sent = append(sent, time.Now())
			if len(sent) == 1 {
				return nil
			}
			return recorded(d)
		}
		stop, ended := start(t, tr, lasting(time.Second).Kernel(t), 1)
		time.Sleep(4 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(sent) < 2 {
			t.Fatal("the first delivery is not sent again")
		}
		if again := sent[1].Sub(sent[0]); again != 1010*time.Millisecond { // with the way
			t.Errorf("the first delivery is sent again after %v", again)
		}
	})
}

// slow is a transport whose first request is lost, which its sender notices after 8 s.
type slow struct{ *transport }

func (s slow) RequestWork(
	ctx context.Context, run string, from queens.Process, r *queens.WorkRequest,
) (*queens.WorkReply, error) {
	if r.Number > 1 {
		return s.transport.RequestWork(ctx, run, from, r)
	}
	time.Sleep(8 * time.Second)
	return nil, errors.New("lost")
}

// A request without a reply is not logged if a newer one got a reply: the coordinator may have
// dropped the older one.
func TestReplacedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		tr := &transport{request: endless(1), deliver: recorded}
		cfg := config(lasting(time.Second).Kernel(t), 1)
		logTo(&log)(&cfg)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.New(cfg, slow{tr}).Run(ctx) }()
		synctest.Wait()
		for range 6 {
			tr.hear(queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true})
			time.Sleep(2 * time.Second)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(tr.requests) == 0 || strings.Contains(log.String(), noReply) {
			t.Errorf("%d newer requests; the log:\n%s", len(tr.requests), &log)
		}
	})
}

// A search that does not advance is not listed after 6 s, and the others are.
func TestStalledSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hand, advances := endless(1), lasting(time.Minute)
		tr := &transport{deliver: recorded}
		tr.request = func(r *queens.WorkRequest) *queens.WorkReply {
			reply := hand(r)
			if r.Number == 1 {
				reply.Chunks[0].Board = queens.FullBoard(9)
			}
			return reply
		}
		kernel := &kerneltest.Fake{Count: func(ctx context.Context, b *queens.Board,
			p []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
			if b.N == 9 {
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			return advances.Count(ctx, b, p, pulse)
		}}
		stop, ended := start(t, tr, kernel.Kernel(t), 2)
		listed := func() (searches []uint64) { // their first tasks
			synctest.Wait()
			tr.mu.Lock()
			defer tr.mu.Unlock()
			for _, h := range tr.requests[len(tr.requests)-1].Held {
				if h.Searched > 0 {
					searches = append(searches, h.First)
				}
			}
			return searches
		}
		time.Sleep(4500 * time.Millisecond)
		if has := listed(); !slices.Equal(has, []uint64{0, 1}) {
			t.Errorf("the searches %v are listed after 4.5 s", has)
		}
		time.Sleep(10 * time.Second)
		if has := listed(); !slices.Equal(has, []uint64{1}) {
			t.Errorf("the searches %v are listed after 14.5 s", has)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A worker that is told to end while it tests its kernels ends without an error.
func TestLeavesInSelfTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(c *worker.Config) {
			c.SelfTest = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		}
		stop, ended := start(t, &transport{}, lasting(time.Second).Kernel(t), 1, waits)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// While there is no connection, a worker that searches nothing says why.
func TestWaitsForServer(t *testing.T) {
	problem := "no route to host"
	cfg := worker.Config{Kernel: lasting(time.Second).Kernel(t), Threads: 1,
		Problem: func() string { return problem }}
	w := worker.New(cfg, &transport{})
	if wait := w.Waits(w.Stats()); wait.Reason != queens.NoServer || wait.Why != problem {
		t.Errorf("waits for %+v", wait)
	}
	problem = ""
	if wait := w.Waits(w.Stats()); wait.Reason != queens.NoCoordinator {
		t.Errorf("waits for %+v", wait)
	}
}
