package fleettest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"nqueens/pkg/bus/bustest/memory"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"

	service "nqueens/pkg/worker"
)

// worker is a worker that is started, stopped and killed. Each time it has the same key.
type worker struct {
	life     *life
	number   int
	threads  int
	admitted bool
	lies     bool
	pace     time.Duration // mean time of a search
	seed     uint64

	paused atomic.Bool // others use its machine

	bus    *memory.Bus
	cancel context.CancelFunc
	gone   chan struct{} // closed when the process has ended; nil before the first
}

// start starts the worker. The last process has ended.
func (w *worker) start() {
	l := w.life
	name := fmt.Sprint("worker-", w.number)
	var admission []byte
	if w.admitted {
		admission = []byte("admitted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.bus, w.cancel, w.gone = l.server.Connect(), cancel, make(chan struct{})
	process := service.New(service.Config{
		Name: name, Identity: identitytest.Of(name), Admission: admission, Version: "v",
		Kernel: w.kernel(), Threads: w.threads, Lease: lease, Grace: service.DefaultGrace, Pause: w.pause, Log: l.logger(),
	}, w.bus.Queue(), w.bus.Results(), w.bus.Telemetry())
	b, gone := w.bus, w.gone
	l.processes.Go(func() {
		defer close(gone)
		defer b.Close()
		err := process.Run(ctx)
		if err != nil && (!w.lies || !errors.Is(err, service.ErrQuarantined)) {
			l.t.Errorf("worker %d ends with the error %v", w.number, err)
		}
	})
}

// pause returns why the worker pauses.
func (w *worker) pause() string {
	if w.paused.Load() {
		return "others use the machine"
	}
	return ""
}

func (w *worker) isGone() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// kill ends the process at once, as far as others see: nothing that it does reaches the server any more.
func (w *worker) kill() {
	w.bus.Close()
	w.stop()
}

// stop ends the process as a person does.
func (w *worker) stop() {
	w.cancel()
	<-w.gone
}

// kernel returns the kernel of the worker, which takes some time for each task, and counts some wrong.
func (w *worker) kernel() kernel.Kernel {
	w.seed++
	var threads atomic.Uint64
	return kernel.Kernel{Name: "paced", New: func() (kernel.Counter, error) {
		c, err := kernel.Reference().New()
		return &pacedCounter{Counter: c, worker: w, rng: rand.New(rand.NewPCG(w.seed, threads.Add(1)))}, err
	}}
}

// pacedCounter is a counter of one thread of a worker.
type pacedCounter struct {
	kernel.Counter
	worker *worker
	rng    *rand.Rand
}

func (c *pacedCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	for left := time.Duration(float64(c.worker.pace) * min(c.rng.ExpFloat64(), 5)); left > 0; left -= time.Second {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(min(left, time.Second)):
			pulse.Add(1)
		}
	}
	n, err := c.Counter.Count(ctx, b, prefixes, pulse)
	if err == nil && c.worker.lies && c.worker.life.isLie(prefixes[0]) {
		n++
	}
	return n, err
}

// countTime is how long a coordinator takes to count a task.
const countTime = 50 * time.Millisecond

// count counts a task in the process of a coordinator.
func count(ctx context.Context, task *queens.Task) (run.TaskCount, error) {
	select {
	case <-ctx.Done():
		return run.TaskCount{}, context.Cause(ctx)
	case <-time.After(countTime):
	}
	own := run.TaskCount{Hash: task.Hash(), Kernel: kernel.Reference().Name, Elapsed: countTime}
	err := kernel.Reference().WithCounter(func(c kernel.Counter) (err error) {
		own.Count, err = c.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
		return err
	})
	return own, err
}
