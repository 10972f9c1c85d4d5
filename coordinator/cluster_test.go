//go:build unix

// The cluster as it is used: processes of their own, on this machine's loopback,
// that are killed, stopped, restarted and lied to. Whatever happens, the total is
// exact or there is none.
package main_test

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// Every total is exact when an outside server and a worker of another process are
// between the tasks and the results.
func TestEveryTotalAcrossProcesses(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	startWorker(t, server.url, "--threads", "2")
	for n := 1; n <= 16; n++ {
		total, _ := queens.KnownTotal(n)
		startCount(t, strconv.Itoa(n), "--nats", server.url).ExpectTotal(total.String())
	}
}

// A worker that is killed in the middle of a task costs time, and nothing else.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "15", "--depth", "1")
	v := inspect(t, url)
	const tasks = 8
	victim, unreported := v.startFrozen(url, tasks)
	victim.Signal(syscall.SIGKILL)
	startWorker(t, url)
	startWorker(t, url)
	v.eventually("all is done but what the victim held", func() bool { return v.results() >= tasks-unreported })
	coordinator.ExpectTotal("2279184")
}

// A worker that is stopped for longer than its lease, and then let go, reports what
// others have counted meanwhile: that changes nothing.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "14", "--depth", "1")
	v := inspect(t, url)
	release := brake(t, join(t, url))
	const tasks, braked = 7, 1
	victim, _ := v.startFrozen(url, tasks-braked)
	startWorker(t, url)
	v.eventually("the victim's leases have lapsed and all its tasks are done", func() bool {
		waiting, held := v.tasks()
		return waiting == 0 && held == braked && v.results() >= tasks-braked
	})
	before := v.results()
	victim.Signal(syscall.SIGCONT)
	v.eventually("the victim reports", func() bool { return v.results() > before })
	release()
	coordinator.ExpectTotal("365596")
	if coordinator.Lines(`"conflicts":0,"duplicates":[123],`) != 1 {
		t.Error("the victim's late results were not noticed as duplicates")
	}
}

// A worker that is told to stop leaves soon, and hands back what it can't finish: no
// other has to wait for its leases to lapse.
func TestLeavingWorkerHandsBack(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			_, url := startCluster(t, "20", "--depth", "1") // tasks of hours
			v := inspect(t, url)
			worker := startWorker(t, url)
			v.eventually("the worker holds two tasks", func() bool { _, held := v.tasks(); return held == 2 })
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
			defer cancel()
			queue, seen := join(t, url).Queue(), make(map[uint64]bool)
			const tasks, heldByWorker = 10, 2
			take := func(number int) {
				for range number {
					task, _, err := queue.Next(ctx)
					if err != nil || seen[task.ID] {
						t.Fatalf("task %d, %v, while those held by the worker are due", task.ID, err)
					}
					seen[task.ID] = true
				}
			}
			take(tasks - heldByWorker)
			told := time.Now()
			worker.Signal(signal)
			take(heldByWorker)
			// The leases, extended every third of their length, would have lapsed later.
			if waited := time.Since(told); waited > bus.DefaultLease/2 {
				t.Errorf("the tasks came back after %v", waited)
			}
			worker.ExpectExit(0)
			if waited := time.Since(told); waited > 4*time.Second {
				t.Errorf("the worker left after %v", waited)
			}
		})
	}
}

// The run does not wait for what a leaving worker held.
func TestRunGoesOnWithoutLeavingWorker(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "14", "--depth", "1")
	v := inspect(t, url)
	const tasks = 7
	leaving, unreported := v.startFrozen(url, tasks)
	startWorker(t, url)
	v.eventually("all is done but what the worker held", func() bool { return v.results() >= tasks-unreported })
	told := time.Now()
	leaving.Signal(syscall.SIGTERM)
	leaving.Signal(syscall.SIGCONT)
	coordinator.ExpectTotal("365596")
	if waited := time.Since(told); waited > bus.DefaultLease/2 {
		t.Errorf("the run ended %v after the worker was told to leave", waited)
	}
	leaving.ExpectExit(0)
}

// A second signal ends a worker in the middle of its grace.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			_, url := startCluster(t, "20", "--depth", "1") // tasks of hours
			v := inspect(t, url)
			worker := startWorker(t, url)
			v.eventually("the worker holds two tasks", func() bool { _, held := v.tasks(); return held == 2 })
			worker.Signal(signal)
			// Two signals of a kind that come too soon after each other are one.
			for again := time.NewTicker(100 * time.Millisecond); ; {
				select {
				case <-again.C:
					_ = worker.Cmd.Process.Signal(signal) // fails when it has ended just now
					continue
				case <-worker.Ended():
				}
				again.Stop()
				break
			}
			worker.ExpectExit(128 + int(signal))
		})
	}
}

