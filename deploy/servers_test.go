//go:build cluster

package deploy_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// TestThreeServers kills each server of deploy/three-servers.yml in turn: the run continues without it,
// and the total is exact.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	// Some minutes of one core, whatever else the machine does now: each stall depends on the servers.
	c := newCluster(t, workload{n: 18, symmetry: queens.Full})
	c.variables["COMPOSE_FILE"] = "docker-compose.yml:deploy/three-servers.yml"
	c.up(2)
	c.awaitMore(1)
	for _, server := range []string{"nats", "nats2", "nats3"} {
		// docker kill suspends the restart policy: the server stays dead.
		c.docker(waitTimeout, "kill", c.containers(server)[0])
		killed := time.Now()
		c.awaitMore(15) // more than the workers hold when the server dies
		c.t.Logf("killed %s: the run has progressed after %v", server, time.Since(killed).Round(time.Second))
		c.compose("start", server)
		c.eventually(server+" is healthy again", func() bool {
			return c.inspect(c.containers(server)[0]).State.Health.Status == "healthy"
		})
	}
	c.compose("up", "--detach", "--scale", "worker=6") // to end sooner
	c.expectTotal()
	if c.logLines(`replicas=`) > 0 || c.logLines(`counting done=`) != 1 {
		t.Error("the coordinator was restarted, or the streams did not have three replicas from the beginning")
	}
}

// awaitMore waits until that many more tasks are done, as the coordinator logs on request.
func (c *cluster) awaitMore(tasks int) {
	c.t.Helper()
	coordinator := c.containers("coordinator")[0]
	done := func() int {
		c.docker(waitTimeout, "kill", "--signal", "USR1", coordinator)
		log := c.compose("logs", "--no-log-prefix", "--no-color", "coordinator")
		if c.logLines("run ended") > 0 {
			c.t.Fatal("the run ended before the last server was killed")
		}
		lines := regexp.MustCompile(`progress .*done=(\d+)`).FindAllStringSubmatch(log, -1)
		if len(lines) == 0 {
			return -1
		}
		n, _ := strconv.Atoi(lines[len(lines)-1][1]) // digits
		return n
	}
	before := max(0, done())
	c.eventually("more tasks are done", func() bool {
		return done() >= before+tasks
	})
}
