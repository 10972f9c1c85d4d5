//go:build unix

package coordinator_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/worker"
)

// BenchmarkFleet runs counts on simulated threads: their searches take the estimated time of a task,
// and no CPU. It reports the share of time in which the threads search, between a fifth of the run
// and half of it, when enough tasks are left for all threads, the CPU time a task of everything but the search (server, coordinator, ledger
// and workers), and how many tasks were repeated. See scripts/bench fleet.
func BenchmarkFleet(b *testing.B) {
	for _, c := range []struct {
		workers, threads int
		search           time.Duration // of a task
		n, depth         int
	}{
		{40, 250, time.Second, 18, 5},      // as n = 24: chunks of one or two tasks
		{40, 250, 20 * time.Second, 18, 4}, // as n = 27
		{400, 1, 100 * time.Millisecond, 18, 4},
	} {
		name := fmt.Sprintf("threads=%d/search=%v", c.workers*c.threads, c.search)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := newStream(b, c.n, c.depth)
				took := searchTimes(&s.m, c.search)
				var searched searchTime
				began := time.Now()
				s.kernel = kerneltest.Fake{Count: func(ctx context.Context, board *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
					// Tasks of a class differ by up to half: threads do not end at the same time.
					differs := 0.5 + float64(prefixes[0].Cols*2654435769>>16)/(1<<16)
					d := time.Duration(differs * float64(took[*board]))
					end := searched.begin(time.Since(began), d)
					defer end()
					return 0, sleep(ctx, d, pulse)
				}}
				s.threads = c.threads
				var first, last run.Snapshot
				var searchedFirst, searchedLast time.Duration
				s.reportEvery = 100 * time.Millisecond
				var logged time.Duration
				s.report = func(p run.Snapshot) {
					if p.Elapsed.Duration-logged > 5*time.Second {
						logged = p.Elapsed.Duration
						b.Logf("%v: %d of %d tasks, %d of %d threads search", p.Elapsed.Round(time.Second), p.Done, p.Tasks, searched.threads(), p.Threads)
					}
					if p.WorkDone < 0.2 {
						first, searchedFirst = p, searched.until(time.Since(began))
					} else if p.WorkDone < 0.5 {
						last, searchedLast = p, searched.until(time.Since(began))
					}
				}
				before := cpuTime(b)
				got := s.flow(c.workers)
				all := time.Duration(c.workers*c.threads) * (last.Elapsed.Duration - first.Elapsed.Duration)
				b.ReportMetric(100*float64(searchedLast-searchedFirst)/float64(all), "busy-%")
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(s.m.Tasks), "cpu-us/task")
				b.ReportMetric(float64(got.Snapshot.Republished), "repeated")
				b.ReportMetric(float64(s.heap)/(1<<20), "heap-MiB")
			}
		})
	}
}

// searchTime adds up the time that searches take, also of those that have not ended. Its zero value
// is ready to use.
type searchTime struct {
	mu      sync.Mutex
	ended   time.Duration
	running int
	begun   time.Duration // the sum of the times at which those that run began
}

// begin notes that a search begins at that time that takes at most the given one: a thread that is
// woken late has not searched longer. It returns what to call when it ends.
func (s *searchTime) begin(at, most time.Duration) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	s.begun += at
	start := time.Now()
	return func() {
		took := min(time.Since(start), most)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.begun -= at
		s.ended += took
	}
}

// threads returns the number of searches that have begun and not ended.
func (s *searchTime) threads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// until returns the time of all searches until then.
func (s *searchTime) until(at time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended + time.Duration(s.running)*at - s.begun
}

// searchTimes returns the time of a task of each board: in the mean of all tasks that given.
// No task takes more than twice that, as with the sizes that the splitter chooses.
func searchTimes(m *queens.Manifest, mean time.Duration) map[queens.Board]time.Duration {
	times := make(map[queens.Board]time.Duration)
	for i, share := range split.Shares(m) {
		times[m.Classes[i].Board] = time.Duration(min(2, share*float64(m.Tasks)) * float64(mean))
	}
	return times
}

// sleep is a search that takes that long. It advances.
func sleep(ctx context.Context, d time.Duration, pulse *atomic.Uint64) error {
	for end := time.Now().Add(d); ; pulse.Add(1) {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, 500*time.Millisecond)):
		}
	}
}

// BenchmarkIdle measures what idle workers cost, with connections of their own and without a search
// for half a minute: the CPU time of the server and of all workers, for each worker and second.
func BenchmarkIdle(b *testing.B) {
	const workers, span = 500, 30 * time.Second
	for _, runs := range []int{0, 3} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			for b.Loop() {
				server := bustest.Server(b)
				admin := bustest.Connect(b, server)
				group, ctx := errgroup.WithContext(b.Context())
				ctx, stop := context.WithCancel(ctx)
				for i := range runs {
					name := fmt.Sprintf("n20-%d", i)
					if err := admin.Ensure(ctx, name); err != nil {
						b.Fatal(err)
					}
					group.Go(func() error { return announcementUntil(ctx, admin, name) })
				}
				for range workers {
					connection := bustest.Connect(b, server)
					w := worker.New(worker.Config{
						Name: worker.NewName(), Identity: identitytest.Of("w"), Kernel: new(kerneltest.Fake).Kernel(b), Threads: 1, Lease: bus.DefaultLease, Log: zerolog.Nop(),
					}, connection.Queue(), connection.Results(), connection.Telemetry())
					group.Go(func() error { return w.Run(ctx) })
				}
				time.Sleep(2 * run.AnnouncementInterval) // until they have parked their requests
				before := cpuTime(b)
				time.Sleep(span)
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/workers/span.Seconds(), "cpu-us/worker-s")
				stop()
				if err := group.Wait(); err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// announcementUntil sends announcements of a run without work until ctx ends.
func announcementUntil(ctx context.Context, b *bus.Bus, name string) error {
	tick := time.NewTicker(run.AnnouncementInterval)
	defer tick.Stop()
	for {
		if err := b.Telemetry().PublishAnnouncement(run.Announcement{Run: name, Epoch: 1, State: run.Running, Weight: 1}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
