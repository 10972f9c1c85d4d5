package audit

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// BenchmarkAudit plans a run, opens its ledger, checks its manifest, computes its total and surveys it. The
// ledger has the right hashes and made-up counts. scripts/bench audit compares one core with all.
func BenchmarkAudit(b *testing.B) {
	for n := 20; n <= 27; n++ {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			m, classes := planned(b, n)
			folder := madeUp(b, &m)
			step := func(name string, do func() error) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if err := do(); err != nil {
							b.Fatal(err)
						}
					}
					var memory runtime.MemStats
					runtime.ReadMemStats(&memory)
					b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB") // without the mapped ledger
					b.ReportMetric(float64(m.Tasks), "tasks")
				})
			}
			var l *ledger.Ledger
			step("plan", func() error {
				_, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
				return err
			})
			step("open", func() (err error) {
				if l != nil {
					err = l.Close()
				}
				if err == nil {
					l, err = ledger.OpenReadOnly(folder)
				}
				return err
			})
			defer func() { _ = l.Close() }()
			step("check", func() error { return CheckManifest(b.Context(), "n", &m) })
			step("total", func() error {
				_, err := Total(b.Context(), l, nil)
				return err
			})
			step("survey", func() error {
				if s := Survey(l); s.Done != m.Tasks {
					return fmt.Errorf("of %d tasks", s.Done)
				}
				return nil
			})
		})
	}
}

// planned returns the plan of a run, and its classes.
func planned(b *testing.B, n int) (queens.Manifest, []queens.Class) {
	b.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	m, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
	if err != nil {
		b.Fatal(err)
	}
	return m, classes
}

// madeUp creates a complete ledger of a manifest, and returns its folder.
func madeUp(b *testing.B, m *queens.Manifest) string {
	b.Helper()
	folder := filepath.Join(b.TempDir(), "r")
	l, err := ledger.Create(folder, ledger.Header{Run: "r", Created: time.Now(), Manifest: *m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]run.Result, 0, 1<<14)
	accept := func() {
		if _, err := l.Accept(batch, 0, run.StreamPosition{Sequence: l.Len() + 1}); err != nil {
			b.Fatal(err)
		}
		batch = batch[:0]
	}
	for task := range split.Tasks(m) {
		hash := task.Hash()
		const divisible = 12 // by each k, so that the sums leave no remainder
		batch = append(batch, run.Result{
			Run: "r", Task: task.ID, Hash: hash, Attempt: 1, Count: hash >> 40 * divisible, Elapsed: time.Second,
			Worker: fmt.Sprintf("worker-%d", task.ID%1000), Kernel: "avx512-32",
		})
		if len(batch) == cap(batch) {
			accept()
		}
	}
	accept()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return folder
}
