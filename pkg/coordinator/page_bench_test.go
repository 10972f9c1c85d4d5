//go:build unix

package coordinator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// BenchmarkPage runs a count whose tasks cost nothing on a hundred workers, with the heartbeats of 5,000
// more, and lets ten browsers look at its page in half of the intervals: each reads the events, and asks
// for all workers and classes whenever it may. It reports the results that are accepted per second with
// and without them. See scripts/bench page.
//
// The first and last tasks of a run travel in small chunks and are accepted more slowly, so that these
// intervals do not count. The order without, with, with, without cancels a steady change of the rate.
func BenchmarkPage(b *testing.B) {
	const workers, crowd, browsers, interval = 100, 5000, 10, 2 * time.Second
	for b.Loop() {
		s := newStream(b, 18, 6)
		middle := s.m.Tasks / 4 * 3
		var done atomic.Uint64
		page := dashboard.New(dashboard.Config{Source: dashboard.Coordinator, Version: "bench"})
		server := httptest.NewServer(page)
		var results, cpu [2]float64 // without and with browsers
		var took [2]time.Duration
		var details, events atomic.Int64
		var waited atomic.Int64
		s.reportEvery = coordinator.DefaultReportEvery
		s.report = func(latest run.Snapshot) {
			done.Store(latest.Done)
			page.Update(&latest)
		}
		s.beside = func(ctx context.Context, service *coordinator.Coordinator, roster *progress.Roster) error {
			page.SetDetail(func(ctx context.Context) (*run.Detail, error) {
				begun := time.Now()
				defer func() { details.Add(1); waited.Add(int64(time.Since(begun))) }()
				return service.Detail(ctx)
			})
			page.SetManifest(&s.m, nil, nil)
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { page.Run(ctx); return nil })
			group.Go(func() error { return crowdAnnouncements(ctx, roster, s.run, crowd) })
			group.Go(func() error {
				sleepUntil(ctx, 2*interval) // the first chunks are single tasks
				for turn := 0; ctx.Err() == nil && done.Load() < middle; turn++ {
					phase := (turn + 1) / 2 % 2
					span, stop := context.WithTimeout(ctx, interval)
					look, _ := errgroup.WithContext(span)
					for range browsers * phase {
						look.Go(func() error { return browse(span, server.URL+"/api/v1/run", &events) })
					}
					first, begun, used := done.Load(), time.Now(), cpuTime(b)
					<-span.Done()
					if ctx.Err() == nil { // else the interval is incomplete
						results[phase] += float64(done.Load() - first)
						took[phase] += time.Since(begun)
						cpu[phase] += (cpuTime(b) - used).Seconds()
					}
					stop()
					if err := look.Wait(); err != nil && ctx.Err() == nil {
						return err
					}
				}
				return nil
			})
			return group.Wait()
		}
		s.flow(workers)
		server.Close()
		for phase, name := range []string{"without", "with"} {
			b.ReportMetric(results[phase]/took[phase].Seconds(), "results/s-"+name)
			b.ReportMetric(cpu[phase]/results[phase]*1e6, "cpu-us/task-"+name)
		}
		b.ReportMetric(float64(waited.Load())/1e6/float64(max(details.Load(), 1)), "ms/detail")
		b.ReportMetric(float64(details.Load()), "details")
		b.ReportMetric(float64(events.Load()), "events")
	}
}

// sleepUntil returns after that time, or when ctx ends.
func sleepUntil(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// crowdAnnouncements sends heartbeats of so many workers that search nothing, until ctx ends.
func crowdAnnouncements(ctx context.Context, roster *progress.Roster, name string, workers int) error {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		for i := range workers {
			roster.ObserveHeartbeat(run.Heartbeat{
				Worker: fmt.Sprintf("crowd-%04d", i), Kernel: "avx512", Threads: 1, Key: fmt.Sprintf("KEY%053d", i),
				Held: []run.HeldChunk{{Run: name, Chunk: uint64(i + 1), Searching: true, Elapsed: time.Second}},
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// browse does what a browser does, until ctx ends: it reads the events of a run, and asks for the lists.
func browse(ctx context.Context, url string, events *atomic.Int64) error {
	get := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		return http.DefaultClient.Do(request)
	}
	stream, err := get("/events")
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer func() { _ = stream.Body.Close() }() // it was only read
	buffer := make([]byte, 1<<16)
	var asked time.Time
	for {
		if _, err := stream.Body.Read(buffer); err != nil {
			return ignoreEnd(ctx, err)
		}
		events.Add(1)
		if time.Since(asked) < 2*time.Second {
			continue
		}
		asked = time.Now()
		for _, path := range []string{"/workers", "/classes"} {
			response, err := get(path)
			if err != nil {
				return ignoreEnd(ctx, err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close() // it was only read
			if err != nil {
				return ignoreEnd(ctx, err)
			}
		}
	}
}

// ignoreEnd returns nil for an error that comes from the end of ctx.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
