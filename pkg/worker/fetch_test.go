package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// timed is a kernel whose searches take as long as the columns of their prefixes say.
type timed struct {
	times []time.Duration

	mu     sync.Mutex
	served []time.Duration
}

func (k *timed) fake() *kerneltest.Fake {
	k.served = make([]time.Duration, len(k.times))
	return &kerneltest.Fake{Count: func(ctx context.Context, _ *queens.Board, p []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
		pulse.Add(1)
		i := p[0].Cols
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(k.times[i]):
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.served[i] += k.times[i]
		return 1, nil
	}}
}

// take returns the thread time that each had since the last call.
func (k *timed) take() (served []time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	served, k.served = k.served, make([]time.Duration, len(k.times))
	return served
}

// Runs whose chunks take 1 s, 0.1 s and 0.03 s get equal thread time of a worker, and a run of
// weight 4 gets four times that; a run of weight 0 gets nothing while others have chunks.
func TestFairShares(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	for _, threads := range testkit.Sample(t, 1, []int{1, 3}) {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &timed{times: []time.Duration{time.Second, time.Second / 10, time.Second / 30, time.Second / 10}}
				w := newFixture()
				for i, name := range []string{"a", "b", "c", "low"} {
					w.queue.endless[name] = uint32(i)
				}
				w.run(t, threads, k.fake().Kernel(t))
				ends := []func(){w.announcements(t, "a", 1), w.announcements(t, "b", 1), w.announcements(t, "c", 1), w.announcements(t, "low", 0)}
				const span = 2 * time.Minute
				check := func(what string, weights ...float64) {
					t.Helper()
					k.take()
					time.Sleep(span)
					served, sum := k.take(), 0.0
					for _, weight := range weights {
						sum += weight
					}
					for i, weight := range weights {
						want := weight / sum * float64(threads) * span.Seconds()
						if got := served[i].Seconds(); math.Abs(got-want) > 0.05*want {
							t.Errorf("%s: run %d got %.1f s of thread time, want %.1f s", what, i, got, want)
						}
					}
				}
				check("equal weights", 1, 1, 1, 0)
				ends[1]()
				w.announcements(t, "b", 4)
				check("b has weight 4", 1, 4, 1, 0)
				for _, end := range ends[:3] {
					end()
				}
				for _, name := range []string{"a", "b", "c"} {
					w.telemetry.send(run.Announcement{Run: name, State: run.Stopped})
				}
				w.queue.set(func() { delete(w.queue.endless, "b") })
				time.Sleep(5 * time.Second)
				check("low has no others", 0, 0, 0, 1)
				w.stop()
			})
		})
	}
}

// A thread with short chunks never waits for the network, though a round trip takes longer than a
// chunk, and the worker asks for many at once.
func TestShortChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &timed{times: []time.Duration{10 * time.Millisecond}}
		w := newFixture()
		w.queue.endless["r"], w.queue.delay = 0, 50*time.Millisecond
		w.run(t, 2, k.fake().Kernel(t))
		w.announcements(t, "r", 1)
		time.Sleep(5 * time.Second)
		k.take()
		from := time.Now()
		const span = 20 * time.Second
		time.Sleep(span)
		if got := k.take()[0]; got < 2*span-span/60 {
			t.Errorf("2 threads searched for %v of %v", got, span)
		}
		if n := len(w.queue.since(from)); n > 50 {
			t.Errorf("%d requests in %v for 4000 chunks", n, span)
		}
		held, _ := w.telemetry.last()
		if len(held) > 2+200+20 {
			t.Errorf("holds %d chunks, want those of a second at most", len(held))
		}
		w.stop()
	})
}

// Towards the end of a run a worker holds no more than half of its share of what is queued, and
// one chunk.
func TestLastChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &timed{times: []time.Duration{10 * time.Millisecond, time.Hour}}
		w := newFixture()
		w.run(t, 1, k.fake().Kernel(t))
		lend := func(id uint64, columns uint32) {
			c := chunk(id, 1)
			c.Tasks[0] = []queens.Prefix{{Cols: columns}}
			w.queue.lend(c)
		}
		announcement := func() {
			w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Weight: 1, Threads: 10, Waiting: w.queue.count("r")})
		}
		announcement()
		for id := range uint64(10) { // they say how long chunks take
			lend(id+1, 0)
		}
		announcement()
		time.Sleep(2 * time.Second)
		for id := range uint64(60) {
			lend(id+100, 1)
		}
		announcement()
		time.Sleep(time.Second)
		announcement()
		time.Sleep(3 * time.Second)
		// One is searched; of the 60 the share of this worker is 6.
		if held, _ := w.telemetry.last(); len(held) < 2 || len(held) > 4 {
			t.Errorf("holds %d of 60 chunks, want one and at most half of its share of 6", len(held))
		}
		w.stop()
	})
}

