package ledger

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// largeHeader returns the header of a run with the given number of tasks. Its manifest describes no
// real count.
func largeHeader(b *testing.B, tasks uint64) *Header {
	h := newHeader(b, 1)
	h.Manifest.Tasks = tasks
	return h
}

// BenchmarkFold folds 10^7 tasks in chunks of 4.
func BenchmarkFold(b *testing.B) {
	const tasks = 10_000_000
	h := largeHeader(b, tasks)
	path := filepath.Join(b.TempDir(), "n7-a", File)
	writeLarge(b, path, h)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		s, _, err := Load(path)
		if err != nil || s.NumberDone() != tasks {
			b.Fatal(err)
		}
	}
}

// writeLarge writes the log of a run with all its results.
func writeLarge(b *testing.B, path string, h *Header) {
	log, _ := encode(b, h)
	kernels := []string{"/avx512", "/avx2"}
	for task := uint64(0); task < h.Manifest.Tasks; task += 4 {
		r := result("6f1c2a34b5d647e89fa0b1c2d3e4f506"+kernels[task/4%2], task, 1<<20+rand.Uint64N(1<<20),
			1<<21, 1<<20, 1<<21)
		var err error
		if log, err = AppendFrame(log, 2, r); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, log, 0o600); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRecord folds and writes results of 16 tasks in large groups, as a coordinator with a
// slow disk does. The log is in the folder of temporary files.
func BenchmarkRecord(b *testing.B) {
	const tasks = 1 << 22
	path := filepath.Join(b.TempDir(), "n7-a", File)
	h := largeHeader(b, tasks)
	l, err := Create(path, *h)
	if err != nil {
		b.Fatal(err)
	}
	s := NewState(h)
	r := result("6f1c2a34b5d647e89fa0b1c2d3e4f506/avx512", 0, make([]uint64, 16)...)
	for i := range r.Counts {
		r.Counts[i] = 1 << 20
	}
	var group []Record
	for i := uint64(0); b.Loop(); i++ {
		next := *r
		next.First = i * 16 % tasks
		if _, err := s.Apply(&next); err != nil {
			b.Fatal(err)
		}
		group = append(group, &next)
		if len(group) == 1024 {
			if err := l.Write(group...); err != nil {
				b.Fatal(err)
			}
			group = group[:0]
		}
	}
	if err := l.Write(group...); err != nil {
		b.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)*16/b.Elapsed().Seconds(), "tasks/s")
}
