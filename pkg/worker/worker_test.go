package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// transport has functions in place of a server and a coordinator. A request and a delivery take 10
// ms each.
type transport struct {
	hear    func(queens.Announcement)
	request func(*queens.WorkRequest) *queens.WorkReply
	deliver func(*queens.Delivery) *queens.DeliveryReply

	mu        sync.Mutex
	gone      bool // the coordinator replies no more
	fails     error
	requests  []queens.WorkRequest
	delivered []queens.Result
}

func (tr *transport) Announcements(hear func(queens.Announcement)) (func(), error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.hear = hear
	return func() {}, nil
}

// isHeard reports whether the worker listens to announcements.
func (tr *transport) isHeard() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.hear != nil
}

func (tr *transport) RequestWork(
	ctx context.Context, _ string, _ queens.Process, r *queens.WorkRequest,
) (*queens.WorkReply, error) {
	time.Sleep(10 * time.Millisecond)
	tr.mu.Lock()
	tr.requests = append(tr.requests, *r)
	fails := tr.fails
	if fails != nil {
		tr.mu.Unlock()
		return nil, fails
	}
	gone, reply := tr.gone, tr.request(r)
	tr.mu.Unlock()
	return await(ctx, gone, reply)
}

func (tr *transport) Deliver(
	ctx context.Context, _ string, _ queens.Process, d *queens.Delivery,
) (*queens.DeliveryReply, error) {
	time.Sleep(10 * time.Millisecond)
	tr.mu.Lock()
	gone, reply := tr.gone, tr.deliver(d)
	if !gone {
		tr.delivered = append(tr.delivered, d.Results...)
	}
	tr.mu.Unlock()
	return await(ctx, gone, reply)
}

// await returns the reply, or waits until ctx ends if the coordinator is gone.
func await[T any](ctx context.Context, gone bool, reply *T) (*T, error) {
	if gone {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return reply, nil
}

func recorded(d *queens.Delivery) *queens.DeliveryReply {
	reply := &queens.DeliveryReply{Instance: 1, Receipts: make([]queens.Receipt, len(d.Results))}
	for i := range reply.Receipts {
		reply.Receipts[i].Recorded = true
	}
	return reply
}

// endless returns a function that hands out as many chunks as a request wants, each with the given
// number of tasks.
func endless(tasks int) func(*queens.WorkRequest) *queens.WorkReply {
	next := uint64(0)
	return func(r *queens.WorkRequest) *queens.WorkReply {
		reply := &queens.WorkReply{Number: r.Number, Instance: 1}
		for range r.Want {
			c := queens.Chunk{Range: queens.Range{First: next, Tasks: uint64(tasks)},
				Board: queens.FullBoard(8)}
			for range tasks {
				c.Prefixes = append(c.Prefixes, []queens.Prefix{{}})
			}
			next += c.Tasks
			reply.Chunks = append(reply.Chunks, c)
		}
		return reply
	}
}

// config configures a worker whose kernel is not tested: kernels of tests count anything.
func config(k kernel.Kernel, threads int) worker.Config {
	return worker.Config{Process: worker.NewProcess(testkit.Machine("m")), Version: "v", Kernel: k,
		Threads: threads, AtOnce: true, SelfTest: func(context.Context) error { return nil }}
}

// start starts a worker in the synctest bubble of the caller. The worker hears its coordinator
// every 2 s.
func start(
	t *testing.T, tr *transport, k kernel.Kernel, threads int, change ...func(*worker.Config),
) (stop context.CancelFunc, ended chan error) {
	cfg := config(k, threads)
	for _, change := range change {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	w := worker.New(cfg, tr)
	go func() {
		err := w.Run(ctx)
		stop()
		ended <- err
	}()
	synctest.Wait()
	go func() {
		for tr.hear != nil { // nil if the worker has ended before it listened
			tr.hear(queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true})
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
		}
	}()
	return stop, ended
}

// noReply is what the log says of a message without a reply.
const noReply = "got no reply"

// logTo lets a worker log to a builder, which may be read when the worker has ended.
func logTo(log *strings.Builder) func(*worker.Config) {
	return func(c *worker.Config) { c.Log = zerolog.New(zerolog.SyncWriter(log)) }
}

// lasting returns a kernel whose searches take the given time and count 92.
func lasting(d time.Duration) *kerneltest.Fake {
	return &kerneltest.Fake{Count: func(ctx context.Context, _ *queens.Board, _ []queens.Prefix,
		pulse *atomic.Uint64) (uint64, error) {
		for end := time.Now().Add(d); time.Now().Before(end); pulse.Add(1) {
			select {
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			case <-time.After(min(d, 100*time.Millisecond)):
			}
		}
		return 92, nil
	}}
}

// No thread waits for the network while there is work. In 10 s, each of 4 threads searches for 10
// s, minus the first round trip.
func TestThreadsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{request: endless(5), deliver: recorded}
		stop, ended := start(t, tr, lasting(20*time.Millisecond).Kernel(t), 4)
		time.Sleep(10 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		tasks := uint64(0)
		for _, r := range tr.delivered {
			tasks += r.Counted.Tasks
		}
		if most := uint64(4 * 10 * 50); tasks > most || tasks < most-4 {
			t.Errorf("counted %d tasks of 20 ms on 4 threads in 10 s", tasks)
		}
		if n := len(tr.requests); n > 450 { // 400 chunks are begun
			t.Errorf("%d requests", n)
		}
	})
}

