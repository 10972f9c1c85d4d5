//go:build cluster

package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
)

// patience bounds each wait for what must happen. It is long, for busy machines: where
// nothing is wrong nobody waits for its end.
const patience = 3 * time.Minute

// cluster is a Compose project of its own, which is gone with all that is its when the
// test ends.
type cluster struct {
	t           *testing.T
	folder      string // with docker-compose.yml
	project     string
	server      string // the address of the NATS server on this machine
	total       string // what the run is to come to
	environment []string
}

// newCluster returns a cluster that will count the size given, with half a core a worker.
func newCluster(t *testing.T, s size) *cluster {
	t.Helper()
	total, _ := queens.KnownTotal(s.n)
	c := &cluster{
		t:       t,
		folder:  "..",
		project: fmt.Sprintf("nqtest-%s-%d", strings.ToLower(t.Name()), os.Getpid()),
		server:  freeAddress(t),
		total:   total.String(),
	}
	c.set("COMPOSE_PROJECT_NAME=" + c.project)
	c.set("NATS_LISTEN=" + c.server)
	c.set(fmt.Sprintf("N=%d", s.n))
	c.set("NQUEENS_SYMMETRY=" + string(s.symmetry))
	c.set("NQUEENS_KERNEL=generic")
	c.set("WORKER_CPUS=0.5")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", c.try("ps", "--all"), c.try("logs", "--timestamps"))
		}
		c.compose("down", "--volumes", "--rmi", "local", "--timeout", "20")
		for _, kind := range []string{"container", "network", "volume"} {
			if left := docker(t, kind, "ls", "-q", "--filter", "label=com.docker.compose.project="+c.project); left != "" {
				t.Errorf("a %s is left behind: %s", kind, left)
			}
		}
	})
	return c
}

// freeAddress returns an address of this machine at which nobody listens. It is the same
// when a server is killed and started again, as one of Docker's choice would not be.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// set sets a variable of docker-compose.yml.
func (c *cluster) set(variable string) { c.environment = append(c.environment, variable) }

// command returns a command in the cluster's folder, with its variables.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.folder
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "NQUEENS_") || strings.HasPrefix(name, "COMPOSE_") ||
			slices.Contains([]string{"N", "WORKERS", "WORKER_CPUS", "NATS_LISTEN", "VERSION", "COMMIT", "DATE"}, name)
	})
	cmd.Env = append(cmd.Env, c.environment...)
	cmd.WaitDelay = time.Second
	return cmd
}

// compose runs docker compose, which must succeed, and returns its stdout.
func (c *cluster) compose(args ...string) string {
	c.t.Helper()
	// Not the test's context: the cluster is removed when that has ended.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var told bytes.Buffer
	cmd := c.command(ctx, "docker", append([]string{"compose", "--progress", "plain"}, args...)...)
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		c.t.Errorf("docker compose %q: %v\n%s%s", args, err, out, told.Bytes())
	}
	return string(out)
}

// try runs docker compose and returns what it prints, whatever comes of it.
func (c *cluster) try(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := c.command(ctx, "docker", append([]string{"compose"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// up builds the images and starts the cluster with so many workers.
func (c *cluster) up(workers int) {
	c.t.Helper()
	c.set(fmt.Sprintf("WORKERS=%d", workers))
	c.compose("up", "--detach", "--build")
	c.say("up: n = %s with %d workers", c.variable("N"), workers)
}

// variable returns the value of a variable that was set.
func (c *cluster) variable(name string) string {
	value := ""
	for _, v := range c.environment {
		if after, found := strings.CutPrefix(v, name+"="); found {
			value = after
		}
	}
	return value
}

// say tells whoever reads the test's output what it did.
func (c *cluster) say(format string, args ...any) {
	c.t.Helper()
	c.t.Logf(format, args...)
}

// containers returns the ids of a service's containers, running or not.
func (c *cluster) containers(service string) []string {
	c.t.Helper()
	ids := strings.Fields(c.compose("ps", "--all", "--quiet", service))
	if len(ids) == 0 {
		c.t.Fatalf("%s has no container", service)
	}
	return ids
}

// docker runs docker, which must succeed, and returns its stdout without the last line
// break.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var told bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %q: %v\n%s%s", args, err, out, told.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// look is what a test asks of a container.
type look struct {
	State struct {
		Status   string
		ExitCode int
		Pid      int
	}
	RestartCount    int
	Config          struct{ User string }
	HostConfig      hostConfig
	NetworkSettings struct {
		Ports map[string][]struct{ HostIP string }
	}
}

type hostConfig struct {
	ReadonlyRootfs bool
	CapDrop        []string
	SecurityOpt    []string
	NanoCpus       int64
}

func inspect(t *testing.T, container string) look {
	t.Helper()
	var l look
	if err := json.Unmarshal([]byte(docker(t, "container", "inspect", "--format", "{{json .}}", container)), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// crash kills the process of a container with SIGKILL, from outside of Docker: after
// docker kill no restart policy holds.
func (c *cluster) crash(container string) {
	c.t.Helper()
	before := inspect(c.t, container)
	docker(c.t, "run", "--rm", "--pid", "host", "--network", "none", "--entrypoint", "kill", natsImage(c.t),
		"-9", fmt.Sprint(before.State.Pid))
	c.eventually("the killed container is back", func() bool {
		now := inspect(c.t, container)
		return now.RestartCount == before.RestartCount+1 && now.State.Status == "running"
	})
}

// natsImage is the name of the image that has a shell's tools.
func natsImage(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`image: (nats:\S+)`).FindSubmatch(file)
	if match == nil {
		t.Fatal("docker-compose.yml names no image of nats")
	}
	return string(match[1])
}

// eventually waits until a condition holds that nobody tells of.
func (c *cluster) eventually(what string, condition func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// logged returns the number of lines of the coordinator's log, since it was made, that
// match the pattern.
func (c *cluster) logged(pattern string) int {
	c.t.Helper()
	log := c.compose("logs", "--no-log-prefix", "--no-color", "coordinator")
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAllString(log, -1))
}

// record returns what the server knows of the run now, and whether it knows a run.
func (c *cluster) record() (queens.Record, bool) {
	c.t.Helper()
	b, err := bus.Connect(bus.Config{URL: "nats://" + c.server, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		return queens.Record{}, false
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	records, err := b.Runs(ctx)
	if err != nil || len(records) == 0 {
		return queens.Record{}, false
	}
	return records[len(records)-1], true
}
