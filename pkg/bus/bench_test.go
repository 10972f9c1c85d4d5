package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Throughput of the messages without any search. Each operation is one chunk; tasks/s counts
// its tasks.

// benchChunk returns a chunk of that many tasks of 48 prefixes, as in a run of many workers.
func benchChunk(id uint64, tasks int) run.Chunk {
	board := queens.FullBoard(20)
	prefixes := make([]queens.Prefix, 48)
	for i := range prefixes {
		prefixes[i] = queens.Prefix{}.Place(&board, 1<<(i%20))
	}
	c := run.Chunk{Run: "n8-a", ID: 1 + id, Board: board, First: id * uint64(tasks), Tasks: make([][]queens.Prefix, tasks)}
	for i := range c.Tasks {
		c.Tasks[i] = prefixes
	}
	return c
}

func BenchmarkPublishChunk(b *testing.B) {
	for _, publishers := range []int{1, 16} {
		for _, tasks := range []int{1, 32} {
			b.Run(fmt.Sprintf("publishers=%d/tasks=%d", publishers, tasks), func(b *testing.B) {
				connection := benchBus(b)
				b.ResetTimer()
				share(b, publishers, tasks, func(id uint64) error {
					c := benchChunk(id, tasks)
					_, err := connection.Tasks().Publish(b.Context(), &c)
					return err
				})
			})
		}
	}
}

// BenchmarkWorkerCycle takes a chunk, stores its result and acknowledges the chunk. Each
// worker has a connection of its own and one chunk at a time.
func BenchmarkWorkerCycle(b *testing.B) {
	for _, workers := range []int{1, 2, 16, 100} {
		for _, tasks := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("workers=%d/tasks=%d", workers, tasks), func(b *testing.B) {
				server := bustest.Server(b)
				publisher := bustest.Connect(b, server)
				if err := publisher.Ensure(b.Context(), "n8-a"); err != nil {
					b.Fatal(err)
				}
				connections := make(chan *worker, workers)
				for range workers {
					connection := bustest.Connect(b, server)
					connections <- &worker{connection, connection.Queue()}
				}
				share(b, 16, tasks, func(id uint64) error {
					c := benchChunk(id, tasks)
					_, err := publisher.Tasks().Publish(b.Context(), &c)
					return err
				})
				b.ResetTimer()
				share(b, workers, tasks, func(uint64) error {
					w := <-connections
					defer func() { connections <- w }()
					return w.cycle(b)
				})
			})
		}
	}
}

type worker struct {
	bus   *bus.Bus
	queue *bus.Queue
}

func (w *worker) cycle(b *testing.B) error {
	loans, err := w.queue.Take(b.Context(), "n8-a", 1)
	if err != nil {
		return err
	}
	if len(loans) == 0 {
		return errors.New("no chunk waits")
	}
	c := loans[0].Chunk
	r := run.ChunkResult{Run: c.Run, Chunk: c.ID, First: c.First, Worker: "w", Counts: make([]run.TaskCount, len(c.Tasks))}
	for i := range r.Counts {
		r.Counts[i] = run.TaskCount{Hash: 1, Count: 4, Kernel: "generic"}
	}
	if err := w.bus.Results().Publish(b.Context(), identitytest.Seal(&r)); err != nil {
		return err
	}
	return loans[0].Lease.Ack(b.Context())
}

// BenchmarkResults reads stored results.
func BenchmarkResults(b *testing.B) {
	connection := benchBus(b)
	share(b, 16, 2, func(id uint64) error {
		r := result("n8-a", 1+id)
		return connection.Results().Publish(b.Context(), &r)
	})
	b.ResetTimer()
	ctx, stop := context.WithCancel(b.Context())
	err := connection.Results().Read(ctx, "n8-a", run.StreamPosition{},
		func(run.ChunkResult, run.StreamPosition) {}, func(time.Time) { stop() })
	if err != nil {
		b.Fatal(err)
	}
}

func benchBus(b *testing.B) *bus.Bus {
	connection := bustest.Connect(b, bustest.Server(b))
	if err := connection.Ensure(b.Context(), "n8-a"); err != nil {
		b.Fatal(err)
	}
	return connection
}

// share makes b.N calls in that many goroutines, each for a chunk of that many tasks.
func share(b *testing.B, goroutines, tasks int, do func(id uint64) error) {
	ids := make(chan uint64)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for id := range ids {
				if err := do(id); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for id := range uint64(b.N) {
		ids <- id
	}
	close(ids)
	all.Wait()
	b.ReportMetric(float64(b.N*tasks)/b.Elapsed().Seconds(), "tasks/s")
}
