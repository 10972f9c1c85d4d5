package worker_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// An idle worker publishes a heartbeat every 10 s, one that holds chunks every 3 s, and a last one
// when it leaves. A worker tells at once that it is busy after it was idle, and a second after it
// is idle.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, lasting(10*time.Second))
		began := time.Now()
		time.Sleep(25 * time.Second)
		w.queue.lend(chunk(1, 1)) // until 35 s
		time.Sleep(35 * time.Second)
		w.stop()
		wants := []struct {
			at   float64 // seconds
			busy bool
		}{
			{0, false}, {10, false}, {20, false},
			{25, true}, {28, true}, {31, true}, {34, true},
			{36, false}, {46, false}, {56, false}, {60, false},
		}
		if len(w.telemetry.heartbeats) != len(wants) {
			t.Errorf("%d heartbeats, want %d", len(w.telemetry.heartbeats), len(wants))
		}
		for i, h := range w.telemetry.heartbeats {
			at := w.telemetry.times[i].Sub(began).Round(time.Second / 10).Seconds()
			if err := h.Validate(); err != nil {
				t.Error(err)
			}
			if last := i == len(wants)-1; i < len(wants) && (at != wants[i].at || wants[i].busy != (len(h.Held) > 0) ||
				h.Leaving != last || h.Threads != 2) {
				t.Errorf("heartbeat %d, at %v s: %+v, want at %v s, with a chunk %v, leaving %v", i, at, h, wants[i].at, wants[i].busy, last)
			}
		}
	})
}

// Chunks that come one after the other, with short pauses, cause no heartbeats beside the regular
// ones; changes that come often cause one a second at most.
func TestHeartbeatsAreLimited(t *testing.T) {
	for _, test := range []struct {
		pause time.Duration
		most  int // a minute
	}{{300 * time.Millisecond, 22}, {1200 * time.Millisecond, 61}} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, 1, lasting(100*time.Millisecond))
			_, before := w.telemetry.last()
			for id, began := uint64(1), time.Now(); time.Since(began) < time.Minute; id++ {
				w.queue.lend(chunk(id, 1))
				time.Sleep(100*time.Millisecond + test.pause)
			}
			if _, after := w.telemetry.last(); after-before > test.most || after-before < 19 {
				t.Errorf("pauses of %v: %d heartbeats in a minute, want 20 to %d", test.pause, after-before, test.most)
			}
			w.stop()
		})
	}
}

// Heartbeats name the chunks held, and which of them are searched and for how long.
func TestHeartbeatsNameTheChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, lasting(6500*time.Millisecond))
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		w.queue.lend(chunk(1, 1))
		w.queue.lend(chunk(2, 1))
		time.Sleep(10 * time.Second)
		w.cancel()
		_ = w.ended()
		rounded := func(held []run.HeldChunk) (list []run.HeldChunk) {
			for _, h := range held {
				h.Elapsed = h.Elapsed.Round(time.Second / 2)
				list = append(list, h)
			}
			return list
		}
		held := func(id uint64, searching bool, tenths int) run.HeldChunk {
			return run.HeldChunk{Run: "r", Chunk: id, Searching: searching, Elapsed: time.Duration(tenths) * time.Second / 10}
		}
		for _, want := range [][]run.HeldChunk{
			{held(1, true, 10), held(2, false, 0)},
			{held(1, true, 40), held(2, false, 0)},
			{held(2, true, 5), held(1, false, 65)}, // 1 is counted, and still held
			{held(2, true, 35), held(1, false, 65)},
		} {
			if !slices.ContainsFunc(w.telemetry.heartbeats, func(h run.Heartbeat) bool {
				return slices.Equal(rounded(h.Held), want)
			}) {
				t.Errorf("no heartbeat names %v", want)
			}
		}
		if t.Failed() {
			t.Logf("they name %v", w.telemetry.heartbeats)
		}
	})
}

// Before the search of a chunk that was delivered before, or is suspect, a heartbeat names the
// chunk. The first delivery of another waits for none.
func TestHeartbeatBeforeADangerousSearch(t *testing.T) {
	const threads = 3
	for _, test := range []struct {
		name    string
		again   int
		suspect bool
		named   bool
		begun   int // searches at once
	}{
		{"redelivered", 1, false, true, threads},
		{"suspect", 0, true, true, 1},
		{"both", 2, true, true, 1},
		{"neither", 0, false, false, threads},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				searching := func(held []run.HeldChunk) (n int) {
					for _, h := range held {
						if h.Searching {
							n++
						}
					}
					return n
				}
				counts := make(chan int, threads) // of searches in the last heartbeat when one begins
				var w *fixture
				w = start(t, threads, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
					held, _ := w.telemetry.last()
					counts <- searching(held)
					<-ctx.Done()
					return 0, context.Cause(ctx)
				})
				time.Sleep(500 * time.Millisecond) // a change of state is told half a second later
				_, before := w.telemetry.last()
				for id := range uint64(threads) {
					c := chunk(id+1, 1)
					c.Suspect = test.suspect
					w.queue.lendWith(&fakeLease{again: test.again}, c)
				}
				time.Sleep(400 * time.Millisecond)
				_, after := w.telemetry.last()
				// Searches that begin while a heartbeat is being published share the next.
				if extra := after - before; extra > 3 || test.named != (extra > 0) {
					t.Errorf("%d heartbeats more as %d searches begin", extra, threads)
				}
				time.Sleep(5 * time.Second) // for the threads whose chunks a parked pull did not bring
				// All searches continue, so the first to begin finds at least one chunk named,
				// the second two.
				for i, got := range slices.Sorted(received(counts, test.begun)) {
					if got < i+1 && test.named {
						t.Errorf("search %d begins with %d chunks named", i+1, got)
					}
				}
				if len(counts) > 0 {
					t.Errorf("%d searches more, want %d at once", len(counts), test.begun)
				}
				w.stop()
			})
		})
	}
}

func received(from <-chan int, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for range n {
			if !yield(<-from) {
				return
			}
		}
	}
}
