//go:build unix

// These tests run a cluster of real processes on this machine, and kill, stop, restart
// and deceive them. Whatever happens, the total is exact or there is none.
package main_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Totals are exact with a server and a worker in processes of their own.
func TestTotalsAcrossProcessesAreExact(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	startWorker(t, server.url, "--threads", "2")
	sides := []int{1, 2, 8, 13}
	if testkit.Full() {
		sides = append(sides, 16)
	}
	for _, n := range sides {
		total, _ := queens.KnownTotal(n)
		startCount(t, strconv.Itoa(n), "--nats", server.url).ExpectTotal(total.String())
	}
}

// A worker that is suspended for longer than its leases lets go of what others have counted
// meanwhile. Whatever it still reports changes nothing.
func TestSuspendedWorkerLetsGoOfWhatOthersHaveCounted(t *testing.T) {
	long(t)
	coordinator, url := startCluster(t, "17", "--depth", "1")
	v := inspect(t, url)
	b := join(t, url)
	release := brake(t, b, coordinator.Await(counting))
	const tasks, braked = 9, 1
	victim, unreported := v.startFrozen(url, tasks-braked)
	startWorker(t, url, "--kernel", "auto")
	v.eventually("the victim's leases have lapsed and all its tasks are done", func() bool {
		waiting, held := v.tasks()
		return waiting == 0 && held == braked && v.results() >= tasks-braked
	})
	name := victim.Await(`"worker":"([^"]+)".*"worker starts"`)
	var letGo atomic.Bool
	unsubscribe, err := b.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
		if h.Worker == name && len(h.Held) == 0 {
			letGo.Store(true)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	victim.Signal(syscall.SIGCONT)
	testkit.Eventually(t, "the victim holds nothing", letGo.Load)
	release()
	coordinator.ExpectTotal(known(17))
	if n := coordinator.Field("run ended", "duplicates"); n > unreported {
		t.Errorf("%d duplicates of a worker that held %d tasks", n, unreported)
	}
}

// A worker that is told to stop releases the tasks that it can't finish, so that no other
// has to wait for their leases to lapse.
func TestWorkerThatStopsReleasesItsTasks(t *testing.T) {
	long(t)
	for _, signal := range testkit.Sample(t, 1, stopSignals) {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			coordinator, url := startCluster(t, "20", "--depth", "1") // tasks of hours
			v := inspect(t, url)
			worker := startWorker(t, url)
			v.eventually("the worker holds two tasks", func() bool { _, held := v.tasks(); return held == 2 })
			released, err := v.conn.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.NQ_TASKS.>")
			if err != nil {
				t.Fatal(err)
			}
			if err := v.conn.Flush(); err != nil {
				t.Fatal(err)
			}
			worker.Signal(signal)
			worker.ExpectExit(0)
			testkit.Eventually(t, "the server has both tasks back", func() bool { n, _, _ := released.Pending(); return n == 2 })
			const tasks = 10 // in chunks of one
			name, seen := coordinator.Await(counting), make(map[uint64]bool)
			queue := join(t, url).Queue()
			defer queue.Close()
			testkit.Eventually(t, "all tasks can be taken", func() bool {
				loans, _ := queue.Take(t.Context(), name, tasks-len(seen)) // at once: the test does not extend leases
				for _, loan := range loans {
					seen[loan.Chunk.First] = true
				}
				return len(seen) == tasks
			})
		})
	}
}

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
	worker.Await(`(server not reachable yet, waiting)`)
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