// A worker that is told to end delivers its counts, gives the other tasks back and says that it
// leaves, all at once. If the coordinator does not answer, the worker ends within 2 s.
func TestLeaves(t *testing.T) {
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			tr := &transport{request: endless(100), deliver: recorded}
			var log strings.Builder // only read when the worker has ended
			stop, ended := start(t, tr, lasting(time.Second).Kernel(t), 2, logTo(&log))
			time.Sleep(3500 * time.Millisecond)
			tr.mu.Lock()
			tr.gone = !answers
			tr.mu.Unlock()
			begin := time.Now()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			took := time.Since(begin)
			last := tr.requests[len(tr.requests)-1]
			if answers && (took > 100*time.Millisecond || len(tr.delivered) != 2 ||
				tr.delivered[0].Counted.Tasks != 3 || tr.delivered[0].Counts[2] != 92) {
				t.Errorf("took %v, delivered %+v", took, tr.delivered)
			}
			if !last.Leaving || len(last.Held) > 0 || took > 2*time.Second {
				t.Errorf("took %v, last request %+v", took, last)
			}
			if strings.Contains(log.String(), noReply) {
				t.Errorf("messages that the worker has cut off are logged:\n%s", &log)
			}
		})
	}
}

// If its kernel fails or can't be made, a worker gives back what it holds, and ends with an error
// that names the kernel.
func TestKernelFails(t *testing.T) {
	reason := errors.New("broken")
	failing := &kerneltest.Fake{Count: func(context.Context, *queens.Board, []queens.Prefix,
		*atomic.Uint64) (uint64, error) {
		return 0, reason
	}}
	missing := &kerneltest.Fake{New: func() error { return reason }}
	for name, fake := range map[string]*kerneltest.Fake{"count": failing, "new": missing} {
		synctest.Test(t, func(t *testing.T) {
			tr := &transport{request: endless(1), deliver: recorded}
			begin := time.Now()
			stop, ended := start(t, tr, fake.Kernel(t), 2)
			defer stop()
			if err := <-ended; !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
				t.Errorf("%s: error %v", name, err)
			}
			if n := len(tr.requests); n > 0 && !tr.requests[n-1].Leaving {
				t.Errorf("%s: last request %+v", name, tr.requests[n-1])
			}
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("%s: the worker ends after %v", name, took)
			}
		})
	}
}

// A device gets all chunks that wait in one load. Each chunk has its own result.
func TestDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hand, loads := endless(2), 0
		tr := &transport{deliver: recorded, request: func(r *queens.WorkRequest) *queens.WorkReply {
			if r.Want > 0 {
				r.Want = 3
			}
			return hand(r)
		}}
		fake := &kerneltest.Fake{CountTasks: func(_ context.Context, tasks []queens.Task,
			_ *atomic.Uint64, counts []uint64) (int, error) {
			if len(tasks) != 6 {
				t.Errorf("a load of %d tasks", len(tasks))
			}
			time.Sleep(time.Second)
			for i := range counts {
				counts[i] = uint64(10*loads + i)
			}
			loads++
			return len(tasks), nil
		}}
		stop, ended := start(t, tr, fake.Kernel(t), 1)
		time.Sleep(2500 * time.Millisecond)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(tr.delivered) < 6 {
			t.Fatalf("delivered %+v", tr.delivered)
		}
		for i, r := range tr.delivered[:6] {
			first := uint64(10*(i/3) + 2*(i%3))
			task := queens.Task{ID: r.First, Board: queens.FullBoard(8), Prefixes: []queens.Prefix{{}}}
			hash := task.Hash()
			task.ID++
			if r.Counts[0] != first || r.Counts[1] != first+1 || r.Range != r.Counted ||
				r.Hash != queens.HashOfRange([]uint64{hash, task.Hash()}) {
				t.Errorf("result %d: %+v", i, r)
			}
		}
	})
}

