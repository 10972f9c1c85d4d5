package core

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// BenchmarkCore measures how many tasks a core hands out and records in a second. Each of 1,000
// workers has four threads and holds up to eight chunks. It delivers one chunk at a time, and asks
// again after every second chunk.
func BenchmarkCore(b *testing.B) {
	for _, redundancy := range []int{1, 2} {
		for _, tasks := range []uint64{1, 16} {
			b.Run(fmt.Sprintf("redundancy=%d/chunk=%d", redundancy, tasks), func(b *testing.B) {
				benchmarkCore(b, redundancy, tasks)
			})
		}
	}
}

func benchmarkCore(b *testing.B, redundancy int, chunk uint64) {
	const workers, threads = 1000, 4
	var core *Core
	var held [workers][]queens.Range
	var number [workers]uint64
	var now time.Duration
	begin := func() {
		m := testManifest(queens.MaxN, []uint64{1e6, 1e6, 1e6})
		state := ledger.NewState(
			&ledger.Header{Format: ledger.Format, Run: "r", Manifest: m, Redundancy: redundancy})
		core = New(now, state,
			Options{Instance: 1, At: time.Unix(1e9, 0), Shares: testShares(&m),
				TaskBytes: []int{700, 700, 700}, ReplyBytes: 1 << 19, Kernels: []string{generic}})
		held, number = [workers][]queens.Range{}, [workers]uint64{}
	}
	name := func(i int) queens.Process {
		return queens.Process{Machine: testkit.Machine(fmt.Sprint("m", i)), Name: fmt.Sprint("p", i)}
	}
	names := make([]queens.Process, workers)
	for i := range names {
		names[i] = name(i)
	}
	// A thread counts a chunk of the intended size in 1.5 s.
	searched := func(tasks uint64) time.Duration {
		return 1500 * time.Millisecond * time.Duration(tasks) / time.Duration(chunk)
	}
	begin()
	done := uint64(0)
	began := time.Now()
	for i := 0; b.Loop(); i++ {
		w := i % workers
		if w == 0 {
			now += 300 * time.Millisecond
			core.Tick(now)
		}
		if len(held[w]) > 0 {
			r := held[w][0]
			held[w] = held[w][1:]
			core.Delivered(now, &Delivery{From: names[w], Results: []CheckedResult{{Result: queens.Result{
				Range: r, Counted: r, Counts: make([]uint64, r.Tasks), Kernel: "avx2",
				Searched: searched(r.Tasks),
			}}}})
			done += r.Tasks
		}
		if len(held[w]) <= 2*threads-2 {
			number[w]++
			request := &Request{From: names[w],
				WorkRequest: queens.WorkRequest{Number: number[w], Threads: threads, Searchers: threads,
					Want: 2*threads - len(held[w])}}
			for _, r := range held[w] {
				request.Held = append(request.Held, queens.Held{Range: r, Searched: 1})
			}
			core.WorkRequested(now, request)
		}
		for _, r := range core.Take().Replies {
			var of int
			_, _ = fmt.Sscanf(r.To.Name, "p%d", &of)
			held[of] = append(held[of], r.Chunks...)
		}
		if core.state.NumberDone() > 2_900_000 {
			begin()
		}
	}
	b.ReportMetric(float64(done)/time.Since(began).Seconds(), "tasks/s")
}

// BenchmarkBan measures how long a core with ten million tasks, half of them done, takes for the
// recount that bans a machine. 10,000 workers hold the tasks of four chunks each. The banned
// machine has counted, and holds, as much as the others.
func BenchmarkBan(b *testing.B) {
	for _, redundancy := range []int{1, 2} {
		b.Run(fmt.Sprintf("redundancy=%d", redundancy), func(b *testing.B) {
			const tasks, workers = 10_000_000, 10_000
			for b.Loop() {
				b.StopTimer()
				c, liar := coreWithLiar(b, tasks, workers, redundancy)
				b.StartTimer()
				c.RecountDone(2*time.Second, 1, nil)
				b.StopTimer()
				if !c.state.Banned(liar) || c.over != nil {
					b.Fatal("the machine is not banned")
				}
				b.StartTimer()
			}
		})
	}
}

// coreWithLiar returns a core that recounts a task, of which the machine liar has given a wrong
// count.
func coreWithLiar(
	b *testing.B, tasks uint64, workers, redundancy int,
) (c *Core, liar queens.Machine) {
	h := &ledger.Header{Format: ledger.Format, Run: "r", Redundancy: redundancy,
		SpotCheck: 0.01, Manifest: testManifest(queens.MaxN, []uint64{tasks / 2, tasks - tasks/2})}
	state := ledger.NewState(h)
	machine := func(i uint64) queens.Machine { return testkit.Machine(fmt.Sprint("m", i)) }
	const batch = 50
	counts := make([]uint64, batch)
	for i := range counts {
		counts[i] = 1
	}
	for first := uint64(0); first < tasks/2; first += batch {
		for j := range uint64(redundancy) {
			r := &ledger.Result{Machine: machine((first/batch + j) % uint64(workers)), Process: "p",
				Kernel: "avx2", Range: queens.Range{First: first, Tasks: batch}, Counts: counts,
				Searched: time.Second, At: time.Unix(1e9, 0)}
			if _, err := state.Apply(r); err != nil {
				b.Fatal(err)
			}
		}
	}
	c = New(0, state, Options{Instance: 1, At: time.Unix(1e9, 0), Shares: testShares(&h.Manifest),
		TaskBytes: []int{700, 700}, ReplyBytes: 1 << 19, Kernels: []string{generic}, Machine: "home"})
	for i := range uint64(workers) {
		c.WorkRequested(time.Second, &Request{From: queens.Process{Machine: machine(i), Name: "p"},
			WorkRequest: queens.WorkRequest{Number: 1, Threads: 2, Searchers: 2, Want: 4}})
	}
	liar = machine(0)
	for by, count := range map[queens.Machine]uint64{liar: 2, machine(1): 1} {
		c.Delivered(time.Second, &Delivery{From: queens.Process{Machine: by, Name: "p"},
			Results: []CheckedResult{{Result: queens.Result{Range: queens.Range{First: tasks - 1, Tasks: 1},
				Counted: queens.Range{First: tasks - 1, Tasks: 1}, Counts: []uint64{count}, Kernel: "avx2",
				Searched: time.Second}}}})
	}
	if c.Take().Recount == nil {
		b.Fatal("nothing is recounted")
	}
	return c, liar
}
