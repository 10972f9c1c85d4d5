//go:build cluster

// The cluster of docker-compose.yml in real containers, which are scaled, killed, cut
// off and thrown away in the middle of a count. Whatever happens, the total is exact.
// scripts/cluster-test runs it.
package deploy_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// size is a count of which the total is known.
type size struct {
	n        int
	symmetry queens.Symmetry
	cost     float64 // of the search, in searches of n = 15 with full symmetry
}

// sizes are the counts to choose from, by cost.
var sizes = []size{
	{17, queens.Full, 50}, {17, queens.Mirror, 100}, {17, queens.None, 200},
	{18, queens.Full, 400}, {18, queens.Mirror, 800}, {18, queens.None, 1600},
}

// lasting returns the smallest count that keeps half a core busy for so long, by the
// speed of this machine.
func lasting(t *testing.T, long time.Duration) size {
	t.Helper()
	measured, err := speed()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sizes {
		if s.cost*measured.Seconds() >= long.Seconds()/2 {
			t.Logf("n = 15 takes %v on one core: chosen n = %d, symmetry %s", measured, s.n, s.symmetry)
			return s
		}
	}
	t.Fatalf("this machine counts n = 15 in %v: no count that is prepared lasts %v", measured, long)
	return size{}
}

// speed returns the time of one search of n = 15 with full symmetry: the least of some,
// taken before the first cluster is there to disturb them.
var speed = sync.OnceValues(func() (time.Duration, error) {
	generic, err := kernel.Choose("generic")
	if err != nil {
		return 0, err
	}
	least := time.Duration(math.MaxInt64)
	for range 3 {
		o, err := count.Run(context.Background(), count.Job{N: 15, Symmetry: queens.Full, Kernel: generic, Threads: 1})
		if err != nil {
			return 0, err
		}
		least = min(least, o.Elapsed)
	}
	return least, nil
})

// small is a count for which nobody waits.
var small = size{n: 12, symmetry: queens.Full}

// reach waits until the run has so many tasks done, in percent of all, and not all.
func (c *cluster) reach(percent uint64) {
	c.t.Helper()
	var r run.Record
	c.eventually(fmt.Sprintf("%d%% of the tasks are done", percent), func() bool {
		var known bool
		r, known = c.record()
		return known && r.Done*100 >= percent*r.Manifest.Tasks
	})
	c.midRun("reached")
}

// midRun waits for a sign of life that the coordinator gives from now on, and fails
// where the run is over: then what was done to the cluster did not strike it.
func (c *cluster) midRun(after string) {
	c.t.Helper()
	var r run.Record
	since := time.Now()
	c.eventually("the coordinator is at work after: "+after, func() bool {
		if c.logged("run ended") > 0 {
			c.t.Fatalf("the run was over before: %s", after)
		}
		var known bool
		r, known = c.record()
		return known && r.State == run.Running && r.Updated.After(since)
	})
	if r.Done == r.Manifest.Tasks {
		c.t.Fatalf("all was counted before: %s", after)
	}
	c.say("%s: %d of %d tasks done", after, r.Done, r.Manifest.Tasks)
}

// expectTotal waits for the coordinator to end, and holds its last line and its exit
// code to what they should be.
func (c *cluster) expectTotal() {
	c.t.Helper()
	coordinator := c.containers("coordinator")[0]
	if code := c.docker(patience, "wait", coordinator); code != "0" {
		c.t.Fatalf("the coordinator ended with code %s", code)
	}
	log := strings.TrimSpace(c.compose("logs", "--no-log-prefix", "--no-color", "coordinator"))
	if last := log[strings.LastIndex(log, "\n")+1:]; last != c.total {
		c.t.Fatalf("the coordinator's last line is %q, want %s", last, c.total)
	}
	c.say("total %s, exit 0", c.total)
}

// Attached, up prints the total as the coordinator's last line and has its exit code.
// The second up counts again. A coordinator that is done is not started again by Docker.
func TestUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, small)
	for _, args := range [][]string{{"up", "--build"}, {"up"}} {
		out := c.compose(append(args, "--no-color", "--exit-code-from", "coordinator", "--scale", "worker=2")...)
		last := ""
		for line := range strings.Lines(out) {
			if service, text, found := strings.Cut(line, "|"); found && strings.HasPrefix(service, "coordinator-1") {
				last = strings.TrimSpace(text)
			}
		}
		if !strings.Contains(out, c.total) || last != c.total {
			t.Errorf("the coordinator's last line is %q, want %s:\n%s", last, c.total, out)
		}
		if l := c.inspect(c.containers("coordinator")[0]); l.State.Status != "exited" || l.RestartCount != 0 {
			t.Errorf("the coordinator is %s, restarted %d times", l.State.Status, l.RestartCount)
		}
		c.say("%s: total %s, exit 0", strings.Join(args, " "), last)
	}
}