// A worker of runs whose queues are empty asks each once, parks a pull at each, and sends nothing
// more.
func TestIdleWorkerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, lasting(time.Second))
		w.announcements(t, "s", 4)
		w.announcements(t, "low", 0)
		time.Sleep(time.Hour)
		var takes, parks int
		for _, r := range w.queue.since(time.Time{}) {
			if r.max > 0 {
				takes++
			} else {
				parks++
			}
		}
		if takes != 3 || parks != 3 {
			t.Errorf("%d takes and %d pulls in an hour, want 3 and 3", takes, parks)
		}
		began := time.Now()
		l := w.queue.lend(chunkOf("low", 1, 1))
		time.Sleep(2 * time.Second)
		l.want(t, "a parked pull's chunk", "acknowledged")
		if took := l.at.Sub(began); took > time.Second+10*roundTrip {
			t.Errorf("it was counted after %v", took)
		}
		w.stop()
	})
}

// A worker whose parked pull gets lost takes the chunk after a while, because of the announcements. While
// announcements are wrong, it asks ever less often.
func TestLostPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.run(t, 1, fakeKernel(t, lasting(time.Second)))
		endAnnouncements := w.announcements(t, "r", 1)
		w.queue.set(func() { w.queue.lose = true })
		time.Sleep(time.Minute)
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(6 * time.Second)
		l.want(t, "after a lost pull", "acknowledged")

		endAnnouncements()
		from := time.Now()
		for range 300 {
			w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Weight: 1, Waiting: 5})
			time.Sleep(2 * time.Second)
		}
		takes := 0
		for _, r := range w.queue.since(from) {
			if r.max == 0 {
				continue
			}
			takes++
			if r.at.Sub(from)%(2*time.Second) == 0 {
				t.Errorf("asks %v after the start, at the moment of an announcement as all workers would", r.at.Sub(from))
			}
		}
		if takes < 3 || takes > 50 {
			t.Errorf("asked %d times in 10 minutes of wrong announcements, want about 20", takes)
		}
		w.stop()
	})
}

// A worker that can't take chunks tries again ever less often, and takes from other runs.
func TestTakeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.queue.refusal = errors.New("no responders")
		w.run(t, 1, fakeKernel(t, lasting(time.Second)))
		w.announcements(t, "r", 1)
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(10 * time.Minute)
		if n := len(w.queue.since(time.Time{})); n < 10 || n > 60 {
			t.Errorf("%d requests in 10 minutes without success", n)
		}
		w.queue.set(func() { w.queue.refusal = nil })
		time.Sleep(50 * time.Second)
		l.want(t, "when requests succeed again", "acknowledged")
		w.stop()
	})
}

// A worker with one run's empty queue takes from the next at once, and asks the empty one again
// when an announcement says that chunks are waiting there.
func TestEmptyQueueBesideAFullOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &timed{times: []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}}
		w := newFixture()
		w.queue.endless["full"] = 0
		w.run(t, 1, k.fake().Kernel(t))
		w.announcements(t, "full", 1)
		time.Sleep(time.Minute)
		w.announcements(t, "r", 1)
		time.Sleep(time.Minute)
		if got := k.take()[0]; got < 2*time.Minute-time.Second {
			t.Errorf("before and beside an empty queue a run was served %v of 2 minutes", got)
		}
		takes := 0
		for _, r := range w.queue.since(time.Now().Add(-30 * time.Second)) {
			if r.run == "r" && r.max > 0 {
				takes++
			}
		}
		if takes > 10 {
			t.Errorf("asked the empty queue %d times in 30 s", takes)
		}
		w.queue.set(func() { w.queue.endless["r"] = 1 })
		time.Sleep(20 * time.Second)
		k.take()
		time.Sleep(time.Minute)
		if served := k.take(); served[1] < 27*time.Second || served[1] > 33*time.Second {
			t.Errorf("then they were served %v of a minute", served)
		}
		w.stop()
	})
}

// A run of weight 0 gets what others leave, and a chunk of another run is searched before the
// chunks of low runs that wait for a thread.
func TestLowRunLeavesTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &timed{times: []time.Duration{100 * time.Millisecond}}
		w := newFixture()
		w.queue.endless["low"] = 0
		w.run(t, 1, k.fake().Kernel(t))
		w.announcements(t, "r", 1)
		w.announcements(t, "low", 0)
		time.Sleep(time.Minute)
		if got := k.take()[0]; got < time.Minute-time.Second {
			t.Errorf("a low run was served %v of a minute", got)
		}
		began := time.Now()
		l := w.queue.lend(chunk(1<<40, 1))
		time.Sleep(time.Second)
		l.want(t, "of a normal run", "acknowledged")
		if took := l.at.Sub(began); took > 200*time.Millisecond+20*roundTrip {
			t.Errorf("it was counted after %v", took)
		}
		w.stop()
	})
}
