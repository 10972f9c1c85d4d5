//go:build opencl && linux

package opencl

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

var (
	benchDevice = flag.Int("opencl.device", 0, "index of the device of the benchmarks")
	benchWarps  = flag.Bool("opencl.warps", false, "measure the search by warps")
	benchTime   = flag.Duration("opencl.time", time.Second, "least time of a count in BenchmarkStates")
)

// opened returns a counter with the given settings. If open returns an error, the benchmark is
// skipped.
func opened(b *testing.B, s settings) *counter {
	b.Helper()
	s.warps = *benchWarps
	c, err := open(*benchDevice, s)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	return c
}

// BenchmarkStates measures how many states the device searches in a second, and for which part of
// the time its lanes are idle. It measures the settings that New chooses, and others. It doubles
// the copies of a board until their count takes at least -opencl.time.
func BenchmarkStates(b *testing.B) {
	const n = 14
	board := queens.FullBoard(n)
	each := float64(states(&board, queens.Prefix{}))
	if *benchWarps {
		each = stepsBelow(&board, queens.Prefix{}, warpTests, warpSteps)
	}
	known, _ := queens.KnownTotal(n)
	measure := func(b *testing.B, c *counter) {
		var pulse atomic.Uint64
		for b.Loop() {
			for copies, took := 1, time.Duration(0); took < *benchTime; copies *= 2 {
				prefixes := slices.Repeat([]queens.Prefix{{}}, copies)
				c.room = 0
				start := time.Now()
				got, err := c.Count(b.Context(), &board, prefixes, &pulse)
				if want := known.Uint64() * uint64(copies); err != nil || got != want {
					b.Fatalf("counted %d (error %v), want %d", got, err, want)
				}
				took = time.Since(start)
				searched := each * float64(copies)
				b.ReportMetric(searched/took.Seconds(), "states/s")
				b.ReportMetric(100-100*searched/float64(c.room), "%idle")
			}
		}
	}
	b.Run("default", func(b *testing.B) {
		c := opened(b, settings{})
		measure(b, c)
		b.ReportMetric(float64(c.lanes), "lanes")
		b.ReportMetric(float64(c.group), "group")
	})
	found, err := cl.Devices()
	if err != nil || *benchDevice >= len(found) {
		b.Fatalf("no device %d: %v", *benchDevice, err)
	}
	for _, group := range []int{32, 64} {
		for _, lanes := range []int{256, 512, 768, 1024, 1536} {
			b.Run(fmt.Sprintf("group=%d/lanes=%d", group, lanes), func(b *testing.B) {
				measure(b, opened(b, settings{group: group, lanes: lanes * max(found[*benchDevice].Units, 1)}))
			})
		}
	}
}

// timedJoiner adds the time of its joins to a sum.
type timedJoiner struct {
	halves.Device
	sum *time.Duration
}

func (t timedJoiner) Join(
	ctx context.Context, l *halves.Lists, pulse *atomic.Uint64,
) (uint64, error) {
	start := time.Now()
	defer func() { *t.sum += time.Since(start) }()
	return t.Device.Join(ctx, l, pulse)
}

// BenchmarkJoin measures how many solutions a second the device finds when all threads make
// half-boards for it, in the row sets with the first numbers, and which part of the time it joins.
func BenchmarkJoin(b *testing.B) {
	for _, c := range []struct {
		n    int
		sets uint64
	}{{20, 40}, {24, 40}, {26, 8}} {
		b.Run(fmt.Sprintf("n=%d", c.n), func(b *testing.B) {
			var joined time.Duration
			k := halves.WithDevice("join", binWords/2, func(room halves.Room) (halves.Device, error) {
				j, err := openJoiner(*benchDevice, room)
				return timedJoiner{j, &joined}, err
			})
			helpers := runtime.GOMAXPROCS(0) - 1
			counter, err := halves.NewCounter(halves.Config{N: c.n, Kernel: k, Helpers: helpers})
			if err != nil {
				b.Skip(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			var helping sync.WaitGroup
			for range helpers {
				helping.Go(func() { counter.Help(ctx, new(atomic.Uint64)) })
			}
			for b.Loop() {
				start := time.Now()
				joined = 0
				if _, err := counter.Count(b.Context(), 0, c.sets, new(atomic.Uint64)); err != nil {
					b.Fatal(err)
				}
				took := time.Since(start)
				known, _ := queens.KnownTotal(c.n)
				total, _ := known.Float64()
				part := float64(c.sets) / float64(halves.Sets(c.n))
				b.ReportMetric(total*part/took.Seconds(), "solutions/s")
				b.ReportMetric(100*joined.Seconds()/took.Seconds(), "%joining")
			}
			stop()
			helping.Wait()
			if err := counter.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkCancel measures how long counts continue after they were canceled. The contract of
// kernel.Counter allows 50 ms.
func BenchmarkCancel(b *testing.B) {
	const cancels = 20
	c, board := opened(b, settings{}), queens.FullBoard(20)
	for b.Loop() {
		var took []time.Duration
		for range cancels {
			ctx, cancel := context.WithCancel(b.Context())
			var pulse atomic.Uint64
			ended := make(chan time.Time)
			go func() {
				_, _ = c.Count(ctx, &board, []queens.Prefix{{}}, &pulse) // ends with the error of ctx
				ended <- time.Now()
			}()
			for pulse.Load() < 20 { // by then launches have their full length
				time.Sleep(time.Millisecond)
			}
			canceled := time.Now()
			cancel()
			took = append(took, (<-ended).Sub(canceled))
		}
		slices.Sort(took)
		b.ReportMetric(took[cancels/2].Seconds()*1e3, "median-ms")
		b.ReportMetric(took[cancels-1].Seconds()*1e3, "worst-ms")
	}
}
