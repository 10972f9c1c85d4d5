//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/session"
	"nqueens/pkg/worker"
)

// slow is a counter that takes a second longer for a task.
type slow struct{ kernel.Counter }

func (s slow) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(time.Second):
		return s.Counter.Count(ctx, b, prefixes, pulse)
	}
}

// heard is the connection of a worker. It notes when the worker gets the first chunks after the server was replaced.
type heard struct {
	*bus.Bus
	replaced *atomic.Bool
	gotWork  chan time.Time
}

func (h *heard) RequestWork(ctx context.Context, run string, from queens.Process, r *queens.WorkRequest) (*queens.WorkReply, error) {
	reply, err := h.Bus.RequestWork(ctx, run, from, r)
	if err == nil && len(reply.Chunks) > 0 && h.replaced.Load() {
		select {
		case h.gotWork <- time.Now():
		default: // it was noted
		}
	}
	return reply, err
}

// replace counts a board with real workers, each with a connection, and replaces the server by an empty one at its address. It
// prints when every worker has got work again, and the total.
func replace(n, connections int) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	first, err := natsserver.Start(natsserver.Config{Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	store, err := runs.NewStore(dir)
	if err != nil {
		return err
	}
	s, err := session.Count(ctx, session.Config{
		Store: store, Machine: "own", Server: &bus.Options{URL: first.URL(), Log: zerolog.Nop()}, Log: zerolog.Nop(),
		OnStart: func(string) {}, OnSnapshot: func(*queens.Snapshot) {},
	}, session.Job{N: n, Symmetry: queens.Full, Depth: 5, Redundancy: 1, New: true})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		result, err := s.Run(ctx)
		fmt.Printf("n = %d: %d tasks, total %v, which compares with the published one: %s\n", n, result.Tasks, result.Total, result.Known)
		ended <- err
	}()
	k := kernel.Reference()
	k.New = func() (kernel.Counter, error) {
		c, err := kernel.Reference().New()
		return slow{c}, err
	}
	var replaced atomic.Bool
	workers := make([]*heard, connections)
	for i := range workers {
		b, err := bus.Connect(bus.Options{URL: first.URL(), Log: zerolog.Nop()})
		if err != nil {
			return err
		}
		defer b.Close() //nolint:gocritic // each connection is open until the end
		workers[i] = &heard{b, &replaced, make(chan time.Time, 1)}
		w := worker.New(worker.Config{Process: worker.NewProcess(fmt.Sprint("m", i)), Kernel: k, Threads: 1, Log: zerolog.Nop()}, workers[i])
		go func() { _ = w.Run(ctx) }() // no counter fails
	}
	time.Sleep(5 * time.Second) // every worker has had a chunk
	address := first.Address()
	first.Stop()
	begun := time.Now()
	second, err := natsserver.Start(natsserver.Config{Listen: address, Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer second.Stop()
	replaced.Store(true)
	var took []time.Duration
	for _, h := range workers {
		select {
		case at := <-h.gotWork:
			took = append(took, at.Sub(begun))
		case err := <-ended:
			return errors.Join(err, fmt.Errorf("the run has ended when %d of %d workers had got work again", len(took), connections))
		}
	}
	slices.Sort(took)
	fmt.Printf("replace: half of %d workers have got work again after %.1f s, all after %.1f s\n",
		connections, took[connections/2].Seconds(), took[connections-1].Seconds())
	return <-ended
}
