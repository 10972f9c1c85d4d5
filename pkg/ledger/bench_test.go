package ledger_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// BenchmarkAccept accepts results in groups, each fsynced.
func BenchmarkAccept(b *testing.B) {
	for _, group := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			l := create(b, b.TempDir(), manyTasks)
			tasks := shuffledInWindow(rng, manyTasks, 1000)
			batch := make([]run.Result, group)
			for b.Loop() {
				for i := range batch {
					batch[i] = typical(rng, tasks[i])
				}
				tasks = tasks[group:]
				accept(b, l, position(l.Len()+1), batch...)
			}
			b.ReportMetric(float64(group*b.N)/b.Elapsed().Seconds(), "results/s")
		})
	}
}

// BenchmarkAcceptWhileCopying accepts results into a ledger that has a million, in groups, each
// fsynced, and without a pause copies the ledger beside that.
func BenchmarkAcceptWhileCopying(b *testing.B) {
	for _, copying := range []bool{false, true} {
		b.Run(fmt.Sprintf("copying=%v", copying), func(b *testing.B) {
			const before = 1_000_000
			rng := rand.New(rand.NewPCG(1, 2))
			folder := b.TempDir()
			l := create(b, folder, manyTasks)
			tasks := shuffledInWindow(rng, manyTasks, 1000)
			acceptMany(b, l, rng, tasks[:before], 8192)
			tasks = tasks[before:]
			begin, copies := l.Len(), 0
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for copying {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := copyTo(l, folder+".copy"); err != nil {
						b.Error(err)
						return
					}
					copies++
				}
			}()
			batch := make([]run.Result, 64)
			for b.Loop() {
				for i := range batch {
					batch[i] = typical(rng, tasks[i])
				}
				tasks = tasks[len(batch):]
				accept(b, l, position(l.Len()+1), batch...)
			}
			b.ReportMetric(float64(l.Len()-begin)/b.Elapsed().Seconds(), "results/s")
			close(stop)
			<-ended
			b.ReportMetric(float64(copies), "copies")
			b.ReportMetric(float64(len(fileBytes(b, folder)))/(1<<20), "MiB")
		})
	}
}

// BenchmarkOpen opens a ledger with a million results.
func BenchmarkOpen(b *testing.B) {
	folder := million(b)
	for _, how := range []struct {
		name string
		open func(string) (*ledger.Ledger, error)
	}{{"Open", openWriter}, {"OpenReadOnly", ledger.OpenReadOnly}} {
		b.Run(how.name, func(b *testing.B) {
			for b.Loop() {
				l, err := how.open(folder)
				if err != nil {
					b.Fatal(err)
				}
				closed(b, l)
			}
		})
	}
}

// BenchmarkAll reads a million results.
func BenchmarkAll(b *testing.B) {
	l := open(b, ledger.OpenReadOnly, million(b))
	for b.Loop() {
		for _, err := range l.Range(0, math.MaxUint64) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// million creates a ledger with a million results, and returns its folder.
func million(b *testing.B) string {
	const tasks = 1_000_000
	folder := b.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	l := create(b, folder, tasks)
	acceptMany(b, l, rng, shuffledInWindow(rng, tasks, 1000), 8192)
	closed(b, l)
	return folder
}

// BenchmarkRevoke quarantines the key of every tenth result, spread over a ledger of a million or ten million, and
// voids what it counted. It reports the seconds that takes, and the median and the longest step, during which a
// coordinator does nothing else.
func BenchmarkRevoke(b *testing.B) {
	for _, tasks := range []uint64{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				rng := rand.New(rand.NewPCG(1, 2))
				l := create(b, b.TempDir(), tasks)
				batch := make([]run.Result, 0, 8192)
				for task := range tasks {
					r := typical(rng, task)
					r.Key, r.Admitted = fmt.Sprintf("key%d", rng.IntN(10)), true
					if batch = append(batch, r); len(batch) == cap(batch) || task == tasks-1 {
						accept(b, l, position(l.Len()+1), batch...)
						batch = batch[:0]
					}
				}
				b.StartTimer()
				if err := l.Quarantine(run.QuarantinedKey{Key: "key0"}); err != nil {
					b.Fatal(err)
				}
				var steps []time.Duration
				voided := 0
				for more := true; more; {
					start := time.Now()
					changed, rest, err := l.Revoke()
					if err != nil {
						b.Fatal(err)
					}
					steps = append(steps, time.Since(start))
					voided, more = voided+len(changed), rest
				}
				b.StopTimer()
				if uint64(voided) != tasks-l.Len() || voided == 0 {
					b.Fatalf("%d results are void, %d are left of %d", voided, l.Len(), tasks)
				}
				slices.Sort(steps)
				b.ReportMetric(float64(voided), "voided")
				b.ReportMetric(float64(len(steps)), "steps")
				b.ReportMetric(float64(steps[len(steps)/2].Microseconds())/1e3, "ms/median-step")
				b.ReportMetric(float64(steps[len(steps)-1].Microseconds())/1e3, "ms/longest-step")
				closed(b, l)
				b.StartTimer()
			}
		})
	}
}
