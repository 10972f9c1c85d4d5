package progress_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// A crew has the workers present by name, with the time for which each has searched the
// oldest of its tasks by now, and with the rate of all its threads together.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(run.Heartbeat{Worker: "b", Kernel: "avx2", Threads: 3, Held: []run.ActiveTask{
			{Run: "r", Task: 1, Elapsed: 4 * time.Second}, {Run: "r", Task: 2, Elapsed: 9 * time.Second},
		}})
		r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Kernel: "generic", Threads: 1})
		r.ObserveResult("b", 300, 2*time.Second)
		r.ObserveResult("c", 1, time.Second) // has never sent a heartbeat
		time.Sleep(2 * time.Second)
		want := []run.WorkerStatus{
			{Name: "a", Kernel: "generic", Threads: 1},
			{Name: "b", Kernel: "avx2", Threads: 3, Rate: 450, Held: 2, LongestTask: 11 * time.Second},
		}
		if got := r.Workers(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("crew %v, want %v", got, want)
		}
		time.Sleep(time.Minute)
		if got := r.Workers(); len(got) != 0 {
			t.Errorf("crew %v, all were silent for a minute", got)
		}
	})
}

// A worker's rate follows what it counts, not each single task.
func TestPace(t *testing.T) {
	r := progress.NewRoster()
	r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Kernel: "k", Threads: 1})
	rate := func() float64 { return r.Workers()[0].Rate }
	if rate() != 0 {
		t.Errorf("rate %v before the first task", rate())
	}
	for range 100 {
		r.ObserveResult("a", 1000, time.Second)
	}
	if !near(rate(), 1000) {
		t.Errorf("rate %v after tasks of 1000 solutions a second", rate())
	}
	r.ObserveResult("a", 0, time.Second)
	if rate() < 850 || rate() > 950 {
		t.Errorf("one task without solutions makes a rate of 1000 %v", rate())
	}
	for range 100 {
		r.ObserveResult("a", 10, time.Second)
	}
	if !near(rate(), 10) && (rate() < 9.9 || rate() > 10.1) {
		t.Errorf("rate %v after 100 tasks of 10 solutions a second", rate())
	}
}

// Of a great crew there are those that have held a task the longest, and still by name.
func TestGreatCrew(t *testing.T) {
	r := progress.NewRoster()
	const many = run.MaxWorkers + 100
	for i := range many {
		r.ObserveHeartbeat(run.Heartbeat{Worker: fmt.Sprintf("w%04d", many-i), Kernel: "k", Threads: 1, Held: []run.ActiveTask{
			{Run: "r", Task: uint64(i), Elapsed: time.Duration(i) * time.Second},
		}})
	}
	crew := r.Workers()
	if len(crew) != run.MaxWorkers || crew[0].Name != "w0001" || crew[len(crew)-1].Name != fmt.Sprintf("w%04d", run.MaxWorkers) {
		t.Errorf("%d of %d, from %s to %s", len(crew), many, crew[0].Name, crew[len(crew)-1].Name)
	}
}
