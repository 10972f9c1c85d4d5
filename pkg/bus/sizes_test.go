package bus

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
)

// BenchmarkResult encodes, signs and decodes results of chunks, and reports the bytes of a message.
func BenchmarkResult(b *testing.B) {
	for _, tasks := range []int{1, 32, 512} {
		r := run.ChunkResult{Run: "n20-20261120-154813-a082", Chunk: 1 << 63, First: 1 << 20, Worker: "rack-7-3f9a21", Counted: time.Unix(1_800_000_000, 5)}
		for i := range tasks {
			r.Counts = append(r.Counts, run.TaskCount{Hash: 1<<63 + uint64(i), Count: 1 << 30, Elapsed: 300 * time.Millisecond, Kernel: "avx512-16"})
		}
		data := must(encodeResult(identitytest.Seal(&r)))
		id := identitytest.Of(r.Worker)
		b.Run(fmt.Sprintf("seal/tasks=%d", tasks), func(b *testing.B) {
			for b.Loop() {
				if err := r.Seal(id); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "B")
			b.ReportMetric(float64(len(data))/float64(tasks), "B/task")
		})
		b.Run(fmt.Sprintf("decode/tasks=%d", tasks), func(b *testing.B) {
			for b.Loop() {
				if _, err := decodeResult(resultSubject(r.Run), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
