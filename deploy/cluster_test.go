//go:build cluster

// Package deploy_test runs the cluster of docker-compose.yml in real containers, which it
// scales, kills, disconnects and removes during a count. The total must be exact every time.
// scripts/cluster-test runs it.
package deploy_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// workload is a count with a published total.
type workload struct {
	n        int
	symmetry queens.Symmetry
	cost     float64 // relative to the search of n = 15 with full symmetry
}

// workloads are ordered by cost.
var workloads = []workload{
	{16, queens.Full, 7}, {16, queens.Mirror, 14}, {16, queens.None, 28},
	{17, queens.Full, 50}, {17, queens.Mirror, 100}, {17, queens.None, 200},
	{18, queens.Full, 400}, {18, queens.Mirror, 800}, {18, queens.None, 1600},
}

// workloadLasting returns the smallest workload that keeps two workers of a cluster busy for at least the given
// time.
func workloadLasting(t *testing.T, atLeast time.Duration) workload {
	t.Helper()
	measured, err := searchTime()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workloads {
		if w.cost*measured.Seconds() >= atLeast.Seconds()*2*workerCPUs {
			t.Logf("n = 15 takes %v on one core: using n = %d, symmetry %s", measured, w.n, w.symmetry)
			return w
		}
	}
	t.Fatalf("this machine counts n = 15 in %v: no workload lasts %v", measured, atLeast)
	return workload{}
}

// searchTime returns the shortest of three searches of n = 15 with full symmetry, measured before
// the first cluster runs.
var searchTime = sync.OnceValues(func() (time.Duration, error) {
	generic, err := kernel.Choose("generic")
	if err != nil {
		return 0, err
	}
	least := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		if _, err := count.Run(context.Background(), count.Job{N: 15, Symmetry: queens.Full, Kernel: generic, Threads: 1}); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
})

// small is a workload of a moment.
var small = workload{n: 12, symmetry: queens.Full}

// waitForDone waits until the given share of the tasks is done, and fails if all are.
func (c *cluster) waitForDone(percent uint64) {
	c.t.Helper()
	var r run.Record
	c.eventually(fmt.Sprintf("%d%% of the tasks are done", percent), func() bool {
		var known bool
		r, known = c.record()
		return known && r.Done*100 >= percent*r.Manifest.Tasks
	})
	c.expectRunning("waiting for the first tasks")
}

// expectRunning waits until the coordinator renews the record of the run from now on. It fails
// if the run is over, because then the fault before did not hit it.
func (c *cluster) expectRunning(after string) {
	c.t.Helper()
	var r run.Record
	since := time.Now()
	c.eventually("the coordinator is active after: "+after, func() bool {
		if c.logLines("solutions for n = ") > 0 {
			c.t.Fatalf("the run ended before: %s", after)
		}
		var known bool
		r, known = c.record()
		return known && r.State == run.Running && r.Updated.After(since)
	})
	if r.Done == r.Manifest.Tasks {
		c.t.Fatalf("all tasks were done before: %s", after)
	}
	c.t.Logf("%s: %d of %d tasks done", after, r.Done, r.Manifest.Tasks)
}

// expectTotal gives all cores to each worker, waits until the coordinator exits, and checks its last line and exit
// code.
func (c *cluster) expectTotal() {
	c.t.Helper()
	c.docker(waitTimeout, append([]string{"update", "--cpus", strconv.Itoa(runtime.NumCPU())}, c.containers("worker")...)...)
	coordinator := c.containers("coordinator")[0]
	if code := c.docker(runTimeout, "wait", coordinator); code != "0" {
		c.t.Fatalf("the coordinator exited with code %s", code)
	}
	log := strings.TrimSpace(c.compose("logs", "--no-log-prefix", "--no-color", "coordinator"))
	if last := log[strings.LastIndex(log, "\n")+1:]; last != c.total {
		c.t.Fatalf("the coordinator's last line is %q, want %s", last, c.total)
	}
	c.t.Logf("total %s, exit 0", c.total)
}

// TestUp checks that docker compose up in the foreground prints the total as the last line
// of the coordinator and returns its exit code, that a second up prints it again, and that Docker
// does not restart a coordinator that is done.
func TestUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, small)
	c.build()
	// Of ten workers some would start after the end of a coordinator that has nothing to count, and never stop.
	for _, args := range [][]string{{"up", "--build", "--scale", "worker=2"}, {"up", "--scale", "worker=10"}} {
		out := c.compose(append(args, "--no-color", "--exit-code-from", "coordinator")...)
		last := ""
		for line := range strings.Lines(out) {
			if service, text, found := strings.Cut(line, "|"); found && strings.HasPrefix(service, "coordinator-1") {
				last = strings.TrimSpace(text)
			}
		}
		if !strings.Contains(out, c.total) || last != c.total {
			t.Errorf("the coordinator's last line is %q, want %s:\n%s", last, c.total, out)
		}
		if info := c.inspect(c.containers("coordinator")[0]); info.State.Status != "exited" || info.RestartCount != 0 {
			t.Errorf("the coordinator is %s, restarted %d times", info.State.Status, info.RestartCount)
		}
		c.t.Logf("%s: total %s, exit 0", strings.Join(args, " "), last)
	}
}

