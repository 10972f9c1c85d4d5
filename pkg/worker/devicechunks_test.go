package worker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// What holds for chunks that threads search holds for those of a device.

// The leases of all chunks in a batch are extended while it advances, and lapse when it stalls; and so
// do those of the chunks that wait.
func TestLeasesOfABatch(t *testing.T) {
	for _, stalls := range []bool{false, true} {
		t.Run(fmt.Sprint(stalls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeDevice{threads: 10}
				w := startDevice(t, d)
				w.warmUp(t, 10)
				d.stalls = stalls
				var chunks []run.Chunk
				for id := range uint64(5) {
					chunks = append(chunks, costing(id+1, 1<<30, 1))
				}
				leases := w.lendAll(nil, chunks...)
				time.Sleep(30 * time.Second)
				for i, l := range leases {
					if n := l.count("extended"); !stalls && n < 9 || stalls && n > 2 {
						t.Errorf("the lease of chunk %d was extended %d times in 35 s", i, n)
					}
				}
				if live := w.live(); (live == nil) == stalls {
					t.Errorf("live: %v", live)
				}
				w.stop()
			})
		})
	}
}

// A suspect chunk is a batch of its own, after a heartbeat that names it, and a worker with two devices
// searches one at a time.
func TestSuspectsOnADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e := &fakeDevice{threads: 10}, &fakeDevice{threads: 10}
		w := startDevice(t, d, withDevice(t, e))
		w.warmUp(t, 10)
		var chunks []run.Chunk
		for id := range uint64(6) {
			c := costing(id+1, 10_000, 7)
			c.Suspect = id%2 == 0
			chunks = append(chunks, c)
		}
		leases := w.lendAll(nil, chunks...)
		time.Sleep(time.Minute)
		w.stop()
		for _, l := range leases {
			l.want(t, "counted", "acknowledged")
		}
		suspects := 0
		for _, h := range w.telemetry.heartbeats {
			searched, both := 0, 0
			for _, held := range h.Held {
				if held.Searching && held.Chunk < 10 {
					both++
					if held.Chunk%2 == 1 {
						searched++
					}
				}
			}
			if searched > 1 {
				t.Errorf("a heartbeat names %+v: two suspects at once", h.Held)
			}
			suspects += searched
		}
		if suspects < 3 {
			t.Errorf("heartbeats name suspects %d times, want each before its search", suspects)
		}
		for _, calls := range [][]int{d.all(), e.all()} {
			for _, tasks := range calls[1:] {
				if tasks%7 != 0 {
					t.Errorf("calls with %v tasks", calls)
				}
			}
		}
	})
}

// A heartbeat that names all chunks of a batch comes before its search if one of them was delivered
// before.
func TestHeartbeatBeforeABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 10}
		w := startDevice(t, d)
		w.warmUp(t, 10)
		var chunks []run.Chunk
		var leases []*fakeLease
		for id := range uint64(3) {
			chunks, leases = append(chunks, costing(id+1, 100, 1)), append(leases, &fakeLease{again: int(id) / 2})
		}
		w.lendAll(leases, chunks...)
		w.stop()
		named := slices.ContainsFunc(w.telemetry.heartbeats, func(h run.Heartbeat) bool {
			return slices.ContainsFunc(h.Held, func(held run.HeldChunk) bool { return held.Chunk == 3 && held.Searching })
		})
		if !named {
			t.Error("no heartbeat names the chunk that was delivered before as searched")
		}
	})
}

// Of a batch, a chunk with a task that this key has counted goes to others, and the rest is counted.
func TestCountedTaskInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 10}
		w := startDevice(t, d)
		w.warmUp(t, 100)
		first := w.lendAll(nil, costing(1, 100, 2))
		first[0].want(t, "new", "acknowledged")
		again := costing(2, 100, 2)
		again.First = 1001
		leases := w.lendAll(nil, again, costing(3, 100, 2), costing(4, 100, 2))
		leases[0].want(t, "with a counted task", "postponed 1s")
		leases[1].want(t, "with new tasks", "acknowledged")
		leases[2].want(t, "with new tasks", "acknowledged")
		w.stop()
	})
}

// batchInSearch returns a fixture whose device searches three chunks with two tasks each for hours.
func batchInSearch(t *testing.T, d *fakeDevice) (w *fixture, leases []*fakeLease) {
	t.Helper()
	w = startDevice(t, d)
	w.warmUp(t, 10)
	leases = w.lendAll(nil, costing(1, 1<<31, 2), costing(2, 1<<31, 2), costing(3, 1<<31, 2))
	if calls := d.all(); calls[len(calls)-1] != 6 {
		t.Fatalf("calls with %v tasks, want the last with 6", calls)
	}
	return w, leases
}

// When the run ends, the search of a batch does at once.
func TestRunEndsDuringABatch(t *testing.T) {
	for state, want := range map[run.State]string{run.Stopped: "released", run.Cancelled: "acknowledged"} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, leases := batchInSearch(t, &fakeDevice{threads: 10})
				w.telemetry.send(run.Announcement{Run: "r", State: state})
				time.Sleep(2 * deviceStep)
				for _, l := range leases {
					l.want(t, "in search", want)
				}
				w.stop()
				if w.publisher.stored() > 0 {
					t.Errorf("stored %+v", w.publisher.results)
				}
			})
		})
	}
}

