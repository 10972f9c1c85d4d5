//go:build unix

// These tests run a cluster of real processes on this machine, and kill, stop, restart
// and deceive them. Whatever happens, the total is exact or there is none.
package main_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A coordinator that is told to stop logs what is done, prints no total, and removes its
// tasks from the server. The results stay there for the next coordinator, until the run is
// cancelled.
func TestStoppedCoordinatorLeavesAResumableRun(t *testing.T) {
	long(t)
	for _, signal := range testkit.Sample(t, 1, stopSignals) {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			coordinator := startCount(t, "20", "--depth", "1", "--nats", server.url)
			run := coordinator.Await(`"run":"([^"]+)".*"counting"`)
			v := inspect(t, server.url)
			v.eventually("all tasks are published", func() bool { return v.messages("NQ_TASKS", "nq.task."+run) == 10 })
			ctx, stop := context.WithCancel(t.Context())
			work(ctx, t, join(t, server.url), run, func(queens.Task, func() uint64) []uint64 {
				stop() // after this one
				return []uint64{1}
			})
			coordinator.Await(`("done":1,"tasks":10).*"progress"`)
			coordinator.Signal(signal)
			if out := coordinator.ExpectExit(128 + int(signal)); out != "" {
				t.Errorf("it printed %q", out)
			}
			if coordinator.Lines(`"end":"stopped","done":1,"tasks":10,.*"run ended"`) != 1 {
				t.Error("it did not log what was done")
			}
			expect := func(tasks, results, records int) {
				t.Helper()
				if got := [...]int{v.messages("NQ_TASKS", "nq.task."+run), v.messages("NQ_RESULTS", "nq.result."+run), v.messages("KV_nq_runs", "$KV.nq_runs."+run)}; got != [...]int{tasks, results, records} {
					t.Errorf("%v tasks, results and records of the run stay on the server, want %d, %d, %d", got, tasks, results, records)
				}
			}
			expect(0, 1, 1)
			runs := start(t, "coordinator", "runs", "--json", "--data", t.TempDir(), "--nats", server.url)
			if out := runs.ExpectExit(0); !strings.Contains(out, `"run":"`+run+`"`) || !strings.Contains(out, `"done":1,"tasks":10,`) || !strings.Contains(out, `"state":"stopped"`) {
				t.Errorf("runs printed %s", out)
			}
			start(t, "coordinator", "cancel", run, "--data", t.TempDir(), "--nats", server.url).ExpectExit(0)
			expect(0, 0, 1) // the record, which tells the coordinator
			resumed := start(t, "coordinator", "resume", run, "--data", coordinator.Flag("--data"), "--nats", server.url)
			resumed.ExpectExit(1)
			if resumed.Lines("was cancelled") == 0 {
				t.Error("a coordinator that resumed did not learn that the run was cancelled")
			}
			expect(0, 0, 0)
			again := start(t, "coordinator", "cancel", run, "--data", t.TempDir(), "--nats", server.url)
			again.ExpectExit(1)
			if again.Lines("is not on the server any more") == 0 {
				t.Error("a second cancel did not say that the run is gone")
			}
		})
	}
}

// A worker may start before its server, and a server before its coordinator. The worker
// logs what it waits for, but not every time it tries; with --no-progress only at the start.
func TestWorkerWaitsForServerAndCoordinator(t *testing.T) {
	long(t)
	address := testkit.Address(t)
	started := time.Now()
	worker, quiet := startWorker(t, "nats://"+address), startWorker(t, "nats://"+address, "--no-progress")
	worker.Await(`"hint":"is a server running there, and is the address right\?.*(server not reachable yet, waiting)`)
	elapse(t, 3*time.Second) // nothing should happen
	if lines := worker.Lines(`reachable`); lines != 1 {
		t.Errorf("without a server the worker logged %d times that it waits", lines)
	}
	server := startServerAt(t, address, t.TempDir())
	worker.Await(`"reason":"(no run is alive)".*"idle"`)
	elapse(t, 3*time.Second) // the same
	if lines := worker.Lines(`"idle"`); lines > 2+int(time.Since(started)/(30*time.Second)) {
		t.Errorf("without a coordinator the worker logged %d times that it waits", lines)
	}
	startCount(t, "10", "--nats", server.url).ExpectTotal("724")
	if quiet.Lines(`"idle"`) > 0 {
		t.Error("the worker with --no-progress logged that it is idle")
	}
}

// Each SIGUSR1 logs a line of progress, even with --no-progress, and changes nothing else.
func TestSIGUSR1LogsProgress(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "12", "--no-progress")
	testkit.Eventually(t, "two lines of progress", func() bool {
		coordinator.Signal(syscall.SIGUSR1)
		elapse(t, 100*time.Millisecond)
		return coordinator.Lines(`"message":"progress"`) >= 2
	})
	startWorker(t, url)
	coordinator.ExpectTotal(known(12))
}
