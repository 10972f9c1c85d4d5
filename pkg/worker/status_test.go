package worker_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// A worker logs at intervals what it does or why it does nothing, and else only that results
// can't be stored.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testkit.Log
		seen := 0 // lines that were checked
		w := newFixture()
		w.run(t, 1, fakeKernel(t, lasting(2*time.Second)), func(c *worker.Config) {
			c.ReportEvery, c.Log = worker.DefaultReportEvery, log.Logger()
		})
		want := func(what string, wants ...string) {
			t.Helper()
			time.Sleep(worker.DefaultReportEvery)
			got := log.Lines("")[seen:]
			seen += len(got)
			if !slices.EqualFunc(got, wants, strings.Contains) {
				t.Errorf("%s: the log is %q, want %q", what, got, wants)
			}
		}
		const noRun = `"reason":"no run is alive","message":"idle"`
		want("no run, said early", noRun, noRun)
		w.announcements(t, "r", 1)
		want("no chunk", `"reason":"no chunk is waiting","message":"idle"`)
		w.announcements(t, "s", 1)
		w.queue.lend(chunk(1, 5))
		w.queue.lend(chunkOf("s", 1, 3))
		want("two chunks", `"tasks":8,"rate":0.3,"runs":["r","s"],"held":0,"message":"working"`)
		want("nothing since", `"reason":"no chunk is waiting"`)
		w.telemetry.disconnect(errors.New("cut"))
		want("no connection", `"reason":"no connection to the server"`)
		w.telemetry.disconnect(nil)
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		w.queue.lend(chunk(2, 1))
		want("not stored", "can't store results", `"tasks":1,"rate":0,"runs":["r"],"held":1`)
		w.publisher.refuse(nil)
		w.stop()
		if got := log.Lines("")[seen:]; len(got) > 0 {
			t.Errorf("at the end the log is %q", got)
		}
	})
}

// The status counts the tasks of chunks that were searched and stored, and the time of searches that still run.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const search = 2 * time.Second
		w := start(t, 2, lasting(search))
		w.queue.lend(chunk(1, 3))
		w.queue.lend(chunk(2, 3))
		began := time.Now()
		for w.status().Searching < 2 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(search + search/2)
		s := w.status()
		if most := 2 * time.Since(began); s.Tasks != 0 || s.Prefixes != 0 || s.Results != 0 || s.SearchTime < 3*search || s.SearchTime > most {
			t.Errorf("in the second of three tasks, on two threads: %+v", s)
		}
		time.Sleep(2 * search)
		s = w.status()
		if s.Tasks != 6 || s.Prefixes != 6 || s.Results != 2 || s.Searching+s.Ready+s.Reporting != 0 || s.SearchTime != 6*search {
			t.Errorf("after two chunks: %+v", s)
		}
		time.Sleep(search)
		if later := w.status().SearchTime; later != s.SearchTime {
			t.Errorf("idle, it has searched for %v, before for %v", later, s.SearchTime)
		}
		w.stop()
	})
}