// A coordinator that is told to stop says how far it came, prints no total, and takes
// its tasks off the server; what was counted stays there for whoever resumes, until the
// run is cancelled.
func TestStoppedCoordinator(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			coordinator := startCount(t, "20", "--depth", "1", "--nats", server.url)
			run := coordinator.Await(`"run":"([^"]+)".*"counting"`)
			v := inspect(t, server.url)
			v.eventually("all tasks are published", func() bool { return v.messages("NQ_TASKS", "nq.task."+run) == 10 })
			ctx, stop := context.WithCancel(t.Context())
			work(ctx, t, join(t, server.url), func(queens.Task, func() uint64) []uint64 {
				stop() // after this one
				return []uint64{1}
			})
			coordinator.Await(`("done":1,"tasks":10).*"progress"`)
			told := time.Now()
			coordinator.Signal(signal)
			if out := coordinator.ExpectExit(128 + int(signal)); out != "" {
				t.Errorf("it printed %q", out)
			}
			if waited := time.Since(told); waited > 3*time.Second {
				t.Errorf("it left after %v", waited)
			}
			if coordinator.Lines(`"end":"stopped","done":1,"tasks":10,.*"run ended"`) != 1 {
				t.Error("it did not say what was done")
			}
			expect := func(tasks, results, records int) {
				t.Helper()
				if got := [...]int{v.messages("NQ_TASKS", "nq.task."+run), v.messages("NQ_RESULTS", "nq.result."+run), v.messages("KV_nq_runs", "$KV.nq_runs."+run)}; got != [...]int{tasks, results, records} {
					t.Errorf("%v tasks, results and records of the run stay on the server, want %d, %d, %d", got, tasks, results, records)
				}
			}
			expect(0, 1, 1)
			runs := start(t, "coordinator", "runs", "--json", "--data", t.TempDir(), "--nats", server.url)
			if out := runs.ExpectExit(0); !strings.Contains(out, `"run":"`+run+`"`) || !strings.Contains(out, `"state":"stopped","done":1,"tasks":10`) {
				t.Errorf("runs printed %s", out)
			}
			start(t, "coordinator", "cancel", run, "--data", t.TempDir(), "--nats", server.url).ExpectExit(0)
			expect(0, 0, 1) // so that its coordinator learns it
			resumed := start(t, "coordinator", "resume", run, "--data", coordinator.Flag("--data"), "--nats", server.url)
			resumed.ExpectExit(1)
			if resumed.Lines("was cancelled") == 0 {
				t.Error("a coordinator that came back did not learn of it")
			}
			expect(0, 0, 0)
		})
	}
}

// A worker may come before its server, and a server before its coordinator. The
// worker says so, but not again and again.
func TestWorkerFirst(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	worker := startWorker(t, "nats://"+address)
	worker.Await(`(server not reachable yet, waiting)`)
	time.Sleep(5 * time.Second) // no event: nothing should happen
	if said := worker.Lines(`waiting`); said > 2 {
		t.Errorf("without a server the worker said %d times that it waits", said)
	}
	server := startServerAt(t, address, t.TempDir())
	worker.Await(`(waiting for a coordinator)`)
	time.Sleep(5 * time.Second) // the same
	if said := worker.Lines(`waiting for a coordinator`); said != 1 {
		t.Errorf("without a coordinator the worker said %d times that it waits", said)
	}
	startCount(t, "10", "--nats", server.url).ExpectTotal("724")
}

// Where the server refuses the credentials, waiting does not help.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	server := startServer(t, "--user", "bell", "--pass", "s3cret")
	for _, url := range []string{server.url, strings.Replace(server.url, "//", "//bell:wr0ng@", 1)} {
		coordinator, worker := startCount(t, "8", "--nats", url), startWorker(t, url)
		if out := coordinator.ExpectExit(5); out != "" {
			t.Errorf("the coordinator printed %q", out)
		}
		worker.ExpectExit(5)
	}
	url := strings.Replace(server.url, "//", "//bell:s3cret@", 1)
	worker := startWorker(t, url)
	coordinator := startCount(t, "8", "--nats", url)
	coordinator.ExpectTotal("92")
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0)
	if coordinator.Lines("s3cret")+worker.Lines("s3cret") != 0 {
		t.Error("the log has the password")
	}
}
