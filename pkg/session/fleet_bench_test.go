//go:build unix

package session_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// BenchmarkFleet measures how many tasks a second the real server, coordinator and ledger hand out
// and record. 1,000 workers, which count nothing, run in another process, each with its own
// connection and two searchers. scripts/bench fleet runs this benchmark.
func BenchmarkFleet(b *testing.B) {
	var url, run string
	var chunk float64
	if _, err := fmt.Sscan(os.Getenv("NQUEENS_FLEET"), &url, &run, &chunk); err == nil {
		fleet(b, url, run, chunk)
	}
	// about how many tasks a chunk has; 0: workers are idle
	for _, chunk := range []float64{1, 0, 16} {
		b.Run(fmt.Sprintf("chunk=%v", chunk), func(b *testing.B) { benchmarkFleet(b, chunk) })
	}
}

const (
	connections = 1000
	measured    = 15 * time.Second
	counted     = 12345 // the count of every task
)

func benchmarkFleet(b *testing.B, chunk float64) {
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	server := must(natsserver.Start(natsserver.Config{Listen: "127.0.0.1:0", Log: zerolog.Nop()}))(b)
	defer server.Stop()
	var latest atomic.Pointer[queens.Snapshot]
	c := startCoordinator(b, server, func(s *queens.Snapshot) {
		copied := *s
		latest.Store(&copied)
	})
	defer c.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx)
		ended <- err
	}()
	workers := exec.CommandContext(ctx, os.Args[0], "-test.run", "^$", "-test.bench",
		"^BenchmarkFleet$")
	workers.Env = append(os.Environ(),
		fmt.Sprintf("NQUEENS_FLEET=%s %s %v", server.URL(), latest.Load().Run, chunk))
	workers.Stdout, workers.Stderr = os.Stderr, os.Stderr
	if err := workers.Start(); err != nil {
		b.Fatal(err)
	}
	for latest.Load().Workers < connections {
		time.Sleep(time.Second)
	}
	time.Sleep(3 * time.Second) // until every worker has had its first chunk
	for b.Loop() {
		before, cpu, begun := latest.Load().Done, cpuTime(), time.Now()
		time.Sleep(measured)
		done, took, used := float64(latest.Load().Done-before), time.Since(begun).Seconds(), cpuTime()-cpu
		b.ReportMetric(done/took, "tasks/s")
		b.ReportMetric(float64(used.Microseconds())/max(done, 1), "cpu-µs/task")
		b.ReportMetric(float64(used.Microseconds())/took/connections, "cpu-µs/connection/s")
	}
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	_ = workers.Wait() // the end of ctx has killed the process
}

// startCoordinator starts the coordinator of a new run.
func startCoordinator(
	b *testing.B, server *natsserver.Server, onSnapshot func(*queens.Snapshot),
) *coordinator.Coordinator {
	const n = 25
	classes := must(symmetry.Classes(n, queens.Full))(b)
	m, index, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
	if err != nil {
		b.Fatal(err)
	}
	l, state, err := must(runs.NewStore(b.TempDir()))(b).Create(
		ledger.Header{Manifest: m, Redundancy: 1, SpotCheck: 0.01}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	taskBytes := make([]int, len(m.Classes))
	for i := range taskBytes {
		taskBytes[i] = bus.EncodedChunkBytes(1, index.TaskPrefixes(i))
	}
	return must(coordinator.Start(coordinator.Config{
		Log: l, State: state, Index: index, Logger: zerolog.Nop(),
		Wire: must(bus.Connect(b.Context(),
			bus.Options{InProcess: server, Name: "coordinator", Log: zerolog.Nop()}))(b),
		Options: core.Options{
			Instance: 1, Version: "fleet", Machine: "own", Kernels: []string{"generic"},
			Shares: split.Shares(&m), TaskBytes: taskBytes,
		},
		Recount: func(context.Context, queens.Task, string, bool) (uint64, error) {
			return counted, nil
		},
		Total:      func(context.Context) (*big.Int, error) { return new(big.Int), nil },
		OnSnapshot: onSnapshot,
	}))(b)
}

// fleet runs workers until this process is killed.
func fleet(b *testing.B, url, run string, chunk float64) {
	var all [connections]*bus.Bus
	for i := range all {
		all[i] = must(bus.Connect(b.Context(),
			bus.Options{URL: url, Name: fmt.Sprint("worker ", i), Log: zerolog.Nop()}))(b)
	}
	for i, connection := range all {
		go work(b.Context(), connection, run,
			queens.Process{Machine: testkit.Machine(fmt.Sprint("m", i)), Name: "p"}, chunk)
	}
	select {}
}

// work acts as a worker: it requests chunks, and delivers counts at once while it requests more. It
// reports search times as if a searcher searched a chunk of the given number of tasks in 1.5 s. So
// the coordinator makes chunks of this size.
func work(ctx context.Context, b *bus.Bus, run string, p queens.Process, chunk float64) {
	var hasher queens.Hasher
	request := queens.WorkRequest{Version: "fleet", Kernel: "none", Threads: 2, Searchers: 2}
	if chunk > 0 {
		request.Want = 2
	}
	for delivery := new(sync.WaitGroup); ; {
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
			r := queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: c.Range, Kernel: "none",
				Counts: make([]uint64, c.Tasks)}
			r.Searched = time.Duration(float64(c.Tasks) / chunk * 1.5 * float64(time.Second))
			hashes := make([]uint64, c.Tasks)
			for j := range hashes {
				r.Counts[j] = counted
				hashes[j] = hasher.Hash(
					&queens.Task{ID: c.First + uint64(j), Board: c.Board, Prefixes: c.Prefixes[j]})
			}
			r.Hash = queens.HashOfRange(hashes)
			d.Results = append(d.Results, r)
			request.Held = append(request.Held,
				queens.Held{Range: c.Range, Ticket: c.Ticket, Searched: r.Searched})
		}
		if len(d.Results) > 0 {
			delivery.Go(func() {
				if _, err := b.Deliver(ctx, run, p, &d); err != nil {
					fmt.Fprintln(os.Stderr, "fleet:", err)
				}
			})
		}
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // can't fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// must returns the value of a call that must succeed.
func must[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return value
	}
}
