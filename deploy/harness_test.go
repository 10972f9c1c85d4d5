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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// patience bounds each wait for what must happen. It is long, for busy machines: where
// nothing is wrong nobody waits for its end.
const patience = 3 * time.Minute

// patienceToBuild bounds the first build of the images, which compiles everything.
const patienceToBuild = 10 * time.Minute

// cluster is a Compose project of its own, which is gone with all that is its when the
// test ends.
type cluster struct {
	t         *testing.T
	folder    string // with docker-compose.yml
	project   string
	server    string            // the address of the NATS server on this machine
	total     string            // what the run is to come to
	variables map[string]string // of docker-compose.yml
}

// newCluster returns a cluster that will count the size given, with half a core a worker.
// Its images are built.
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
	c.variables = map[string]string{
		"COMPOSE_PROJECT_NAME": c.project,
		"NATS_LISTEN":          c.server,
		"N":                    strconv.Itoa(s.n),
		"NQUEENS_SYMMETRY":     string(s.symmetry),
		"NQUEENS_KERNEL":       "generic",
		"WORKER_CPUS":          "0.5",
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", c.try("ps", "--all"), c.try("logs", "--timestamps"))
		}
		c.compose("down", "--volumes", "--rmi", "local", "--timeout", "20")
		ours := "label=com.docker.compose.project=" + c.project
		c.docker(patience, "image", "prune", "--force", "--filter", ours) // those that newer ones replaced
		for _, kind := range []string{"container", "network", "volume", "image"} {
			if left := c.docker(patience, kind, "ls", "--quiet", "--filter", ours); left != "" {
				t.Errorf("a %s is left behind: %s", kind, left)
			}
		}
	})
	c.docker(patienceToBuild, "compose", "--progress", "plain", "build")
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

// command returns a command in the cluster's folder, with its variables and no others.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.folder
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "NQUEENS_") || strings.HasPrefix(name, "COMPOSE_") ||
			slices.Contains([]string{"N", "WORKERS", "WORKER_CPUS", "NATS_LISTEN", "VERSION", "COMMIT", "DATE"}, name)
	})
	for name, value := range c.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// compose runs docker compose, which must succeed, and returns its stdout.
func (c *cluster) compose(args ...string) string {
	c.t.Helper()
	return c.docker(patience, append([]string{"compose", "--progress", "plain"}, args...)...)
}

// docker runs docker in the cluster's folder with its variables. It must succeed within
// that time. What is returned is its stdout, without the last line break.
func (c *cluster) docker(within time.Duration, args ...string) string {
	c.t.Helper()
	// Not the test's context: the cluster is removed when that has ended.
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var told bytes.Buffer
	cmd := c.command(ctx, "docker", args...)
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("docker %q: %v\n%s%s", args, err, out, told.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n")
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
	c.variables["WORKERS"] = strconv.Itoa(workers)
	c.compose("up", "--detach", "--build")
	c.say("up: n = %s with %d workers", c.variables["N"], workers)
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

// look is what a test asks of a container.
type look struct {
	State struct {
		Status   string
		ExitCode int
		Pid      int
		Health   struct{ Status string }
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

func (c *cluster) inspect(container string) look {
	c.t.Helper()
	var l look
	if err := json.Unmarshal([]byte(c.docker(patience, "container", "inspect", "--format", "{{json .}}", container)), &l); err != nil {
		c.t.Fatal(err)
	}
	return l
}

// crash kills the process of a container with SIGKILL, from outside of Docker: after
// docker kill no restart policy holds.
func (c *cluster) crash(container string) {
	c.t.Helper()
	before := c.inspect(container)
	c.docker(patience, "run", "--rm", "--pid", "host", "--network", "none", "--entrypoint", "kill", natsImage(c.t),
		"-9", strconv.Itoa(before.State.Pid))
	c.eventually("the killed container is back", func() bool {
		now := c.inspect(container)
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
func (c *cluster) record() (run.Record, bool) {
	c.t.Helper()
	b, err := bus.Connect(bus.Config{URL: "nats://" + c.server, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		return run.Record{}, false
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	records, err := b.Registry().Records(ctx)
	if err != nil || len(records) == 0 {
		return run.Record{}, false
	}
	return records[len(records)-1], true
}
