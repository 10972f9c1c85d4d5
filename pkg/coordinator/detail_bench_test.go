package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
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
			c.details.cost = 0
			if d := c.detail(everyone); len(d.Workers) != len(everyone) || d.Search == nil {
				b.Fatalf("%d workers, search %+v", len(d.Workers), d.Search)
			}
		}
	})
	b.Run("progress", func(b *testing.B) {
		for b.Loop() {
			c.stats(c.progress())
		}
	})
}

// newCrowdedCoordinator returns a coordinator with a full window and so many workers that search it.
func newCrowdedCoordinator(b *testing.B, workers int) *Coordinator {
	b.Helper()
	classes, err := symmetry.Classes(18, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	m, err := split.Plan(b.Context(), 18, queens.Full, classes, 5)
	if err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Create(b.TempDir(), ledger.Header{Run: "r", Created: time.Now(), Manifest: m})
	if err != nil {
		b.Fatal(err)
	}
	roster := progress.NewRoster()
	c := New(Config{Roster: roster}, nil, nil, nil, nil, l)
	b.Cleanup(func() {
		c.window.close()
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	c.window.resize(workers)
	c.resetMeter()
	for {
		r, ok := c.window.fetch()
		if !ok {
			break
		}
		c.window.sent()
		r.streamSeq, r.published = 1, true
		c.window.completed(r)
	}
	var chunks []uint64
	for id := range c.window.chunks {
		chunks = append(chunks, id)
	}
	for i := range workers {
		name := fmt.Sprintf("worker-%04d", i)
		c.collector.workers[name] = 7
		roster.ObserveHeartbeat(run.Heartbeat{
			Worker: name, Kernel: "avx512", Threads: 1, Key: fmt.Sprint("U", strings.Repeat("A", 50), i),
			Held: []run.HeldChunk{{Run: "r", Chunk: chunks[i%len(chunks)], Searching: true, Elapsed: time.Second}, {Run: "r", Chunk: 1}},
		})
	}
	return c
}
