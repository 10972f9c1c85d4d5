//go:build cluster

package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cluster is a project of Compose. The end of the test removes it with its images and volumes.
type cluster struct {
	t         *testing.T
	project   string
	files     []string // the files of Compose
	variables map[string]string
}

// newCluster returns a cluster of docker-compose.yml and the given files. It starts nothing.
func newCluster(t *testing.T, files ...string) *cluster {
	t.Helper()
	c := &cluster{
		t: t, project: fmt.Sprintf("nqtest-%s-%d", strings.ToLower(t.Name()), os.Getpid()),
		files:     append([]string{"docker-compose.yml"}, files...),
		variables: map[string]string{"PAGE": "127.0.0.1:0", "LINGER": "0s", "NQUEENS_KERNEL": "generic"},
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.compose("ps", "--all") + "\n" + c.log("nats") + "\n" + c.log("coordinator") + "\n" +
				c.log("worker"))
		}
		c.compose("down", "--volumes", "--rmi", "local", "--timeout", "20")
	})
	return c
}

// docker runs docker in the checkout and returns its stdout. The variables of the cluster replace
// all those that a person may have set.
func (c *cluster) docker(args ...string) string {
	c.t.Helper()
	// a build compiles everything
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Dir, cmd.Env = "..", without(os.Environ())
	for name, value := range c.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("docker %q: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

func (c *cluster) compose(args ...string) string {
	c.t.Helper()
	words := []string{"compose", "--progress", "plain", "--project-name", c.project}
	for _, file := range c.files {
		words = append(words, "--file", file)
	}
	return c.docker(append(words, args...)...)
}

func (c *cluster) containers(service string) []string {
	c.t.Helper()
	return strings.Fields(c.compose("ps", "--all", "--quiet", service))
}

func (c *cluster) log(service string) string {
	c.t.Helper()
	return c.compose("logs", "--no-log-prefix", "--no-color", service)
}

// container is the part of the output of docker container inspect that the tests use.
type container struct {
	State struct {
		Status        string
		ExitCode, Pid int
		Health        struct{ Status string }
	}
	RestartCount int
	Config       struct{ User string }
	HostConfig   struct {
		ReadonlyRootfs       bool
		CapDrop, SecurityOpt []string
	}
	NetworkSettings struct {
		Ports    map[string][]struct{ HostIP, HostPort string }
		Networks map[string]struct{ IPAddress string }
	}
}

func (c *cluster) inspect(id string) (info container) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.docker("container", "inspect", "--format", "{{json .}}", id)),
		&info); err != nil {
		c.t.Fatal(err)
	}
	return info
}

// snapshot returns the snapshot from the coordinator's page, or zero values if the page does not
// answer.
func (c *cluster) snapshot() (s struct {
	Run              string
	Done, Tasks      uint64
	Workers, Threads int
	State            string
	Recorded         uint64
}) {
	c.t.Helper()
	ports := c.inspect(c.containers("coordinator")[0]).NetworkSettings.Ports["8080/tcp"]
	if len(ports) == 0 {
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://127.0.0.1:"+ports[0].HostPort+"/snapshot.json", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return s
	}
	defer func() { _ = reply.Body.Close() }()
	_ = json.NewDecoder(reply.Body).Decode(&s) // zero values if the reply is cut off
	return s
}

// counts waits until the given number of workers is present and, after that, a result is recorded.
func (c *cluster) counts(workers int, after string) {
	c.t.Helper()
	var recorded uint64
	eventually(c.t, fmt.Sprintf("%d workers count after: %s", workers, after), func() bool {
		s := c.snapshot()
		if s.State != "" && s.State != "running" ||
			strings.Contains(c.log("coordinator"), " solutions for n = ") {
			c.t.Fatalf("the run has ended too early, after: %s", after)
		}
		if s.Workers == workers && recorded == 0 {
			recorded = s.Recorded + 1
		}
		return recorded > 0 && s.Workers == workers && s.Recorded >= recorded
	})
	s := c.snapshot()
	c.t.Logf("%s: %d workers, %d of %d tasks", after, s.Workers, s.Done, s.Tasks)
}

