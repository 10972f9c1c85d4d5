//go:build unix

package main_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// gate lets workers in the process of the test count while the test allows it, and slowly. So a run costs this
// machine next to nothing, and does not end before the test opens the gate.
type gate struct {
	t       *testing.T
	task    chan struct{} // gets a message for each task that a worker may count
	opened  chan struct{} // closed when the workers may count all tasks
	counted atomic.Int64  // tasks
}

// startGated starts workers of one thread on a server, which count nothing yet.
func startGated(t *testing.T, url string, workers int) *gate {
	t.Helper()
	g := &gate{t: t, task: make(chan struct{}), opened: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for i := range workers {
		name := fmt.Sprint("gated-", i)
		working.Go(func() {
			workHere(ctx, t, url, bus.Credentials{}, worker.Config{Name: name, Identity: identitytest.Of(name), Kernel: g.kernel()}, nil)
		})
	}
	t.Cleanup(func() {
		stop()
		working.Wait()
	})
	return g
}

// workHere is a worker of one thread in the process of the test, until ctx ends or its key is quarantined. publisher,
// unless nil, returns what takes the results in the place of the server.
func workHere(ctx context.Context, t *testing.T, url string, credentials bus.Credentials, cfg worker.Config, publisher func(worker.Results) worker.Results) {
	b, err := bus.Connect(bus.Config{URL: url, Credentials: credentials, Name: cfg.Name, Wait: true, Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Error(err)
		return
	}
	defer b.Close()
	cfg.Threads, cfg.Lease, cfg.Log = 1, bus.DefaultLease, zerolog.Nop()
	var results worker.Results = b.Results()
	if publisher != nil {
		results = publisher(results)
	}
	if err := worker.New(cfg, b.Queue(), results, b.Telemetry()).Run(ctx); err != nil && !errors.Is(err, worker.ErrQuarantined) {
		t.Error(err)
	}
}

// during lets the workers count up to a hundred tasks a second until the function returns.
func (g *gate) during(wait func()) {
	over := make(chan struct{})
	var granting sync.WaitGroup
	defer granting.Wait()
	defer close(over) // also if the test fails
	granting.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			select {
			case g.task <- struct{}{}:
			case <-over:
				return
			}
		}
	})
	wait()
}

// countOne lets the workers count one task more, and waits until they have.
func (g *gate) countOne() {
	before := g.counted.Load()
	g.task <- struct{}{}
	testkit.Eventually(g.t, "a task is counted", func() bool { return g.counted.Load() > before })
}

// open lets the workers count all tasks.
func (g *gate) open() { close(g.opened) }

func (g *gate) kernel() kernel.Kernel {
	k := kernel.Available()[0]
	fast := k.New
	k.New = func() (kernel.Counter, error) {
		c, err := fast()
		return gatedCounter{c, g}, err
	}
	return k
}

type gatedCounter struct {
	kernel.Counter
	gate *gate
}

func (c gatedCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	for waiting := true; waiting; {
		select {
		case <-c.gate.task:
			waiting = false
		case <-c.gate.opened:
			waiting = false
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(time.Second):
			pulse.Add(1) // the search advances, so the lease is extended
		}
	}
	defer c.gate.counted.Add(1)
	return c.Counter.Count(ctx, b, prefixes, pulse)
}
