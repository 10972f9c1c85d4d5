package worker_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
)

// fleet is a worker with a device and workers with 16 threads each, which share a queue.
type fleet struct {
	device  *fakeDevice
	threads int // of all workers
	queue   *fakeQueue
	all     []*fixture
}

// cpuWorkers is how many workers of 16 threads there are beside the device.
const cpuWorkers = 4

func startFleet(t *testing.T, d *fakeDevice) *fleet {
	t.Helper()
	f := &fleet{device: d, threads: d.threads + 16*cpuWorkers, queue: newFakeQueue()}
	for i := range 1 + cpuWorkers {
		w := &fixture{queue: f.queue, publisher: new(fakePublisher), telemetry: &fakeTelemetry{queue: f.queue}}
		if i == 0 {
			w.run(t, 0, kernel.Kernel{}, withDevice(t, d))
		} else {
			w.run(t, 16, threadKernel(t))
		}
		f.all = append(f.all, w)
	}
	return f
}

// threadKernel takes as many milliseconds for a task as the columns of its prefix say.
func threadKernel(t *testing.T) kernel.Kernel {
	fake := &kerneltest.Fake{Count: func(ctx context.Context, _ *queens.Board, p []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
		pulse.Add(1)
		return lasting(time.Duration(p[0].Cols)*time.Millisecond)(ctx, pulse)
	}}
	return fake.Kernel(t)
}

func (f *fleet) announcement(name string) {
	for _, w := range f.all {
		w.telemetry.send(run.Announcement{Run: name, State: run.Running, Weight: 1, Waiting: f.queue.count(name), Threads: f.threads})
	}
}

func (f *fleet) stop() {
	for _, w := range f.all {
		w.stop()
	}
}

// stored returns the number of results.
func (f *fleet) stored() (chunks int) {
	for _, w := range f.all {
		chunks += w.publisher.stored()
	}
	return chunks
}

// count has the fleet count a run of so many tasks with that cost, in milliseconds of a thread, in
// guided chunks through a window as a coordinator keeps it. It returns how long that took, and the
// share of time for which the device was busy until all chunks were published.
func (f *fleet) count(tasks int, cost uint32) (took time.Duration, busy float64) {
	began, published := time.Now(), 0
	for left, next := tasks, time.Now(); left > 0 || f.stored() < published; {
		for left > 0 && published-f.stored() < schedule.ChunksPerThread*f.threads {
			size := schedule.ChunkTasks(float64(left), schedule.ChunksLeft, f.threads, schedule.MaxChunkSeconds*1000/float64(cost), 1)
			published++
			f.queue.lend(costing(uint64(published), cost, size))
			if left -= size; left == 0 {
				busy = f.device.searched().Seconds() / time.Since(began).Seconds()
			}
		}
		if !time.Now().Before(next) {
			next = next.Add(run.AnnouncementInterval)
			f.announcement("r")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began), busy
}

// Beside 64 threads, a device that is as fast as 128 is busy nearly all of the time, and all are done
// at about the same time: no worker holds what others could search.
func TestFleetWithADevice(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	for _, test := range []struct {
		tasks int
		cost  uint32 // of a task, in milliseconds of a thread
		busy  float64
		tail  time.Duration // beyond the time in which all could be done; tasks of 100 s have two of them
	}{
		{60_000, 200, 0.97, time.Second},
		{20_000, 25, 0.9, time.Second}, // a run of three seconds
		{3000, 100_000, 0.97, 200 * time.Second},
	} {
		t.Run(fmt.Sprint(test.tasks, "x", test.cost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFleet(t, &fakeDevice{threads: 128, start: 10 * time.Millisecond})
				took, busy := f.count(test.tasks, test.cost)
				ideal := time.Duration(test.tasks) * time.Duration(test.cost) * time.Millisecond / time.Duration(f.threads)
				t.Logf("took %v, ideally %v; the device was busy for %.1f%% of the time until all was published", took, ideal, 100*busy)
				if busy < test.busy {
					t.Errorf("the device was busy for %.1f%% of the time, want %.1f%%", 100*busy, 100*test.busy)
				}
				if took > ideal+test.tail {
					t.Errorf("took %v, ideally %v, want at most %v more", took, ideal, test.tail)
				}
				f.stop()
			})
		})
	}
}

// Two devices and the threads of one worker leave each other what is ready: all are busy, although it
// takes a while to fetch more.
func TestDevicesAndThreadsOfOneWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	synctest.Test(t, func(t *testing.T) {
		const threads, span = 8, time.Minute
		a, b := &fakeDevice{threads: 64}, &fakeDevice{threads: 32}
		w := newFixture()
		w.queue.endless["r"], w.queue.delay = 300, 200*time.Millisecond
		w.run(t, threads, threadKernel(t), withDevice(t, a), withDevice(t, b))
		w.announcements(t, "r", 1)
		time.Sleep(span / 3) // until the times of chunks are known
		before := w.status().SearchTime
		searchedA, searchedB := a.searched(), b.searched()
		time.Sleep(span)
		all := (w.status().SearchTime - before).Seconds() / (span.Seconds() * (threads + 64 + 32))
		first, second := (a.searched()-searchedA).Seconds()/span.Seconds(), (b.searched()-searchedB).Seconds()/span.Seconds()
		t.Logf("busy shares: %.3f of all threads, %.3f and %.3f of the devices", all, first, second)
		if all < 0.995 || first < 0.95 || second < 0.95 {
			t.Errorf("busy shares: %.3f of all threads, %.3f and %.3f of the devices", all, first, second)
		}
		w.stop()
	})
}

// Runs get equal time of a device, whatever their chunks take.
func TestFairSharesOfADevice(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	synctest.Test(t, func(t *testing.T) {
		costs := map[string]uint32{"a": 1500, "b": 300, "c": 100}
		const threads, span = 32, time.Minute
		w := startDevice(t, &fakeDevice{threads: threads, start: 10 * time.Millisecond})
		for name, cost := range costs {
			w.queue.set(func() { w.queue.endless[name] = cost })
			w.announcements(t, name, 1)
		}
		time.Sleep(span / 3) // until the times of chunks are known
		w.publisher.mu.Lock()
		w.publisher.results = nil
		w.publisher.mu.Unlock()
		time.Sleep(span)
		w.stop()
		served, all := make(map[string]float64), 0.0
		for _, r := range w.publisher.results {
			for i := range r.Counts {
				served[r.Run] += r.Counts[i].Elapsed.Seconds()
				all += r.Counts[i].Elapsed.Seconds()
			}
		}
		for name := range costs {
			if part := served[name] / all * 3; math.Abs(part-1) > 0.05 {
				t.Errorf("run %s got %.2f of its share", name, part)
			}
		}
		if most := threads * span.Seconds(); all < 0.95*most {
			t.Errorf("the device searched for %.0f s of thread time, want nearly %.0f s", all, most)
		}
	})
}