// ends waits until the coordinator exits with code 0. It compares the last line of its log with the
// total.
func (c *cluster) ends(total string) {
	c.t.Helper()
	coordinator := c.containers("coordinator")[0]
	if code := c.docker("wait", coordinator); code != "0" {
		c.t.Fatalf("the coordinator exits with %s", code)
	}
	lines := strings.Split(c.log("coordinator"), "\n")
	if last := lines[len(lines)-1]; last != total {
		c.t.Fatalf("the last line of the coordinator is %q, want %s", last, total)
	}
	if s := c.inspect(coordinator).State.Status; s != "exited" {
		c.t.Errorf("the coordinator is %s after the total", s)
	}
}

// TestCompose counts n = 18 while the number of workers changes and the coordinator is killed.
// Until the last change of this number, each worker gets a tenth of a core, so that the run takes
// long enough.
func TestCompose(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow.yml")
	if err := os.WriteFile(slow, []byte("services: { worker: { cpuset: '0', cpus: 0.1 } }\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, slow)
	c.variables["N"] = "18"
	c.compose("up", "--build", "--detach")
	c.counts(1, "docker compose up")
	run := c.snapshot().Run
	eventually(t, "the log has the progress", func() bool {
		return strings.Contains(c.log("coordinator"), "; 1 worker on 1 machine, ")
	})

	if log := c.log("worker"); !strings.Contains(log, "1 thread,") {
		t.Errorf("a worker in a container with one processor says %s", log)
	}
	for _, service := range []string{"nats", "coordinator", "worker"} {
		info := c.inspect(c.containers(service)[0])
		h := info.HostConfig
		hasFew := slices.Equal(h.CapDrop, []string{"ALL"}) &&
			slices.Equal(h.SecurityOpt, []string{"no-new-privileges:true"})
		if !h.ReadonlyRootfs || !hasFew || info.Config.User == "" {
			t.Errorf("%s has the rights %+v of user %q", service, h, info.Config.User)
		}
		for port, bound := range info.NetworkSettings.Ports {
			for _, b := range bound {
				if service != "coordinator" || b.HostIP != "127.0.0.1" {
					t.Errorf("port %s of %s is open at %s", port, service, b.HostIP)
				}
			}
		}
	}
	nats := c.inspect(c.containers("nats")[0]).NetworkSettings.Networks[c.project+"_default"].IPAddress
	hello := func(network string) string {
		return c.docker("run", "--rm", "--network", network, "--entrypoint", "sh", c.image("nats"), "-c",
			"timeout 5 nc "+nats+" 4222 </dev/null || true")
	}
	if inside, outside := hello(c.project+"_default"), hello("bridge"); !strings.HasPrefix(inside,
		"INFO ") || outside != "" {
		t.Errorf("the server says %q to a container of the project, and %q to another", inside, outside)
	}

	c.compose("up", "--detach", "--scale", "worker=3")
	c.counts(3, "--scale worker=3")
	c.compose("up", "--detach", "--scale", "worker=1")
	c.counts(1, "--scale worker=1")

	coordinator := c.containers("coordinator")[0]
	// After this kill, Docker starts the container again; after docker kill it would not.
	pid := strconv.Itoa(c.inspect(coordinator).State.Pid)
	c.docker("run", "--rm", "--pid", "host", "--network", "none", "--entrypoint", "kill",
		c.image("nats"), "-9", pid)
	eventually(t, "the coordinator that was killed has been started again", func() bool {
		info := c.inspect(coordinator)
		return info.RestartCount == 1 && info.State.Status == "running"
	})
	c.counts(1, "kill -9 of the coordinator")
	if now := c.snapshot().Run; now != run {
		t.Fatalf("the run is %s, it was %s", now, run)
	}

	for _, service := range []string{"coordinator", "worker"} {
		eventually(t, service+" is healthy", func() bool {
			return c.inspect(c.containers(service)[0]).State.Health.Status == "healthy"
		})
	}

	delete(c.variables, "N") // as in another shell
	delete(c.variables, "NQUEENS_KERNEL")
	c.files = c.files[:1]
	c.compose("up", "--detach", "--scale", "worker=4")
	c.ends("666090624")
	if log := c.log("coordinator"); !strings.Contains(log, "run "+run+": ") ||
		!strings.Contains(log, " done; ") {
		t.Errorf("the last coordinator did not resume the run %s", run)
	}
}

// image returns the image of a service.
func (c *cluster) image(service string) string {
	c.t.Helper()
	return c.docker("container", "inspect", "--format", "{{.Config.Image}}", c.containers(service)[0])
}

// In the foreground, the last line of the coordinator is the total, also if the run was complete
// before. If the coordinator can't count, Docker starts it again five times and then gives up.
func TestForeground(t *testing.T) {
	c := newCluster(t)
	c.variables["N"] = "12"
	for range 2 {
		last := ""
		for line := range strings.Lines(
			c.compose("up", "--build", "--no-color", "--exit-code-from", "coordinator")) {
			if service, text, found := strings.Cut(line, "|"); found &&
				strings.HasPrefix(service, "coordinator-1") {
				last = strings.TrimSpace(text)
			}
		}
		if last != "14200" {
			t.Errorf("the last line of the coordinator is %q, want 14200", last)
		}
		delete(c.variables, "N")
	}
	c.variables["N"] = "99"
	c.compose("up", "--detach")
	eventually(t, "the coordinator gives up", func() bool {
		info := c.inspect(c.containers("coordinator")[0])
		return info.State.Status == "exited" && info.State.ExitCode == 2 && info.RestartCount == 5
	})
}

// After the total, the page stays for an hour, and the next command ends it.
func TestPageStays(t *testing.T) {
	c := newCluster(t)
	delete(c.variables, "LINGER")
	c.variables["N"] = "12"
	c.compose("up", "--build", "--detach")
	eventually(t, "the total is in the log", func() bool {
		return strings.HasSuffix(c.log("coordinator"), "\n14200")
	})
	if s := c.snapshot(); s.State != "complete" {
		t.Errorf("the page says %q after the total", s.State)
	}
	c.compose("stop")
	if code := c.inspect(c.containers("coordinator")[0]).State.ExitCode; code != 0 {
		t.Errorf("a coordinator with a total exits with %d", code)
	}
}

// With deploy/gpu.yml, the worker is built for GPUs and gets all. The test starts no container,
// because there may be no GPU.
func TestGPU(t *testing.T) {
	c := newCluster(t, "deploy/gpu.yml")
	config := c.compose("config", "--format", "json")
	for _, part := range []string{`"target": "worker-opencl"`, `"NQUEENS_KERNEL": "opencl"`,
		`"driver": "nvidia"`, `"count": -1`} {
		if !strings.Contains(config, part) {
			t.Errorf("%s is missing in %s", part, config)
		}
	}
}

// Docker's classic builder builds all images. In the other tests BuildKit builds them.
func TestClassicBuilder(t *testing.T) {
	c := newCluster(t)
	c.variables["DOCKER_BUILDKIT"] = "0"
	for _, target := range []string{"coordinator", "worker", "worker-opencl"} {
		image := c.project + "-classic-" + target
		c.docker("build", "--target", target, "--tag", image, "--build-arg", "VERSION=v1.2.3",
			"--build-arg", "COMMIT=0123456789ab",
			"--build-arg", "OPENCL_BASE="+c.project+"-classic-worker", ".")
		t.Cleanup(func() { c.docker("image", "rm", "--force", image) })
		if target == "worker-opencl" {
			continue // this base has no glibc
		}
		said := c.docker("run", "--rm", image, "version")
		if !strings.Contains(said, "version v1.2.3\ncommit 0123456789ab,") {
			t.Errorf("%s says %q", target, said)
		}
	}
}

// The commands in deploy/hosts.yml open the server to a worker that is on another network and has a
// copy of join.token.
func TestHosts(t *testing.T) {
	c := newCluster(t, "deploy/hosts.yml")
	elsewhere := c.project + "-elsewhere"
	c.docker("network", "create", elsewhere)
	t.Cleanup(func() { c.docker("network", "rm", elsewhere) })
	// this machine
	address := c.docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}",
		elsewhere)
	_, c.variables["NATS"], _ = strings.Cut(freeAddress(t), ":")
	c.variables["N"], c.variables["WORKERS"] = "12", "0"

	c.compose("build")
	c.compose("run", "--rm", "--no-deps", "coordinator", "keys", "/data/keys", "--host",
		address+":"+c.variables["NATS"])
	c.compose("up", "--detach")
	token := filepath.Join(t.TempDir(), "join.token")
	c.compose("cp", "coordinator:/data/keys/join.token", token)
	eventually(t, "the coordinator waits for workers", func() bool {
		return strings.Contains(c.log("coordinator"), "waiting for workers")
	})
	c.docker("run", "--rm", "--network", elsewhere, "--volume", bin+"/worker:/worker:ro", "--volume",
		token+":/join.token:ro",
		"--entrypoint", "/worker", c.image("nats"), "--join", "/join.token", "--machine", "elsewhere",
		"--idle-exit", "3s")
	c.ends("14200")
}
