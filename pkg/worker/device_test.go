package worker_test

import (
	"context"
	"slices"
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
	partial bool          // if the search ends early, it has counts of the first tasks
	stalls  bool          // it does not advance
	start   time.Duration // of each call

	mu    sync.Mutex
	calls []int         // tasks of each
	fails error         // of the next call
	busy  time.Duration // of all calls
	began time.Time     // the last call
}

// deviceStep is the time between two launches.
const deviceStep = 4 * time.Millisecond

func (d *fakeDevice) fake() *kerneltest.Fake {
	return &kerneltest.Fake{CountTasks: d.countTasks}
}

func (d *fakeDevice) countTasks(ctx context.Context, _ *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, counts []uint64) (int, error) {
	began := time.Now()
	d.mu.Lock()
	d.calls, d.began = append(d.calls, len(tasks)), began
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
		if !d.partial && i < len(tasks)-1 {
			continue
		}
		for time.Now().Before(ends) {
			select {
			case <-ctx.Done():
				if d.partial {
					return i, context.Cause(ctx)
				}
				return 0, context.Cause(ctx)
			case <-time.After(min(deviceStep, time.Until(ends))):
			}
			if !d.stalls {
				pulse.Add(1)
			}
		}
		if fails != nil {
			return 0, fails
		}
		counts[i] = countOf(prefixes)
	}
	for i, prefixes := range tasks {
		counts[i] = countOf(prefixes)
	}
	return len(tasks), nil
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

// searched returns for how long the device has searched, in calls that have ended.
func (d *fakeDevice) searched() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy
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
func costing(id uint64, cost uint32, tasks int) run.Chunk {
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
func (f *fixture) lendAll(leases []*fakeLease, chunks ...run.Chunk) []*fakeLease {
	f.queue.set(func() { f.queue.lose = true })
	if leases == nil {
		for range chunks {
			leases = append(leases, new(fakeLease))
		}
	}
	for i, c := range chunks {
		f.queue.lendWith(leases[i], c)
	}
	time.Sleep(3 * run.AnnouncementInterval)
	f.queue.set(func() { f.queue.lose = false; clear(f.queue.pulls) })
	return leases
}

// A device counts many chunks in one call, once it has counted one. Every task has its own count, and
// chunks are acknowledged when their results are stored. A heartbeat names all chunks as searched, by
// all threads that the device counts for.
func TestDeviceSearchesABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDevice{threads: 100}
		w := startDevice(t, d)
		w.warmUp(t, 1000)
		var chunks []run.Chunk
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
// for; and no task has a time far from the mean.
func TestTimesOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cost = 100
		d := &fakeDevice{threads: 40}
		w := startDevice(t, d)
		var chunks []run.Chunk
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
}
