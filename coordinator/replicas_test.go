//go:build unix

package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

var (
	killRounds = flag.Int("kill.rounds", 1, "how often TestKilledNodes kills each server of three")
	freeze     = flag.Bool("kill.freeze", false, "TestKilledNodes suspends servers instead: no connection is closed, as when a machine is lost")
)

// A count in a cluster of three servers continues while any one of them is dead: the leader of the
// cluster, of a stream or of a consumer, or the server of a coordinator or worker. The total is
// exact. Before, --replicas raises the replicas of streams, with the consumers of the run that is counting; it
// never lowers them. Without NQUEENS_TEST_FULL=1, which .ci/run sets, one of the three dies.
//
//	go test ./coordinator -run TestKilledNodes -v -timeout 0 -kill.rounds 5
//
// measures for how long no result is accepted.
func TestKilledNodes(t *testing.T) {
	long(t)
	const more = 10 // tasks
	const side = 15
	const streams = 3 // with the bucket of records
	c := startServers(t, 3)
	killed := c.nodes
	if *killRounds == 1 {
		killed = testkit.Sample(t, 1, killed)
	}
	coordinator := startCount(t, fmt.Sprint(side), "--depth", "4", "--nats", c.url)
	w := watchedRun{start(t, "coordinator", "watch", coordinator.Await(counting), "--json", "--nats", c.url)}
	c.awaitReplicas(0)
	for _, step := range []struct {
		replicas, says string
	}{
		{"3", `"before":1,"replicas":3,.*more servers keep the stream`},
		{"1", `"asked":1,"replicas":3,.*keeps its replicas`},
	} {
		p := startCount(t, "8", "--new", "--workers", "1", "--nats", c.url, "--replicas", step.replicas)
		p.ExpectTotal(known(8))
		if n := p.Lines(step.says); n != streams {
			t.Errorf("with --replicas %s, %d lines match %s, want %d", step.replicas, n, step.says, streams)
		}
		c.awaitReplicas(2)
	}
	if p := startCount(t, "8", "--replicas", "5", "--nats", c.url); p.ExpectExit(1) != "" ||
		p.Lines(`5 replicas need 5 servers with JetStream that can be reached.*fewer --replicas`) != 1 {
		t.Error("five replicas on three servers are not refused as they should be")
	}
	work := startGated(t, c.url, 2)
	var longest time.Duration
	for range *killRounds {
		for _, n := range killed {
			w.awaitMore(work, more)
			c.awaitReplicas(2)
			lost, before, reconnected := c.ledBy(n), w.last(), coordinator.Lines(`"reconnected"`)
			if *freeze {
				n.Signal(syscall.SIGSTOP)
			} else {
				n.Kill()
			}
			c.awaitLeaders(n)
			w.awaitMore(work, more)
			if coordinator.Lines(`"reconnected"`) > reconnected {
				lost = append(lost, "the coordinator")
			}
			slices.Sort(lost)
			stall := w.stall(before)
			longest = max(longest, stall)
			t.Logf("%s killed, which led or served %s: no result for %v", n.name, strings.Join(lost, ", "), stall)
			if *freeze {
				n.Signal(syscall.SIGCONT)
			} else {
				c.start(n)
			}
		}
	}
	t.Logf("longest time without a result: %v", longest)
	work.open()
	coordinator.ExpectTotal(known(side))
	w.ExpectExit(0)
}

// More than one replica is refused by a single server. Nothing changes on it, and no run begins.
func TestReplicasNeedACluster(t *testing.T) {
	long(t)
	s := startServer(t)
	for range 2 {
		p := startCount(t, "8", "--replicas", "3", "--nats", s.url)
		if p.ExpectExit(1) != "" || p.Lines(`it is no cluster, and 3 replicas need one of 3 servers.*fewer --replicas`) != 1 {
			t.Error("three replicas on one server are not refused as they should be")
		}
		if runs := start(t, "coordinator", "runs", "--data", p.Flag("--data")).ExpectExit(0); runs != "" {
			t.Errorf("a run is left: %s", runs)
		}
		startCount(t, "8", "--workers", "1", "--nats", s.url).ExpectTotal(known(8)) // now it has streams
	}
}

// watchedRun is coordinator watch --json, which follows a run in its cluster.
type watchedRun struct{ *clitest.Process }

// snapshot is what it prints every second.
type snapshot struct {
	Done    int
	Elapsed float64 `json:"elapsed_s"` // by the clock of the coordinator
}

func (w watchedRun) snapshots() (all []snapshot) {
	w.T().Helper()
	text := w.Stdout()
	for line := range strings.Lines(text[:strings.LastIndex(text, "\n")+1]) {
		var s snapshot
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			w.T().Fatalf("watch printed %q: %v", line, err)
		}
		all = append(all, s)
	}
	return all
}

// last returns the last snapshot, or the zero value before the first.
func (w watchedRun) last() snapshot {
	all := w.snapshots()
	if len(all) == 0 {
		return snapshot{}
	}
	return all[len(all)-1]
}

// awaitMore waits until that many more tasks are done.
func (w watchedRun) awaitMore(work *gate, tasks int) {
	w.T().Helper()
	before := w.last().Done
	work.during(func() {
		if !w.AwaitEndOr("progress", func() bool { return w.last().Done >= before+tasks }) || w.HasEnded() {
			w.T().Fatal("the run ended before the last server was killed")
		}
	})
}

// stall returns the longest time since a snapshot in which no task was done. Its resolution is a second.
func (w watchedRun) stall(since snapshot) (longest time.Duration) {
	progress := since
	for _, s := range w.snapshots() {
		if s.Elapsed > since.Elapsed && s.Done > progress.Done {
			longest = max(longest, time.Duration((s.Elapsed-progress.Elapsed)*float64(time.Second)))
			progress = s
		}
	}
	return longest.Round(time.Second / 10)
}
