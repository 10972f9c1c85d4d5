//go:build cluster

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A coordinator that can't begin is given up after some tries, with its exit code, and
// meanwhile every container has no more rights than it needs.
func TestContainers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, size{n: 12, symmetry: "diagonal"})
	c.variables["VERSION"] = "v0.0.0-test"
	c.variables["COMMIT"] = "0123456789ab"
	c.variables["DATE"] = "2026-01-02T03:04:05Z"
	c.up(2)
	for _, service := range []string{"coordinator", "worker"} {
		said := c.compose("run", "--rm", "--no-deps", service, "--version")
		if want := service + " version v0.0.0-test (0123456789ab, 2026-01-02T03:04:05Z)"; said != want {
			t.Errorf("%s --version says %q, want %q", service, said, want)
		}
	}
	for _, id := range slices.Concat(c.containers("nats"), c.containers("coordinator"), c.containers("worker")) {
		l := c.inspect(id)
		if h := l.HostConfig; !h.ReadonlyRootfs || !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Equal(h.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("container %s has the rights %+v", id, h)
		}
		for port, bound := range l.NetworkSettings.Ports {
			for _, b := range bound {
				if b.HostIP != "127.0.0.1" || port != "4222/tcp" {
					t.Errorf("container %s has port %s bound to %s", id, port, b.HostIP)
				}
			}
		}
	}
	for _, id := range slices.Concat(c.containers("coordinator"), c.containers("worker")) {
		if user := c.inspect(id).Config.User; user != "65532:65532" {
			t.Errorf("container %s runs as %q", id, user)
		}
		if err := exec.Command("docker", "exec", id, "/bin/sh", "-c", "true").Run(); err == nil {
			t.Errorf("container %s has a shell", id)
		}
	}
	// The runtime never takes less than two threads for a part of a machine.
	threads := fmt.Sprintf(" threads=%d ", min(2, runtime.NumCPU()))
	worker := c.containers("worker")[0]
	c.eventually("the worker says how many threads it has", func() bool {
		return strings.Contains(c.docker(patience, "logs", worker)+c.compose("logs", "worker"), threads)
	})
	if cpus := c.inspect(worker).HostConfig.NanoCpus; cpus != 5e8 {
		t.Errorf("a worker has %d billionths of a core, want half a core", cpus)
	}
	c.eventually("the worker is healthy", func() bool { return c.inspect(worker).State.Health.Status == "healthy" })
	c.say("rights, ports, users, versions, CPU limits and health are as they should be")
	coordinator := c.containers("coordinator")[0]
	c.eventually("the coordinator is given up", func() bool {
		l := c.inspect(coordinator)
		return l.State.Status == "exited" && l.RestartCount >= 10
	})
	if l := c.inspect(coordinator); l.State.ExitCode != 2 || l.RestartCount != 10 {
		t.Errorf("the coordinator is left with code %d after %d tries", l.State.ExitCode, l.RestartCount)
	}
	c.say("a coordinator with a wrong symmetry was given up after 10 tries")
}

// The unit is one that systemd takes, but for the path of the binary.
func TestUnit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	unit := replaced(t, "nqueens-worker.service", "/usr/local/bin/nqueens-worker", "/bin/true")
	out, err := exec.CommandContext(ctx, "systemd-analyze", "verify", unit).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("systemd-analyze is missing: install systemd")
	}
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
