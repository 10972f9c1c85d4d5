package worker_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
)

// A worker that is the only one, and excluded from a task, releases the task about once a
// second, and never counts it.
func TestExcludedWorkerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, counting(5))
		l := new(fakeLease)
		l.released = func() { w.queue.lendWith(l, excluding(1)) }
		w.queue.lendWith(l, excluding(1))
		time.Sleep(time.Minute)
		if got := l.count("released"); got < 55 || got > 60 {
			t.Errorf("released %d times in a minute", got)
		}
		w.stop()
		if len(w.publisher.results) > 0 || l.count("acknowledged") > 0 {
			t.Errorf("counted: results %+v, the lease was %v", w.publisher.results, l.calls)
		}
	})
}

// Declined tasks delay no other task, however many come before it, and no heartbeat names
// them.
func TestDeclinedTasksDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, lasting(5*time.Second))
		var others []*fakeLease
		for id := range uint64(50) {
			others = append(others, w.queue.lend(excluding(id)))
		}
		own := w.queue.lend(task(99)) // in a heartbeat at once, as its attempt is the third
		time.Sleep(500 * time.Millisecond)
		if held, _ := w.publisher.last(); len(held) != 1 || held[0].Task != 99 {
			t.Errorf("half a second later the worker searches %+v, want task 99", held)
		}
		time.Sleep(5 * time.Second)
		w.stop()
		if own.count("acknowledged") != 1 {
			t.Errorf("the lease of the task behind them was %v", own.calls)
		}
		for id, l := range others {
			if !slices.Equal(l.calls, []string{"released"}) {
				t.Errorf("the lease of declined task %d was %v", id, l.calls)
			}
		}
	})
}

// A task that excludes only other workers is counted.
func TestTaskThatExcludesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		mine := task(1)
		mine.ExcludedWorkers = []string{"v", "ww", ""}
		l := w.queue.lend(mine)
		time.Sleep(time.Second)
		w.stop()
		if l.count("acknowledged") != 1 || len(w.publisher.results) != 1 {
			t.Errorf("the lease was %v, %d results stored", l.calls, len(w.publisher.results))
		}
	})
}

// The lease of a declined task is extended until its release.
func TestDeclinedTaskDoesNotLapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		time.Sleep(leaseTime/3 - 500*time.Millisecond)
		l := w.queue.lend(excluding(1))
		time.Sleep(2 * time.Second)
		w.stop()
		if want := []string{"extended", "released"}; !slices.Equal(l.calls, want) {
			t.Errorf("the lease was %v, want %v", l.calls, want)
		}
	})
}

// A worker that stops releases declined tasks at once.
func TestStopWithADeclinedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		l := w.queue.lend(excluding(1))
		synctest.Wait()
		stopped := time.Now()
		w.stop()
		if !slices.Equal(l.calls, []string{"released"}) || !l.at.Equal(stopped) {
			t.Errorf("the lease was %v, the last %v after the worker was stopped", l.calls, l.at.Sub(stopped))
		}
	})
}

// excluding returns a task that the fixture's worker must not count.
func excluding(id uint64) queens.Task {
	t := task(id)
	t.ExcludedWorkers = []string{"v", "w"}
	return t
}
