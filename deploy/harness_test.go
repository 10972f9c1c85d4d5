//go:build cluster

package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"nqueens/pkg/testkit"
)

// waitTimeout bounds each wait. It is long enough for busy machines; a passing test never
// reaches it.
const waitTimeout = 3 * time.Minute

// buildTimeout bounds the first build of the images, which compiles everything.
const buildTimeout = 15 * time.Minute

// runTimeout bounds a run, whose end depends on what else the machine does.
const runTimeout = 10 * time.Minute

// cluster is a Compose project of its own. The end of the test removes it with its images and
// volumes.
type cluster struct {
	t         *testing.T
	dir       string // contains docker-compose.yml
	state     string // where commands on this machine keep their state
	project   string
	server    string            // the address of the NATS server on this machine
	total     string            // the published total
	variables map[string]string // of docker-compose.yml
	keys      map[string][]byte // files of the cluster's keys that were read
	unnamed   map[string]bool   // volumes that Compose forgets when it removes their containers
}

// workerCPUs is a worker's part of a core until [cluster.expectTotal]: a count outlasts what happens to it, and
// takes little of the machine from the tests that run in parallel.
const workerCPUs = 0.05

// newCluster returns a cluster that will count the workload with workerCPUs of a core per worker. Nothing of it is
// built.
func newCluster(t *testing.T, w workload) *cluster {
	t.Helper()
	total, _ := queens.KnownTotal(w.n)
	c := &cluster{
		t:       t,
		dir:     "..",
		state:   t.TempDir(),
		project: fmt.Sprintf("nqtest-%s-%d", strings.ToLower(t.Name()), os.Getpid()),
		server:  testkit.Address(t),
		total:   total.String(),
		keys:    make(map[string][]byte),
		unnamed: make(map[string]bool),
	}
	c.variables = map[string]string{
		"COMPOSE_PROJECT_NAME": c.project,
		"NATS_LISTEN":          c.server,
		"N":                    strconv.Itoa(w.n),
		"NQUEENS_SYMMETRY":     string(w.symmetry),
		"NQUEENS_KERNEL":       "generic",
		"WORKER_CPUS":          fmt.Sprint(workerCPUs),
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", c.composeOutput("ps", "--all"), c.composeOutput("logs", "--timestamps"))
		}
		c.compose("down", "--volumes", "--rmi", "local", "--timeout", "20")
		for volume := range c.unnamed {
			c.docker(waitTimeout, "volume", "rm", "--force", volume)
		}
		ours := "label=com.docker.compose.project=" + c.project
		c.docker(waitTimeout, "image", "prune", "--force", "--filter", ours) // images replaced by newer ones
		for _, kind := range []string{"container", "network", "volume", "image"} {
			if left := c.docker(waitTimeout, kind, "ls", "--quiet", "--filter", ours); left != "" {
				t.Errorf("a %s remains: %s", kind, left)
			}
		}
	})
	return c
}

// build builds images, of all services unless some are named.
func (c *cluster) build(services ...string) {
	c.t.Helper()
	c.docker(buildTimeout, append([]string{"compose", "--progress", "plain", "build"}, services...)...)
}

// command returns a command in the cluster's directory, with its variables and no others.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "NQUEENS_") || strings.HasPrefix(name, "COMPOSE_") ||
			slices.Contains([]string{"N", "WORKERS", "WORKER_CPUS", "NATS_LISTEN", "NATS_HOSTS", "VERSION", "COMMIT", "DATE"}, name)
	})
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+c.state)
	for name, value := range c.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// compose runs docker compose and returns its stdout. It fails the test on an error.
func (c *cluster) compose(args ...string) string {
	c.t.Helper()
	if slices.Contains([]string{"down", "scale"}, args[0]) {
		c.rememberVolumes()
	}
	return c.docker(waitTimeout, append([]string{"compose", "--progress", "plain"}, args...)...)
}

// rememberVolumes notes the anonymous volumes of the workers.
func (c *cluster) rememberVolumes() {
	c.t.Helper()
	for _, id := range strings.Fields(c.docker(waitTimeout, "ps", "--all", "--quiet",
		"--filter", "label=com.docker.compose.project="+c.project, "--filter", "label=com.docker.compose.service=worker")) {
		for _, m := range c.inspect(id).Mounts {
			if !strings.HasPrefix(m.Name, c.project) {
				c.unnamed[m.Name] = true
			}
		}
	}
}

