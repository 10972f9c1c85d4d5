package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// fakeDevice is a kernel that counts many tasks at once. It is as fast as so many threads, of which
// one takes as many milliseconds for a task as the columns of its prefix say.
type fakeDevice struct {
	threads int
	inOrder bool          // it counts one task after the other, instead of all by the end
	stalls  bool          // it does not advance
	start   time.Duration // of each call

	mu    sync.Mutex
	calls []int         // tasks of each
	fails error         // of the next call
	busy  time.Duration // of all calls
}

// deviceStep is the time between two launches.
const deviceStep = 4 * time.Millisecond

func (d *fakeDevice) fake() *kerneltest.Fake {
	return &kerneltest.Fake{CountTasks: d.countTasks}
}

func (d *fakeDevice) countTasks(ctx context.Context, _ *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, done func(int, uint64)) error {
	began := time.Now()
	d.mu.Lock()
	d.calls = append(d.calls, len(tasks))
	fails := d.fails
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.busy += time.Since(began)
	}()
	ends := began.Add(d.start)
	for i, prefixes := range tasks {
		ends = ends.Add(time.Duration(prefixes[0].Cols) * time.Millisecond / time.Duration(d.threads))
		if !d.inOrder && i < len(tasks)-1 {
			continue
		}
		for time.Now().Before(ends) {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(min(deviceStep, time.Until(ends))):
			}
			if !d.stalls {
				pulse.Add(1)
			}
		}
		if fails != nil {
			return fails
		}
		if d.inOrder {
			done(i, countOf(prefixes))
		}
	}
	for i := len(tasks) - 1; i >= 0 && !d.inOrder; i-- {
		done(i, countOf(tasks[i]))
	}
	return nil
}

// countOf is the count of a task.
func countOf(prefixes []queens.Prefix) uint64 { return 2 * uint64(prefixes[0].Cols) }

func (d *fakeDevice) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = err
}

func (d *fakeDevice) all() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// startDevice starts a worker with that device and no threads.
func startDevice(t *testing.T, d *fakeDevice, changes ...func(*worker.Config)) *fixture {
	t.Helper()
	return startWith(t, 0, kernel.Kernel{}, append([]func(*worker.Config){withDevice(t, d)}, changes...)...)
}

func withDevice(t *testing.T, d *fakeDevice) func(*worker.Config) {
	return func(c *worker.Config) {
		c.Devices = append(c.Devices, worker.Device{Kernel: d.fake().Kernel(t), Threads: d.threads})
	}
}

// costing returns a chunk of run r with tasks that take a thread so many milliseconds each.
func costing(id uint64, cost uint32, tasks int) queens.Chunk {
	c := chunk(id, tasks)
	for i := range c.Tasks {
		c.Tasks[i] = []queens.Prefix{{Cols: cost}}
	}
	return c
}

// warmUp has the device count a chunk of that cost: before the first, a batch is one chunk.
func (f *fixture) warmUp(t *testing.T, cost uint32) {
	t.Helper()
	l := f.queue.lend(costing(1<<30, cost, 1))
	for l.count("acknowledged") == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second)
	f.publisher.mu.Lock()
	defer f.publisher.mu.Unlock()
	f.publisher.results = nil
}

// lendAll lends chunks, and waits until the worker has taken them, together: no parked pull brings one.
func (f *fixture) lendAll(leases []*fakeLease, chunks ...queens.Chunk) []*fakeLease {
	f.queue.set(func() { f.queue.lose = true })
	if leases == nil {
		for range chunks {
			leases = append(leases, new(fakeLease))
		}
	}
	for i, c := range chunks {
		f.queue.lendWith(leases[i], c)
	}
	time.Sleep(3 * run.BeatInterval)
	f.queue.set(func() { f.queue.lose = false; clear(f.queue.pulls) })
	return leases
}

// A device counts many chunks in one call, once it has counted one. Every task has its own count, and
// chunks are acknowledged when their results are stored. A heartbeat names all chunks as searched, by
// all threads that the device counts for.
func TestDeviceSearchesABatch(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		t.Run(fmt.Sprint(inOrder), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeDevice{threads: 100, inOrder: inOrder}
				w := startDevice(t, d)
				w.warmUp(t, 1000)
				var chunks []queens.Chunk
				for id := range uint64(50) {
					c := costing(id+1, 0, 3)
					for i := range c.Tasks {
						c.Tasks[i] = []queens.Prefix{{Cols: uint32(10*id) + uint32(i) + 1}}
					}
					chunks = append(chunks, c)
				}
				leases := w.lendAll(nil, chunks...)
				w.stop()
				for _, l := range leases {
					l.want(t, "counted", "acknowledged")
				}
				if calls := d.all(); len(calls) < 2 || calls[0] != 1 || slices.Max(calls) < 90 {
					t.Errorf("the device was called with %v tasks, want one, and then most of 150 at once", calls)
				}
				if len(w.publisher.results) != len(chunks) {
					t.Fatalf("%d results, want %d", len(w.publisher.results), len(chunks))
				}
				for _, r := range w.publisher.results {
					c := chunks[r.Chunk-1]
					for i, count := range r.Counts {
						task := c.Task(i)
						if count.Count != countOf(c.Tasks[i]) || count.Hash != task.Hash() || count.Kernel != "fake" || len(r.Counts) != 3 {
							t.Errorf("chunk %d, task %d: stored %+v", r.Chunk, i, count)
						}
					}
				}
			})
		})
	}
}

