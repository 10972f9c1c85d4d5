//go:build cluster

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestContainers checks the rights, ports, users, versions and health of the containers, and that Docker restarts a
// coordinator that cannot start, at most ten times.
func TestContainers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workload{n: 12, symmetry: "diagonal"})
	c.variables["VERSION"] = "v0.0.0-test"
	c.variables["COMMIT"] = "0123456789ab"
	c.variables["DATE"] = "2026-01-02T03:04:05Z"
	c.variables["WORKER_CPUS"] = "0.5"
	c.up()
	for _, service := range []string{"coordinator", "worker"} {
		got := c.compose("run", "--rm", "--no-deps", service, "--version")
		if want := service + " version v0.0.0-test (0123456789ab, 2026-01-02T03:04:05Z)\n"; !strings.HasPrefix(got, want) {
			t.Errorf("%s --version is %q, want %q", service, got, want)
		}
	}
	for _, id := range slices.Concat(c.containers("keys"), c.containers("nats"), c.containers("coordinator"), c.containers("worker")) {
		info := c.inspect(id)
		h := info.HostConfig
		hardened := h.ReadonlyRootfs && slices.Equal(h.CapDrop, []string{"ALL"}) &&
			slices.Equal(h.SecurityOpt, []string{"no-new-privileges:true"}) && h.Memory > 0 && h.PidsLimit > 0
		if !hardened {
			t.Errorf("container %s has the rights %+v", id, h)
		}
		for port, bound := range info.NetworkSettings.Ports {
			for _, b := range bound {
				if b.HostIP != "127.0.0.1" || port != "4222/tcp" {
					t.Errorf("container %s has port %s bound to %s", id, port, b.HostIP)
				}
			}
		}
	}
	for _, id := range slices.Concat(c.containers("coordinator"), c.containers("worker")) {
		if err := exec.Command("docker", "exec", id, "/bin/sh", "-c", "true").Run(); err == nil {
			t.Errorf("container %s has a shell", id)
		}
	}
	// GOMAXPROCS is at least 2 with a CPU limit below 2 cores.
	threads := fmt.Sprintf(" starts: %d thread", min(2, runtime.NumCPU()))
	worker := c.containers("worker")[0]
	c.eventually("the worker logs its number of threads", func() bool {
		return strings.Contains(c.docker(waitTimeout, "logs", worker)+c.compose("logs", "worker"), threads)
	})
	if cpus := c.inspect(worker).HostConfig.NanoCpus; cpus != 5e8 {
		t.Errorf("a worker has %d nanocores, want half a core", cpus)
	}
	c.eventually("the worker is healthy", func() bool { return c.inspect(worker).State.Health.Status == "healthy" })
	c.t.Logf("rights, ports, users, versions, CPU limits and health are correct")
	coordinator := c.containers("coordinator")[0]
	c.eventually("a coordinator with a wrong symmetry has failed, and has been restarted", func() bool {
		info := c.inspect(coordinator)
		return info.State.ExitCode == 2 && info.RestartCount >= 2
	})
	if policy := c.inspect(coordinator).HostConfig.RestartPolicy; policy.Name != "on-failure" || policy.MaximumRetryCount != 10 {
		t.Errorf("the coordinator has the restart policy %+v, want to be restarted ten times", policy)
	}
}

// TestImageForArm64 builds the image of the worker for another architecture, and runs its program in an
// emulator.
func TestImageForArm64(t *testing.T) {
	t.Parallel()
	c := newCluster(t, small)
	c.variables["DOCKER_DEFAULT_PLATFORM"] = "linux/arm64"
	c.build("worker")
	image := c.project + "-worker"
	if arch := c.docker(waitTimeout, "image", "inspect", "--format", "{{.Architecture}}", image); arch != "arm64" {
		t.Errorf("the image is for %s", arch)
	}
	container := c.docker(waitTimeout, "create", image)
	defer c.docker(waitTimeout, "rm", "--volumes", container)
	program := filepath.Join(t.TempDir(), "worker")
	c.docker(waitTimeout, "cp", container+":/bin/worker", program)
	emulator := "qemu-aarch64-static"
	if runtime.GOARCH == "arm64" {
		emulator = "env"
	}
	kernels, err := exec.CommandContext(t.Context(), emulator, program, "kernels").Output()
	if !strings.Contains(string(kernels), "neon\n") {
		t.Errorf("worker kernels prints %q (%v): install qemu-user-static if there is no emulator", kernels, err)
	}
}

// TestUnit checks that systemd accepts the unit, with another path for the binary, and counts it among
// the services that are isolated well.
func TestUnit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	unit := replaced(t, "nqueens-worker.service", "/usr/local/bin/nqueens-worker", "/bin/true")
	out, err := exec.CommandContext(ctx, "systemd-analyze", "verify", unit).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("systemd-analyze is missing: install systemd")
	}
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// The exposure is from 0 to 100.
	out, err = exec.CommandContext(ctx, "systemd-analyze", "security", "--offline=yes", "--threshold=20", unit).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