// A chunk that an announcement names as obsolete does not end the batch while another chunk is wanted, and its
// counts are not reported. When all are obsolete, the search ends at once.
func TestObsoleteChunksOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 10}
		w := startDevice(t, d)
		w.warmUp(t, 10)
		leases := w.lendAll(nil, costing(1, 50_000, 1), costing(2, 50_000, 1))
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Obsolete: []uint64{1}})
		time.Sleep(time.Second)
		leases[0].want(t, "while the other is wanted", []string{}...)
		time.Sleep(10 * time.Second)
		leases[0].want(t, "obsolete", "acknowledged")
		leases[1].want(t, "wanted", "acknowledged")
		if r := w.publisher.results; len(r) != 1 || r[0].Chunk != 2 {
			t.Errorf("stored %+v, want the result of chunk 2", r)
		}
		w.stop()

		w, leases = batchInSearch(t, &fakeDevice{threads: 10})
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Obsolete: []uint64{1, 2, 3}})
		time.Sleep(2 * deviceStep)
		for _, l := range leases {
			l.want(t, "all obsolete", "acknowledged")
		}
		w.stop()
	})
}

// A worker that is stopped reports the first tasks of each chunk in a batch, as far as they are
// counted, and releases chunks without any.
func TestStopDuringABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 1, partial: true}
		w := startDevice(t, d)
		w.warmUp(t, 1)
		leases := w.lendAll(nil, costing(1, 4000, 3), costing(2, 4000, 3))
		d.mu.Lock()
		end := d.began.Add(17*time.Second - grace)
		d.mu.Unlock()
		time.Sleep(time.Until(end)) // four are counted when the grace is over
		w.stop()
		leases[0].want(t, "counted", "acknowledged")
		leases[1].want(t, "counted in part", "acknowledged")
		r := w.publisher.results // in any order
		slices.SortFunc(r, func(a, b run.ChunkResult) int { return cmp.Compare(a.Chunk, b.Chunk) })
		if len(r) != 2 || len(r[0].Counts) != 3 || len(r[1].Counts) != 1 {
			t.Errorf("stored %+v", r)
		}
		w, leases = batchInSearch(t, &fakeDevice{threads: 10})
		w.stop()
		for _, l := range leases {
			l.want(t, "without a count", "released")
		}
	})
}

// When a device fails, its chunks are released at once, and the worker ends with an error that names
// the kernel and the reason. Its threads may finish their searches.
func TestDeviceFails(t *testing.T) {
	for name, reason := range map[string]error{"lost": fmt.Errorf("launch: %w", kernel.ErrDeviceLost), "other": errors.New("out of resources")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeDevice{threads: 10}
				w := startWith(t, 0, kernel.Kernel{}, withDevice(t, d))
				w.warmUp(t, 10)
				d.fail(reason)
				leases := []*fakeLease{new(fakeLease), new(fakeLease), new(fakeLease)}
				w.lendAll(leases, costing(1, 1000, 2), costing(2, 1000, 2), costing(3, 1000, 2))
				err := w.ended()
				if !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
					t.Errorf("error %v, want kernel fake and %v", err, reason)
				}
				for _, l := range leases {
					l.want(t, "of a device that failed", "released")
				}
				if w.publisher.stored() > 0 {
					t.Errorf("stored %+v", w.publisher.results)
				}
			})
		})
	}
}

// A device that hangs ends the worker also if its search was cancelled, because its run has stopped: the
// error names the device, and the chunks go back.
func TestDeviceHangsInACancelledSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &kerneltest.Fake{CountTasks: func(ctx context.Context, _ *queens.Board, _ [][]queens.Prefix, _ *atomic.Uint64, _ []uint64) (int, error) {
			<-ctx.Done()
			time.Sleep(5 * time.Second)
			return 0, fmt.Errorf("%w: it does not answer", kernel.ErrDeviceLost)
		}}
		w := startWith(t, 0, kernel.Kernel{}, func(c *worker.Config) {
			c.Devices = []worker.Device{{Kernel: fake.Kernel(t), Threads: 10}}
		})
		l := w.queue.lend(chunk(1, 3))
		time.Sleep(time.Second)
		w.telemetry.send(run.Announcement{Run: "r", State: run.Stopped})
		time.Sleep(time.Minute)
		w.cancel() // a worker that has not ended ends without an error
		if err := w.ended(); !errors.Is(err, kernel.ErrDeviceLost) || !strings.Contains(err.Error(), "kernel fake") {
			t.Errorf("error %v, want kernel fake and %v", err, kernel.ErrDeviceLost)
		}
		l.want(t, "of a device that hangs", "released")
	})
}

// A device that leaves out a count fails: no chunk may stay in search for ever.
func TestDeviceWithoutACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &kerneltest.Fake{CountTasks: func(_ context.Context, _ *queens.Board, tasks [][]queens.Prefix, _ *atomic.Uint64, _ []uint64) (int, error) {
			return 1, nil
		}}
		w := startWith(t, 0, kernel.Kernel{}, func(c *worker.Config) {
			c.Devices = []worker.Device{{Kernel: fake.Kernel(t), Threads: 10}}
		})
		l := w.queue.lend(chunk(1, 3))
		if err := w.ended(); err == nil || !strings.Contains(err.Error(), "2 of 3 tasks have no count") {
			t.Errorf("error %v", err)
		}
		l.want(t, "not counted", "released")
	})
}

// While results can't be stored, a device continues the batch that it searches: the leases of its
// chunks do not lapse. Then it waits, and all results are stored in the end.
func TestUnstoredResultsOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 1}
		w := startDevice(t, d)
		w.warmUp(t, 1)
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		var chunks []run.Chunk
		for id := range uint64(40) {
			chunks = append(chunks, costing(id+1, 50, 1))
		}
		leases := w.lendAll(nil, chunks...)
		time.Sleep(time.Minute)
		if err := w.live(); err != nil {
			t.Errorf("live: %v", err)
		}
		w.publisher.refuse(nil)
		time.Sleep(time.Minute)
		for i, l := range leases {
			if l.count("acknowledged") != 1 {
				t.Errorf("the lease of chunk %d was %v", i, l.all())
			}
		}
		w.stop()
	})
}
