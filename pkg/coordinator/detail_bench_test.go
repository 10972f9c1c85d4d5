package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// BenchmarkDetail measures what a page costs the coordinator of a run of 424,889 tasks with 5,000
// workers: the time of the event loop for a detail, and of the goroutine that lists the workers. Beside
// them is what the event loop does four times a second without a page, for the same workers.
// See scripts/bench page.
func BenchmarkDetail(b *testing.B) {
	c := newCrowdedCoordinator(b, 5000)
	b.Run("workers", func(b *testing.B) {
		for b.Loop() {
			c.cfg.Roster.Everyone(c.run)
		}
	})
	everyone := c.cfg.Roster.Everyone(c.run)
	b.Run("detail", func(b *testing.B) {
		for b.Loop() {
			if d := c.detail(everyone); len(d.Workers) != len(everyone) || d.Search == nil {
				b.Fatalf("%d workers, search %+v", len(d.Workers), d.Search)
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			c.core.measure(time.Now())
		}
	})
}

// newCrowdedCoordinator returns a coordinator with a full window and so many workers that search it.
func newCrowdedCoordinator(b *testing.B, workers int) *Coordinator {
	b.Helper()
	c, _ := newTestCoordinator(b, 18, 5, queens.Full)
	c.core.flight.Resize(workers)
	var chunks []uint64
	for command, ok := c.core.nextCommand(b); ok; command, ok = c.core.nextCommand(b) {
		c.core.completed(time.Now(), &outcome{Command: command, sequence: 1})
		chunks = append(chunks, command.Chunk)
	}
	for i := range workers {
		c.cfg.Roster.ObserveHeartbeat(run.Heartbeat{
			Worker: fmt.Sprintf("worker-%04d", i), Kernel: "avx512", Threads: 1, Key: fmt.Sprint("U", strings.Repeat("A", 50), i),
			Held: []run.HeldChunk{{Run: "r", Chunk: chunks[i%len(chunks)], Searching: true, Elapsed: time.Second}, {Run: "r", Chunk: 1}},
		})
	}
	return c
}
