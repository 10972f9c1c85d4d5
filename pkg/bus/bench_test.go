package bus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Throughput of the messages without any search. The queue holds 16384 tasks of a run, so
// the tasks of a benchmark belong to many runs.

func BenchmarkPublishTask(b *testing.B) {
	for _, publishers := range []int{1, 16} {
		b.Run(fmt.Sprintf("publishers=%d", publishers), func(b *testing.B) {
			connection := benchBus(b)
			b.ResetTimer()
			share(b, publishers, func(id uint64) error {
				task := task(fmt.Sprintf("n8-%d", id>>14), id)
				_, err := connection.Tasks().Publish(b.Context(), &task)
				return err
			})
		})
	}
}

// BenchmarkWorkerCycle takes a task, stores its result and acknowledges the task. Each worker
// has a connection of its own and one task at a time.
func BenchmarkWorkerCycle(b *testing.B) {
	for _, workers := range []int{1, 2, 16, 100} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			server := bustest.Server(b)
			publisher := bustest.Connect(b, server)
			if err := publisher.Ensure(b.Context()); err != nil {
				b.Fatal(err)
			}
			connections := make(chan *worker, workers)
			for range workers {
				connection := bustest.Connect(b, server)
				connections <- &worker{connection, connection.Queue()}
			}
			share(b, 16, func(id uint64) error {
				task := task(fmt.Sprintf("n8-%d", id>>14), id)
				_, err := publisher.Tasks().Publish(b.Context(), &task)
				return err
			})
			b.ResetTimer()
			share(b, workers, func(uint64) error {
				w := <-connections
				defer func() { connections <- w }()
				return w.cycle(b)
			})
		})
	}
}

type worker struct {
	bus   *bus.Bus
	queue *bus.Queue
}

func (w *worker) cycle(b *testing.B) error {
	task, lease, err := w.queue.Next(b.Context())
	if err != nil {
		return err
	}
	r := queens.Result{Run: task.Run, Task: task.ID, Hash: 1, Attempt: 1, Count: 4, Worker: "w", Kernel: "generic"}
	if err := w.bus.Results().Publish(b.Context(), &r); err != nil {
		return err
	}
	return lease.Ack(b.Context())
}

// BenchmarkResults reads stored results.
func BenchmarkResults(b *testing.B) {
	connection := benchBus(b)
	share(b, 16, func(id uint64) error {
		r := result("n8-a", id)
		return connection.Results().Publish(b.Context(), &r)
	})
	b.ResetTimer()
	ctx, stop := context.WithCancel(b.Context())
	err := connection.Results().Read(ctx, "n8-a", run.StreamPosition{}, func(queens.Result, run.StreamPosition) {}, stop)
	if err != nil {
		b.Fatal(err)
	}
}

func benchBus(b *testing.B) *bus.Bus {
	connection := bustest.Connect(b, bustest.Server(b))
	if err := connection.Ensure(b.Context()); err != nil {
		b.Fatal(err)
	}
	return connection
}

// share makes b.N calls in that many goroutines.
func share(b *testing.B, goroutines int, do func(id uint64) error) {
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
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
