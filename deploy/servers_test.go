//go:build cluster

package deploy_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestThreeServers kills each server of deploy/three-servers.yml in turn: the run continues without it,
// and the total is exact.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workloadLasting(t, 240*time.Second))
	c.variables["COMPOSE_FILE"] = "docker-compose.yml:deploy/three-servers.yml"
	c.up()
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
	c.expectTotal()
	if c.logLines(`replicas=`) > 0 || c.logLines(`counting n = `) != 1 {
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
		if c.logLines("solutions for n = ") > 0 {
			c.t.Fatal("the run ended before the last server was killed")
		}
		lines := regexp.MustCompile(`INF [\d.]+% ([\d,]+)/[\d,]+ tasks`).FindAllStringSubmatch(log, -1)
		if len(lines) == 0 {
			return -1
		}
		n, _ := strconv.Atoi(strings.ReplaceAll(lines[len(lines)-1][1], ",", "")) // digits
		return n
	}
	before := max(0, done())
	c.eventually("more tasks are done", func() bool {
		return done() >= before+tasks
	})
}