// Each message without a reply is logged with its reason at debug, and sent again a second later. A
// warning a minute says how many they are.
func TestFailuresAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder // only read when the worker has ended
		tr := &transport{fails: errors.New("no such subject")}
		stop, ended := start(t, tr, lasting(time.Second).Kernel(t), 1, logTo(&log))
		time.Sleep(200 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		lines := strings.Count(log.String(), `{"level":"debug","error":"no such subject"`)
		warnings := strings.Count(log.String(), `{"level":"warn","error":"no such subject"`)
		if lines != len(tr.requests) || lines < 190 || warnings != 3 {
			t.Errorf("%d lines and %d warnings for %d messages in 200 s", lines, warnings, len(tr.requests))
		}
	})
}

// noted is a counter with a note.
type noted struct{ kernel.Counter }

func (noted) Note() string { return "few lanes" }

// withNote returns a function that makes counters with a note.
func withNote(newCounter func() (kernel.Counter, error)) func() (kernel.Counter, error) {
	return func() (kernel.Counter, error) {
		c, err := newCounter()
		return noted{c}, err
	}
}

// All lines for people of a worker with a label begin with the label. The note of a counter is one
// of them.
func TestLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder // only read when the worker has ended
		tr := &transport{}
		tr.request = func(r *queens.WorkRequest) *queens.WorkReply {
			tr.fails = errors.New("no more messages")
			return &queens.WorkReply{Number: r.Number, Instance: 1, Chunks: []queens.Chunk{{
				Range: queens.Range{Tasks: 1}, Board: queens.FullBoard(8), Sets: []queens.RowSets{{Number: 1}},
			}}}
		}
		tr.deliver = func(*queens.Delivery) *queens.DeliveryReply { return nil }
		k := lasting(time.Second).Kernel(t)
		k.New = withNote(k.New)
		stop, ended := start(t, tr, k, 1, logTo(&log), func(c *worker.Config) { c.Label = "gpu" })
		time.Sleep(100 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		const text = `"` + humanize.LogField + `":"`
		for _, line := range []string{"few lanes", "row sets of n = 8", "run r: the first chunk", "idle",
			"the worker leaves", "left before", "no reply in"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("no line has %q", line)
			}
		}
		if all, labelled := strings.Count(log.String(), text),
			strings.Count(log.String(), text+"gpu: "); labelled != all {
			t.Errorf("%d of %d lines begin with the label:\n%s", labelled, all, &log)
		}
	})
}

// A worker with an IdleExit ends when it has held nothing for that long.
func TestIdleExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hand := endless(1)
		tr := &transport{deliver: recorded}
		tr.request = func(r *queens.WorkRequest) *queens.WorkReply {
			if r.Number > 1 {
				r.Want = 0
			}
			return hand(r)
		}
		begin := time.Now()
		_, ended := start(t, tr, lasting(time.Second).Kernel(t), 1, func(c *worker.Config) {
			c.IdleExit = 10 * time.Second
		})
		err := <-ended // two chunks of a second, 10 s, and up to a second until the worker notices
		if took := time.Since(begin); err != nil || took < 12*time.Second ||
			took > 13100*time.Millisecond || len(tr.delivered) != 2 {
			t.Errorf("ended after %v with %d results, error %v", took, len(tr.delivered), err)
		}
	})
}

// A worker whose kernel counts wrong ends before it asks for work, and so does one whose own test
// fails.
func TestSelfTestFirst(t *testing.T) {
	wrong := kerneltest.Fake{Count: func(context.Context, *queens.Board, []queens.Prefix,
		*atomic.Uint64) (uint64, error) {
		return 1, nil
	}}
	failed := errors.New("the test fails")
	for about, change := range map[string]func(*worker.Config){
		"a wrong kernel": func(cfg *worker.Config) { cfg.SelfTest = nil },
		"a failed test": func(cfg *worker.Config) {
			cfg.SelfTest = func(context.Context) error { return failed }
		},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &transport{request: func(*queens.WorkRequest) *queens.WorkReply {
					return &queens.WorkReply{}
				}}
				soon := func(cfg *worker.Config) { cfg.IdleExit = time.Minute }
				stop, ended := start(t, tr, wrong.Kernel(t), 1, soon, change)
				defer stop()
				if err := <-ended; err == nil || tr.hear != nil || len(tr.requests) > 0 {
					t.Errorf("error %v, %d requests", err, len(tr.requests))
				}
			})
		})
	}
}
