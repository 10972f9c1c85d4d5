package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/worker"
)

// fakeLoad is a machine that others use, or not.
type fakeLoad struct{ reason atomic.Value }

func (l *fakeLoad) pause() string {
	reason, _ := l.reason.Load().(string)
	return reason
}

func (l *fakeLoad) of(c *worker.Config) { c.Pause = l.pause }

// reported returns the number of counts that are stored.
func (f *fixture) reported() (counts int) {
	f.publisher.mu.Lock()
	defer f.publisher.mu.Unlock()
	for _, r := range f.publisher.results {
		counts += len(r.Counts)
	}
	return counts
}

// Within a second after others begin to use the machine no thread searches, and the worker holds no chunk: it has
// reported the tasks that were counted, and released the other chunks. It says so, and takes nothing until
// they have left. Then it counts on.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var searches atomic.Int32
		load := new(fakeLoad)
		w := start(t, 2, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
			searches.Add(1)
			defer searches.Add(-1)
			return lasting(4*time.Second)(ctx, nil)
		}, load.of)
		begun, waiting := w.queue.lend(chunk(1, 3)), w.queue.lend(chunk(2, 3))
		time.Sleep(5 * time.Second) // a task of each is counted
		short, uncounted := w.queue.lend(chunk(3, 1)), w.queue.lend(chunk(4, 1))
		time.Sleep(time.Second)
		load.reason.Store("on battery")
		time.Sleep(time.Second)
		if n := searches.Load(); n != 0 {
			t.Errorf("%d searches go on", n)
		}
		begun.want(t, "a chunk with a counted task", "acknowledged")
		waiting.want(t, "another", "acknowledged")
		short.want(t, "a chunk that was ready", "released")
		if n := w.reported(); n != 2 {
			t.Errorf("%d counts are reported, want one of each chunk in search", n)
		}
		taken := w.queue.taken.Load()
		w.queue.lend(chunk(5, 1))
		time.Sleep(30 * time.Second)
		if now := w.queue.taken.Load(); now > taken+1 { // a pull that waited
			t.Errorf("the worker takes %d chunks in its pause", now-taken)
		}
		w.telemetry.mu.Lock()
		last := w.telemetry.heartbeats[len(w.telemetry.heartbeats)-1]
		w.telemetry.mu.Unlock()
		if last.Paused != "on battery" || last.Busy != 0 || len(last.Held) > 0 || last.Validate() != nil {
			t.Errorf("the last heartbeat is %+v", last)
		}
		if s := w.status(); s.Paused != "on battery" || s.Busy+s.Ready+s.Searching > 0 {
			t.Errorf("the status is %+v", s)
		}
		uncounted.want(t, "a chunk beyond those held", []string{}...)
		load.reason.Store("")
		time.Sleep(10 * time.Second)
		uncounted.want(t, "after the pause", "acknowledged")
		if s := w.status(); s.Paused != "" {
			t.Errorf("the status is %+v", s)
		}
		w.stop()
	})
}

// A heartbeat says within two seconds that a worker without work pauses, and that it does not any more.
func TestHeartbeatsSayThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := new(fakeLoad)
		w := start(t, 1, counting(1), load.of)
		for _, reason := range []string{"on battery", "outside its hours", ""} {
			time.Sleep(3 * time.Second)
			load.reason.Store(reason)
			time.Sleep(2 * time.Second)
			w.telemetry.mu.Lock()
			if last := w.telemetry.heartbeats[len(w.telemetry.heartbeats)-1]; last.Paused != reason {
				t.Errorf("the last heartbeat says %q, want %q", last.Paused, reason)
			}
			w.telemetry.mu.Unlock()
		}
		if n := len(w.telemetry.heartbeats); n > 8 {
			t.Errorf("%d heartbeats in 15 s", n)
		}
		w.stop()
	})
}

// A worker that pauses from its start takes nothing, and does not leave for being idle.
func TestPauseAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := new(fakeLoad)
		load.reason.Store("outside its hours")
		w := start(t, 1, counting(5), load.of, func(c *worker.Config) { c.IdleExit = time.Minute })
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Hour)
		l.want(t, "in the pause", []string{}...)
		if taken := w.queue.taken.Load(); taken > 0 {
			t.Errorf("the worker has taken %d chunks", taken)
		}
		load.reason.Store("")
		time.Sleep(time.Second)
		l.want(t, "after the pause", "acknowledged")
		began := time.Now()
		if err := w.ended(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 59*time.Second || took > 62*time.Second {
			t.Errorf("the worker leaves %v after its last chunk", took)
		}
	})
}

// A chunk that a pull brings in a pause, one that waited at the server since before, is released at once.
func TestChunkComesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := new(fakeLoad)
		w := start(t, 1, counting(5), load.of)
		time.Sleep(10 * time.Second)
		load.reason.Store("on battery")
		time.Sleep(time.Second)
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Second)
		l.want(t, "in the pause", "released")
		w.stop()
	})
}

// A worker that finds no work after a pause is idle from then on, and not since it paused.
func TestIdleAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := new(fakeLoad)
		load.reason.Store("on battery")
		w := start(t, 1, counting(5), load.of, func(c *worker.Config) { c.IdleExit = time.Minute })
		time.Sleep(10*time.Minute + 30*time.Second)
		load.reason.Store("")
		began := time.Now()
		if err := w.ended(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 59*time.Second || took > 62*time.Second {
			t.Errorf("the worker leaves %v after its pause", took)
		}
	})
}

// Results that can't be stored before a pause are held in it, and stored when they can be.
func TestUnstoredResultInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := new(fakeLoad)
		w := start(t, 1, counting(5), load.of)
		w.publisher.refuse(errors.New("no responders"))
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Second)
		load.reason.Store("on battery")
		time.Sleep(20 * time.Second)
		l.want(t, "not stored", []string{}...)
		w.publisher.refuse(nil)
		time.Sleep(20 * time.Second)
		l.want(t, "stored", "acknowledged")
		w.stop()
	})
}

// A device pauses as threads do: it ends its batch, of which the first tasks are counted.
func TestDevicePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load, d := new(fakeLoad), &fakeDevice{threads: 4, partial: true}
		w := newFixture()
		w.run(t, 0, fakeKernel(t, counting(1)), load.of, func(c *worker.Config) {
			c.Devices = []worker.Device{{Kernel: d.fake().Kernel(t), Threads: 4}}
		})
		w.queue.set(func() { w.queue.endless["r"] = 2000 }) // half a second a task
		w.announcements(t, "r", 1)
		time.Sleep(20 * time.Second)
		load.reason.Store("on battery")
		time.Sleep(time.Second)
		before, counted := w.queue.taken.Load(), w.status().Tasks
		time.Sleep(10 * time.Second)
		s := w.status()
		if s.Busy+s.Ready+s.Searching+s.Reporting > 0 || w.queue.taken.Load() != before || s.Tasks != counted || counted == 0 {
			t.Errorf("in the pause: %+v; %d tasks were counted before", s, counted)
		}
		load.reason.Store("")
		time.Sleep(10 * time.Second)
		if s := w.status(); s.Tasks <= counted {
			t.Errorf("after the pause: %+v", s)
		}
		w.stop()
	})
}
