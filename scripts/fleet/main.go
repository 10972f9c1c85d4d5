//go:build unix

// Command fleet measures how many tasks a second a coordinator hands out and records: the real server, coordinator and ledger,
// and many connections whose workers count nothing, all in this process. scripts/bench fleet runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

func main() {
	n := flag.Int("n", 25, "side of the board")
	connections := flag.Int("connections", 1000, "workers, each with a connection")
	chunk := flag.Float64("chunk", 16, "tasks of a chunk, about; 0 for workers that are idle")
	seconds := flag.Int("seconds", 15, "time that is measured")
	server, name := flag.String("server", "", "only run the workers: of this server"), flag.String("run", "", "and of this run")
	flag.Parse()
	var err error
	if *server != "" {
		err = workers(context.Background(), *server, *name, *connections, *chunk)
	} else {
		err = run(*n, *connections, *chunk, time.Duration(*seconds)*time.Second)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// run starts everything, and prints what is recorded in that time.
func run(n, connections int, chunk float64, measured time.Duration) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := natsserver.Start(natsserver.Config{Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer server.Stop()
	c, latest, err := start(ctx, n, dir, server)
	if err != nil {
		return err
	}
	defer c.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx)
		ended <- err
	}()
	if chunk > 0 {
		go func() {
			if err := workers(ctx, server.URL(), latest.Load().Run, connections, chunk); ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "fleet:", err)
			}
		}()
	} else { // what server and coordinator cost, without the workers
		cmd := exec.CommandContext(ctx, os.Args[0], "-server", server.URL(), "-run", latest.Load().Run, //nolint:gosec // this program
			"-connections", fmt.Sprint(connections), "-chunk", "0")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	for latest.Load().Workers < connections {
		time.Sleep(time.Second)
	}
	time.Sleep(3 * time.Second) // until every worker has had its first chunk
	before, cpu, begun := latest.Load().Done, cpuTime(), time.Now()
	time.Sleep(measured)
	done, took, used := latest.Load().Done-before, time.Since(begun).Seconds(), cpuTime()-cpu
	fmt.Printf("n = %d, %d connections: %d tasks in %.1f s, %.1f µs of CPU a task, %.0f µs of CPU a connection and second\n",
		n, connections, done, took, used.Seconds()*1e6/float64(max(done, 1)), used.Seconds()*1e6/took/float64(connections))
	fmt.Printf("fleet: %.0f tasks/s\n", float64(done)/took)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// start starts the coordinator of a new run.
func start(ctx context.Context, n int, dir string, server *natsserver.Server) (*coordinator.Coordinator, *atomic.Pointer[queens.Snapshot], error) {
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		return nil, nil, err
	}
	m, index, err := split.Plan(ctx, n, queens.Full, classes, 0)
	if err != nil {
		return nil, nil, err
	}
	store, err := runs.NewStore(dir)
	if err != nil {
		return nil, nil, err
	}
	l, state, err := store.Create(ledger.Header{Manifest: m, Redundancy: 1, SpotCheck: 0.01}, time.Now())
	if err != nil {
		return nil, nil, err
	}
	b, err := bus.Connect(bus.Options{InProcess: server, Name: "coordinator", Log: zerolog.Nop()})
	if err != nil {
		return nil, nil, err
	}
	taskBytes := make([]int, len(m.Classes))
	for i := range taskBytes {
		taskBytes[i] = bus.EncodedChunkBytes(1, index.TaskPrefixes(i))
	}
	latest := new(atomic.Pointer[queens.Snapshot])
	c, err := coordinator.Start(coordinator.Config{
		Log: l, State: state, Index: index, Wire: b, Logger: zerolog.Nop(),
		Options: coordinator.Options{
			Instance: 1, Version: "fleet", Machine: "own", Kernels: []string{"generic"}, Shares: split.Shares(&m), TaskBytes: taskBytes,
		},
		Recount: func(context.Context, queens.Task, string, bool) (uint64, error) { return counted, nil },
		Total:   func(context.Context) (*big.Int, error) { return new(big.Int), nil },
		OnSnapshot: func(s *queens.Snapshot) {
			copied := *s
			latest.Store(&copied)
		},
	})
	return c, latest, err
}

// counted is the count of every task.
const counted = 12345

// workers runs workers, each with a connection, until ctx ends.
func workers(ctx context.Context, url, run string, connections int, chunk float64) error {
	for i := range connections {
		b, err := bus.Connect(bus.Options{URL: url, Name: fmt.Sprint("worker ", i), Log: zerolog.Nop()})
		if err != nil {
			return err
		}
		defer b.Close() //nolint:gocritic // each connection is open until the end
		go work(ctx, b, run, queens.Process{Machine: fmt.Sprint("m", i), Name: "p"}, chunk)
	}
	<-ctx.Done()
	return ctx.Err()
}

// work asks for work, and delivers counts for it at once, while it asks for more, as workers do. It says that a searcher would
// have searched a chunk of so many tasks in 1.5 s, which is what a coordinator makes of it.
func work(ctx context.Context, b *bus.Bus, run string, p queens.Process, chunk float64) {
	var hasher queens.Hasher
	request := queens.WorkRequest{Version: "fleet", Kernel: "none", Threads: 1, Searchers: 1}
	if chunk > 0 {
		request.Want = 1
	}
	var delivery sync.WaitGroup
	for ctx.Err() == nil {
		request.Number++
		reply, err := b.RequestWork(ctx, run, p, &request)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		delivery.Wait()
		var d queens.Delivery
		request.Held = nil
		for i := range reply.Chunks {
			c := &reply.Chunks[i]
			r := queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: c.Range, Kernel: "none", Counts: make([]uint64, c.Tasks)}
			r.Searched = time.Duration(float64(c.Tasks) / chunk * 1.5 * float64(time.Second))
			hashes := make([]uint64, c.Tasks)
			for j := range hashes {
				r.Counts[j] = counted
				hashes[j] = hasher.Hash(&queens.Task{ID: c.First + uint64(j), Board: c.Board, Prefixes: c.Prefixes[j]})
			}
			r.Hash = queens.HashOfRange(hashes)
			d.Results = append(d.Results, r)
			request.Held = append(request.Held, queens.Held{Range: c.Range, Ticket: c.Ticket, Searched: r.Searched})
		}
		if len(d.Results) > 0 {
			delivery.Go(func() {
				if _, err := b.Deliver(ctx, run, p, &d); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "fleet:", err)
				}
			})
		}
	}
}
