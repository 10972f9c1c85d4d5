package coordinator

import (
	"runtime"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// BenchmarkWindowMemory reports what a chunk of one task takes of the coordinator's memory while it
// is in flight, once its message is published.
func BenchmarkWindowMemory(b *testing.B) {
	const threads = 10_000
	classes, err := symmetry.Classes(18, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	m, err := split.Plan(b.Context(), 18, queens.Full, classes, 4)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		before := heapInUse()
		w := newWindow(&Config{RepublishAfter: time.Hour}, "r", &m, split.Shares(&m), func(uint64) bool { return false })
		w.resize(threads)
		sequence := uint64(0)
		for {
			w.fill()
			r, ok := w.nextRequest()
			if !ok {
				break
			}
			w.sent()
			sequence++
			r.streamSeq, r.published = sequence, true
			w.completed(r)
		}
		b.ReportMetric(float64(heapInUse()-before)/float64(w.active), "B/chunk")
		b.ReportMetric(float64(w.active), "chunks")
		w.close()
	}
}

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