// The heartbeats of a worker with devices name its kernels, and all threads that the devices count
// for: all of them are busy while a batch is searched.
func TestDeviceInHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 100}
		w := startWith(t, 2, fakeKernel(t, lasting(time.Hour)), withDevice(t, d))
		for id := range uint64(4) {
			w.queue.lend(costing(id+1, 1<<30, 1))
		}
		time.Sleep(10 * time.Second)
		w.telemetry.mu.Lock()
		last := w.telemetry.heartbeats[len(w.telemetry.heartbeats)-1]
		w.telemetry.mu.Unlock()
		searching := 0
		for _, h := range last.Held {
			if h.Searching {
				searching++
			}
		}
		if err := last.Validate(); err != nil || last.Kernel != "fake,fake" || last.Threads != 102 || last.Busy != 102 || searching != 3 {
			t.Errorf("error %v; the heartbeat is %+v", err, last)
		}
		if s := w.status(); s.Busy != 102 || s.Searching != 3 || s.SearchTime < 102*9*time.Second || s.SearchTime > 102*10*time.Second {
			t.Errorf("the status is %+v", s)
		}
		w.stop()
	})
}

// The times of the tasks of a run add up to the time of the device, times the threads that it counts
// for, whether it counts the tasks one by one or all by the end; and no task has a time far from
// the mean.
func TestTimesOfABatch(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		t.Run(fmt.Sprint(inOrder), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const cost = 100
				d := &fakeDevice{threads: 40, inOrder: inOrder}
				w := startDevice(t, d)
				var chunks []queens.Chunk
				for id := range uint64(200) {
					chunks = append(chunks, costing(id+1, cost, 5))
				}
				w.lendAll(nil, chunks...)
				time.Sleep(time.Minute)
				w.stop()
				var sum, longest time.Duration
				tasks := 0
				for _, r := range w.publisher.results {
					for i := range r.Counts {
						sum += r.Counts[i].Elapsed
						longest = max(longest, r.Counts[i].Elapsed)
						tasks++
					}
				}
				if want := d.busy * 40; tasks != 1000 || sum < want-want/1000 || sum > want {
					t.Errorf("%d tasks took %v together, the device %v", tasks, sum, want)
				}
				if most := 4 * cost * time.Millisecond; longest > most {
					t.Errorf("a task took %v, want at most %v", longest, most)
				}
				if s := w.status(); s.SearchTime != d.busy*40 {
					t.Errorf("the status says %v", s.SearchTime)
				}
			})
		})
	}
}

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
				var chunks []queens.Chunk
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
		var chunks []queens.Chunk
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
		var chunks []queens.Chunk
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
				w.telemetry.send(run.Beat{Run: "r", State: state})
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

// A chunk that a beat names as obsolete does not end the batch while another chunk is wanted, and its
// counts are not reported. When all are obsolete, the search ends at once.
func TestObsoleteChunksOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 10}
		w := startDevice(t, d)
		w.warmUp(t, 10)
		leases := w.lendAll(nil, costing(1, 50_000, 1), costing(2, 50_000, 1))
		w.telemetry.send(run.Beat{Run: "r", State: run.Running, Obsolete: []uint64{1}})
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
		w.telemetry.send(run.Beat{Run: "r", State: run.Running, Obsolete: []uint64{1, 2, 3}})
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
		d := &fakeDevice{threads: 1, inOrder: true}
		w := startDevice(t, d)
		w.warmUp(t, 1)
		leases := w.lendAll(nil, costing(1, 4000, 3), costing(2, 4000, 3))
		for w.status().Tasks < 4 { // one of them from before
			time.Sleep(time.Second)
		}
		time.Sleep(4*time.Second - grace) // one more is counted before the grace is over
		w.stop()
		leases[0].want(t, "counted", "acknowledged")
		leases[1].want(t, "counted in part", "acknowledged")
		if r := w.publisher.results; len(r) != 2 || len(r[0].Counts) != 3 || len(r[1].Counts) != 1 {
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

// A device that leaves out a count fails: no chunk may stay in search for ever.
func TestDeviceWithoutACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &kerneltest.Fake{CountTasks: func(_ context.Context, _ *queens.Board, tasks [][]queens.Prefix, _ *atomic.Uint64, done func(int, uint64)) error {
			done(0, 1)
			return nil
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

// While results can't be stored, a device goes on with the batch that it searches: the leases of its
// chunks do not lapse. Then it waits, and all results are stored in the end.
func TestUnstoredResultsOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 1, inOrder: true}
		w := startDevice(t, d)
		w.warmUp(t, 1)
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		var chunks []queens.Chunk
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
