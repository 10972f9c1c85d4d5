package worker_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
)

// A worker that is alone with a task that it must not count hands it back about once a
// second, for as long as it comes, and never counts it.
func TestAloneWithATaskForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 2, counting(5))
		l := new(fakeLease)
		l.returned = func() { w.queue.lendUnder(l, forOthers(1)) }
		w.queue.lendUnder(l, forOthers(1))
		time.Sleep(time.Minute)
		if got := l.count("returned"); got < 55 || got > 60 {
			t.Errorf("handed back %d times in a minute", got)
		}
		w.stop()
		if len(w.outbox.results) > 0 || l.count("done") > 0 {
			t.Errorf("counted all the same: results %+v, the lease saw %v", w.outbox.results, l.deeds)
		}
	})
}

// Tasks for others hold up no other task, however many come before it, and no
// heartbeat names them.
func TestTasksForOthersHoldUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, lasting(5*time.Second))
		var others []*fakeLease
		for id := range uint64(50) {
			others = append(others, w.queue.lend(forOthers(id)))
		}
		own := w.queue.lend(task(99)) // announced, as its attempt is the third
		time.Sleep(500 * time.Millisecond)
		if held, _ := w.outbox.last(); len(held) != 1 || held[0].Task != 99 {
			t.Errorf("half a second later the worker searches %+v, want task 99", held)
		}
		time.Sleep(5 * time.Second)
		w.stop()
		if own.count("done") != 1 {
			t.Errorf("the lease of the task behind them saw %v", own.deeds)
		}
		for id, l := range others {
			if !slices.Equal(l.deeds, []string{"returned"}) {
				t.Errorf("the lease of task %d, for others, saw %v", id, l.deeds)
			}
		}
	})
}

// A task that is kept from others alone is counted.
func TestTaskKeptFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		mine := task(1)
		mine.ExcludedWorkers = []string{"v", "ww", ""}
		l := w.queue.lend(mine)
		time.Sleep(time.Second)
		w.stop()
		if l.count("done") != 1 || len(w.outbox.results) != 1 {
			t.Errorf("the lease saw %v, %d results stored", l.deeds, len(w.outbox.results))
		}
	})
}

// While a task for others is kept, its lease is extended like any other.
func TestTaskForOthersDoesNotLapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		time.Sleep(leaseTime/3 - 500*time.Millisecond)
		l := w.queue.lend(forOthers(1))
		time.Sleep(2 * time.Second)
		w.stop()
		if want := []string{"extended", "returned"}; !slices.Equal(l.deeds, want) {
			t.Errorf("the lease saw %v, want %v", l.deeds, want)
		}
	})
}

// A worker that stops hands back at once what is for others.
func TestStopWithATaskForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		l := w.queue.lend(forOthers(1))
		synctest.Wait()
		told := time.Now()
		w.stop()
		if !slices.Equal(l.deeds, []string{"returned"}) || !l.at.Equal(told) {
			t.Errorf("the lease saw %v, the last of it %v after the worker was told to stop", l.deeds, l.at.Sub(told))
		}
	})
}

// forOthers is a task that the fixture's worker must not count.
func forOthers(id uint64) queens.Task {
	t := task(id)
	t.ExcludedWorkers = []string{"v", "w"}
	return t
}