// TestWorkersChange disconnects a worker for longer than its leases: others take its tasks, and it counts again when
// it is back. Then it starts and stops workers.
func TestWorkersChange(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workloadLasting(t, 120*time.Second))
	c.up()
	c.waitForDone(5)
	victim, network := c.containers("worker")[0], c.project+"_default"
	c.docker(waitTimeout, "network", "disconnect", network, victim)
	cut := time.Now()
	c.eventually("the worker is lost", func() bool { return c.workersThat("lost") == 1 })
	time.Sleep(time.Until(cut.Add(bus.DefaultLease))) // its last heartbeat may have come long before
	c.expectRunning("disconnected a worker for longer than a lease")
	c.docker(waitTimeout, "network", "connect", network, victim)
	c.eventually("the worker has joined again", func() bool { return c.workersThat("joined") == 3 })
	if info := c.inspect(victim); info.RestartCount != 0 {
		t.Errorf("the worker was restarted %d times", info.RestartCount)
	}
	c.compose("up", "--detach", "--scale", "worker=4")
	c.eventually("two workers have joined", func() bool { return c.workersThat("joined") == 5 })
	c.expectRunning("reconnected the worker, and scaled from 2 to 4")
	c.compose("scale", "worker=2")
	// A worker that stops in order releases its tasks and says goodbye.
	c.eventually("two workers have left", func() bool { return c.workersThat("left") == 2 })
	c.expectRunning("scaled from 4 workers to 2")
	c.expectTotal()
}

// TestKilled kills each container: Docker starts it again, and the run continues. A coordinator that is stopped
// by docker kill, and a server that is removed with its volume, come back with up.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workloadLasting(t, 250*time.Second))
	c.up()
	c.waitForDone(5)
	c.kill(c.containers("worker")[0])
	c.eventually("the worker has joined again", func() bool { return c.workersThat("joined") == 3 })
	c.expectRunning("killed a worker, which restarted")
	c.kill(c.containers("nats")[0])
	c.expectRunning("killed the server, which restarted with its volume")
	coordinator := c.containers("coordinator")[0]
	c.kill(coordinator)
	c.expectResumed(2, "killed the coordinator, which restarted")
	c.docker(waitTimeout, "kill", coordinator)
	c.up()
	c.expectResumed(3, "docker kill of the coordinator, then up")
	c.docker(waitTimeout, "rm", "--force", c.containers("nats")[0])
	c.docker(waitTimeout, "volume", "rm", c.project+"_nats")
	c.compose("up", "--detach", "nats")
	c.expectRunning("removed the server and its volume, then up")
	c.expectTotal()
}

// expectResumed waits until a coordinator with that epoch is active, and checks that it resumed
// from a ledger that was not empty.
func (c *cluster) expectResumed(epoch uint64, after string) {
	c.t.Helper()
	c.eventually("the next coordinator has claimed the run", func() bool {
		r, known := c.record()
		return known && r.Epoch == epoch
	})
	c.expectRunning(after)
	if c.logLines(`resuming the interrupted run`) == 0 || c.logLines(`counting n = .* tasks, [1-9].* done`) == 0 {
		c.t.Errorf("after: %s: the coordinator did not resume from the ledger", after)
	}
}

// TestDownAndUp checks that down and up resumes the run in new containers, and that another up
// changes nothing.
func TestDownAndUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workloadLasting(t, 100*time.Second))
	c.up()
	c.waitForDone(5)
	before := c.containers("coordinator")[0]
	c.compose("stop")
	for _, service := range []string{"coordinator", "worker", "nats"} {
		for _, id := range c.containers(service) {
			if code := c.inspect(id).State.ExitCode; code == 128+int(syscall.SIGKILL) {
				t.Errorf("a container of %s was killed instead of stopped", service)
			}
		}
	}
	c.compose("down")
	c.up()
	c.expectResumed(2, "down, then up")
	after := c.containers("coordinator")[0]
	c.up()
	if again := c.containers("coordinator")[0]; before == after || again != after {
		t.Errorf("the coordinator was %s, after down and up %s, after up again %s", before, after, again)
	}
	c.expectRunning("up again")
	c.expectTotal()
}
