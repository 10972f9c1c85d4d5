package core

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// BenchmarkMany measures how much time of a processor a core takes for an input, a tick and a
// snapshot, with many workers. Each worker has two searchers, which take 30 s for a task. There are
// three fleets:
//
//   - busy: there is enough work.
//   - waiting: half of the workers hold all tasks, and the other half waits.
//   - paired: there is enough work, and two machines count each task.
//
// scripts/bench core runs this benchmark.
func BenchmarkMany(b *testing.B) {
	for _, workers := range []int{1000, 10_000, 50_000} {
		for _, fleet := range []string{"busy", "waiting", "paired"} {
			b.Run(fmt.Sprintf("workers=%d/%s", workers, fleet), func(b *testing.B) {
				for b.Loop() {
					benchmarkMany(b, workers, fleet)
				}
			})
		}
	}
}

// manyTime is how long the fleet of a benchmark works, in simulated time. longestMany bounds the
// time of a processor.
const (
	manyTime    = 16 * time.Second
	longestMany = 10 * time.Second
)

// many is a core with many workers, and the times that its inputs took.
type many struct {
	core                    *Core
	now                     time.Duration
	workers                 []manyWorker
	of                      map[queens.Process]int
	inputs, ticks, snapshot []time.Duration
	began                   time.Duration // in time of a processor
}

type manyWorker struct {
	process queens.Process
	number  uint64
	held    []queens.Held
}

func benchmarkMany(b *testing.B, workers int, fleet string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tasks, redundancy := uint64(50*workers), 1
	switch fleet {
	case "waiting":
		tasks = 2 * uint64(workers)
	case "paired":
		redundancy = 2
	}
	h := &ledger.Header{Format: ledger.Format, Run: "r", Redundancy: redundancy,
		Manifest: testManifest(queens.MaxN, []uint64{tasks / 2, tasks / 2})}
	m := &many{of: map[queens.Process]int{}, workers: make([]manyWorker, workers), began: cpuTime()}
	m.core = New(0, ledger.NewState(h),
		Options{Instance: 1, At: time.Unix(1e9, 0), Shares: testShares(&h.Manifest), Machine: "home",
			TaskBytes: []int{700, 700}, ReplyBytes: 1 << 19, Kernels: []string{generic}})
	for i := range m.workers {
		m.workers[i].process = queens.Process{Machine: testkit.Machine(fmt.Sprint("m", i)), Name: "p"}
		m.of[m.workers[i].process] = i
	}
	for i := range m.workers { // they come within two seconds
		m.ask(i)
		m.pass(2 * time.Second * time.Duration(i+1) / time.Duration(workers))
	}
	for second := range int(manyTime / time.Second) {
		for i := range m.workers {
			if i%15 == second%15 {
				m.deliver(i)
				m.ask(i)
			} else if i%7 == second%7 {
				m.ask(i)
			}
			m.pass(2*time.Second + time.Duration(second)*time.Second +
				time.Second*time.Duration(i+1)/time.Duration(workers))
			if cpuTime()-m.began > longestMany {
				b.Logf("given up after %v of simulated time", m.now)
				m.report(b)
				return
			}
		}
	}
	m.report(b)
}

// cpuTime returns the time of a processor that this thread has used: other processes may run
// meanwhile.
func cpuTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // can't fail
	return time.Duration(t.Nano())
}

// input measures an input.
func (m *many) input(times *[]time.Duration, do func()) {
	begun := cpuTime()
	do()
	out := m.core.Take()
	*times = append(*times, cpuTime()-begun)
	for _, r := range out.Replies {
		w := &m.workers[m.of[r.To]]
		for _, chunk := range r.Chunks {
			w.held = append(w.held, queens.Held{Range: chunk, Searched: time.Millisecond})
		}
		w.held = slices.DeleteFunc(w.held, func(h queens.Held) bool {
			return slices.Contains(r.Drop, h.Range)
		})
	}
}

// ask sends a request for work: two chunks for each searcher.
func (m *many) ask(i int) {
	w := &m.workers[i]
	w.number++
	r := &Request{From: w.process, WorkRequest: queens.WorkRequest{Number: w.number, Version: "v",
		Kernel: "avx2", Host: w.process.Machine.Name, Threads: 2, Searchers: 2,
		Want: max(4-len(w.held), 0), Held: slices.Clone(w.held)}}
	m.input(&m.inputs, func() { m.core.WorkRequested(m.now, r) })
}

// deliver delivers the result of a chunk, if the worker holds one.
func (m *many) deliver(i int) {
	w := &m.workers[i]
	if len(w.held) == 0 {
		return
	}
	r := w.held[0].Range
	w.held = w.held[1:]
	d := &Delivery{From: w.process, Results: []CheckedResult{{Result: queens.Result{Range: r,
		Counted: r, Counts: make([]uint64, r.Tasks), Kernel: "avx2",
		Searched: time.Duration(r.Tasks) * 30 * time.Second}}}}
	m.input(&m.inputs, func() { m.core.Delivered(m.now, d) })
}

// pass lets time pass, with four ticks and one snapshot each second.
func (m *many) pass(until time.Duration) {
	for step := m.now.Truncate(tickTime) + tickTime; step <= until; step += tickTime {
		m.now = step
		m.input(&m.ticks, func() { m.core.Tick(m.now) })
		if m.now%time.Second == 0 {
			m.input(&m.snapshot, func() { m.core.Snapshot(m.now) })
		}
	}
	m.now = until
}

const tickTime = 250 * time.Millisecond

func (m *many) report(b *testing.B) {
	all := time.Duration(0)
	for _, times := range [][]time.Duration{m.inputs, m.ticks, m.snapshot} {
		slices.Sort(times)
		for _, t := range times {
			all += t
		}
	}
	µs := func(t time.Duration) float64 { return float64(t) / float64(time.Microsecond) }
	last := func(times []time.Duration) time.Duration { return times[len(times)-1] }
	b.ReportMetric(µs(m.inputs[len(m.inputs)/2]), "µs/input-median")
	b.ReportMetric(µs(m.inputs[len(m.inputs)*999/1000]), "µs/input-99.9%")
	b.ReportMetric(µs(last(m.inputs)), "µs/input-largest")
	b.ReportMetric(µs(m.ticks[len(m.ticks)/2])/1000, "ms/tick-median")
	b.ReportMetric(µs(last(m.ticks))/1000, "ms/tick-largest")
	b.ReportMetric(µs(m.snapshot[len(m.snapshot)/2])/1000, "ms/snapshot-median")
	b.ReportMetric(µs(last(m.snapshot))/1000, "ms/snapshot-largest")
	b.ReportMetric(all.Seconds()/m.now.Seconds(), "processors")
	b.ReportMetric(0, "ns/op")
}
