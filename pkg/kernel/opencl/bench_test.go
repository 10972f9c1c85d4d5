//go:build opencl && linux

package opencl

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

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