// docker runs docker in the cluster's directory with its variables, and returns its stdout
// without the last line break. It fails the test on an error or after the timeout.
func (c *cluster) docker(timeout time.Duration, args ...string) string {
	c.t.Helper()
	// Not the context of the test: the cleanup runs after its end.
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var stderr bytes.Buffer
	cmd := c.command(ctx, "docker", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("docker %q: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// composeOutput runs docker compose and returns its output, with the error if it fails.
func (c *cluster) composeOutput(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	out, err := c.command(ctx, "docker", append([]string{"compose"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// up builds images that are missing, and starts the cluster with two workers.
func (c *cluster) up() {
	c.t.Helper()
	c.variables["WORKERS"] = "2"
	c.docker(buildTimeout, "compose", "--progress", "plain", "up", "--detach")
	c.t.Logf("up: n = %s with 2 workers", c.variables["N"])
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

// containerInfo is the part of docker container inspect that the tests use.
type containerInfo struct {
	State struct {
		Status   string
		ExitCode int
		Pid      int
		Health   struct{ Status string }
	}
	RestartCount int
	Config       struct{ User string }
	HostConfig   hostConfig
	Mounts       []struct {
		Name, Destination string
		RW                bool
	}
	NetworkSettings struct {
		Ports map[string][]struct{ HostIP string }
	}
}

type hostConfig struct {
	ReadonlyRootfs bool
	CapDrop        []string
	SecurityOpt    []string
	NanoCpus       int64
	Memory         int64
	PidsLimit      int64
	RestartPolicy  struct {
		Name              string
		MaximumRetryCount int
	}
}

func (c *cluster) inspect(container string) containerInfo {
	c.t.Helper()
	var info containerInfo
	out := c.docker(waitTimeout, "container", "inspect", "--format", "{{json .}}", container)
	if err := json.Unmarshal([]byte(out), &info); err != nil {
		c.t.Fatal(err)
	}
	return info
}

// kill sends SIGKILL to the process of a container without docker kill, which would suspend
// the restart policy.
func (c *cluster) kill(container string) {
	c.t.Helper()
	before := c.inspect(container)
	c.docker(waitTimeout, "run", "--rm", "--pid", "host", "--network", "none", "--entrypoint", "kill", natsImage(c.t),
		"-9", strconv.Itoa(before.State.Pid))
	c.eventually("the killed container has restarted", func() bool {
		now := c.inspect(container)
		return now.RestartCount == before.RestartCount+1 && now.State.Status == "running"
	})
}

// natsImage returns the name of the server's image, which has shell tools.
func natsImage(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`FROM (nats:\S+)`).FindSubmatch(file)
	if match == nil {
		t.Fatal("Dockerfile has no image of nats")
	}
	return string(match[1])
}

// eventually polls until the condition holds, which asks Docker: it sends no event.
func (c *cluster) eventually(what string, condition func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	interval := time.NewTicker(200 * time.Millisecond)
	defer interval.Stop()
	for !condition() {
		select {
		case <-interval.C:
		case <-ctx.Done():
			c.t.Fatalf("timeout after %v: %s", waitTimeout, what)
		}
	}
}

// logLines returns the number of lines in the log of the coordinator's container that match the
// pattern.
func (c *cluster) logLines(pattern string) int {
	c.t.Helper()
	log := c.compose("logs", "--no-log-prefix", "--no-color", "coordinator")
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAllString(log, -1))
}

// workersThat returns how many workers joined, left or were lost, as the coordinator's log says.
func (c *cluster) workersThat(did string) (workers int) {
	c.t.Helper()
	log := c.compose("logs", "--no-log-prefix", "--no-color", "coordinator")
	for _, found := range regexp.MustCompile(`(?:worker|(\d+) workers) `+did+`: `).FindAllStringSubmatch(log, -1) {
		several, _ := strconv.Atoi(found[1]) // 0 of one
		workers += max(several, 1)
	}
	return workers
}

// record returns the newest record of a run on the server, if there is one.
func (c *cluster) record() (run.Record, bool) {
	c.t.Helper()
	b, err := bus.Connect(bus.Config{
		URL: "tls://" + c.server, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop(),
		Credentials: bus.Credentials{Identity: c.identity("watcher"), TLS: c.tls()},
	})
	if err != nil {
		return run.Record{}, false
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	records, err := b.Registry().Records(ctx)
	if err != nil || len(records) == 0 {
		return run.Record{}, false
	}
	return records[len(records)-1], true
}
