package flight

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkTasks reports the time of a task from Fill to Settled, with 10^6 tasks and a thousand threads, in chunks
// of some sizes.
func BenchmarkTasks(b *testing.B) {
	const tasks = 1_000_000
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				f := newTest(testManifest(tasks))
				f.Resize(1000)
				counted := make([]bool, tasks)
				needed := func(task uint64) bool { return !counted[task] }
				now := start
				for !f.AllPublished() {
					f.guide.speed, f.guide.results, f.guide.left = float64(size)/1.5/tasks, 1<<40, 1e9
					f.Fill(0, needed)
					for cmd, found := f.Next(); found; cmd, found = f.Next() {
						now = now.Add(time.Microsecond)
						f.Published(now, cmd.Chunk, cmd.Chunk)
						for id := cmd.First; id < cmd.First+uint64(cmd.Tasks); id++ {
							f.Attempt(id)
							f.Observe(now, id, time.Millisecond)
						}
						f.Returned(now, cmd.Chunk, cmd.First, cmd.Tasks)
						for id := cmd.First; id < cmd.First+uint64(cmd.Tasks); id++ {
							counted[id] = true
							f.Settled(now, id)
						}
					}
					f.Sweep(now, nil, Busy, now)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tasks, "ns/task")
		})
	}
}

// BenchmarkSweep reports the time of a sweep over as many chunks as the window has at most, which workers hold or
// the dispatcher checks, and what a chunk takes of memory.
func BenchmarkSweep(b *testing.B) {
	const chunks = 980_000
	before := heapInUse()
	f := newTest(testManifest(chunks))
	f.cursor.next = chunks
	f.Again(0, chunks)
	for f.Fill(0, all) || len(f.orders.publications) > 0 {
		for cmd, found := f.Next(); found; cmd, found = f.Next() {
			f.Published(start, cmd.Chunk, cmd.Chunk)
		}
	}
	if f.Chunks() != chunks {
		b.Fatalf("%d chunks", f.Chunks())
	}
	bytes := heapInUse() - before
	held := make(map[uint64]time.Time)
	now := start
	for b.Loop() {
		now = now.Add(250 * time.Millisecond)
		f.Sweep(now, held, Busy, now)
	}
	b.ReportMetric(float64(bytes)/chunks, "B/chunk")
}

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