// Workers come and go during a run.
func TestScale(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 90*time.Second))
	c.up(1)
	c.reach(1)
	c.compose("up", "--detach", "--scale", "worker=4")
	c.eventually("four workers have joined", func() bool { return c.logged("worker joined") == 4 })
	c.midRun("scaled from 1 worker to 4")
	c.compose("scale", "worker=2")
	// They are gone now: what they held they have handed back, or nobody would know.
	c.eventually("two workers have left", func() bool { return c.logged("worker left") == 2 })
	c.midRun("scaled from 4 workers to 2")
	c.expectTotal()
}

// A worker that is killed comes back, and what it held is counted by whoever takes it.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 50*time.Second))
	c.up(2)
	c.reach(5)
	c.crash(c.containers("worker")[0])
	c.eventually("the worker has joined again", func() bool { return c.logged("worker joined") == 3 })
	c.midRun("killed a worker, which came back")
	c.expectTotal()
}

// A coordinator that is killed comes back by itself, one that was killed by hand is
// started again by up; each goes on from the ledger.
func TestKilledCoordinator(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 50*time.Second))
	c.up(2)
	c.reach(5)
	coordinator := c.containers("coordinator")[0]
	c.crash(coordinator)
	c.goesOn(2, "killed the coordinator, which came back")
	c.docker(patience, "kill", coordinator)
	c.up(2)
	c.goesOn(3, "killed the coordinator by hand, then up")
	c.expectTotal()
}

// goesOn waits for a coordinator with that epoch to be at work, on a ledger that was not
// empty.
func (c *cluster) goesOn(epoch uint64, after string) {
	c.t.Helper()
	c.eventually("the next coordinator has the run", func() bool {
		r, known := c.record()
		return known && r.Epoch == epoch
	})
	c.midRun(after)
	if c.logged(`going on with the run`) == 0 || c.logged(`counting done=[1-9]`) == 0 {
		c.t.Errorf("after: %s: the coordinator has not gone on where the last one was", after)
	}
}

// A server that is killed comes back with what it had, or, when its volume is lost, with
// nothing; the run goes on with either.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 50*time.Second))
	c.up(2)
	c.reach(5)
	c.crash(c.containers("nats")[0])
	c.midRun("killed the server, which came back with its volume")
	c.docker(patience, "rm", "--force", c.containers("nats")[0])
	c.docker(patience, "volume", "rm", c.project+"_nats")
	c.compose("up", "--detach", "nats")
	c.midRun("killed the server, then up without its volume")
	c.expectTotal()
}

// A worker that is cut off for longer than its leases loses its tasks to others, and
// counts again when it is back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 80*time.Second))
	c.up(2)
	c.reach(5)
	victim, network := c.containers("worker")[0], c.project+"_default"
	cut := time.Now()
	c.docker(patience, "network", "disconnect", network, victim)
	c.eventually("the worker has vanished", func() bool { return c.logged("worker vanished") == 1 })
	if long := time.Since(cut); long < bus.DefaultLease {
		t.Errorf("the worker was cut off for %v, less than a lease", long)
	}
	c.midRun("cut a worker off for longer than a lease")
	c.docker(patience, "network", "connect", network, victim)
	c.eventually("the worker has joined again", func() bool { return c.logged("worker joined") == 3 })
	c.midRun("healed")
	if l := c.inspect(victim); l.RestartCount != 0 {
		t.Errorf("the worker was restarted %d times", l.RestartCount)
	}
	c.expectTotal()
}

// Down and up goes on where it was, in new containers; up again changes nothing.
func TestDownAndUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lasting(t, 40*time.Second))
	c.up(2)
	c.reach(5)
	before, told := c.containers("coordinator")[0], time.Now()
	c.compose("down")
	const grace = 30 * time.Second // stop_grace_period
	if took := time.Since(told); took >= grace {
		t.Errorf("down took %v: something was killed, not stopped", took)
	}
	c.up(2)
	c.goesOn(2, "down, then up")
	after := c.containers("coordinator")[0]
	c.up(2)
	if again := c.containers("coordinator")[0]; before == after || again != after {
		t.Errorf("the coordinator was %s, after down and up %s, after up again %s", before, after, again)
	}
	c.midRun("up again")
	c.expectTotal()
}
