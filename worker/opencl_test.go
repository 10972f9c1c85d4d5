//go:build opencl && linux

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/queens"
	runs "nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// These tests need a device opencl:0; PoCL is one. POCL_CACHE_DIR names a folder that it may write to.

// startDeviceWorker starts a worker with the device opencl:0, and returns it with its name.
func startDeviceWorker(t *testing.T, url string) (worker *clitest.Process, name string) {
	t.Helper()
	worker = clitest.Start(t, nil, "worker", "--nats", url, "--kernel", "opencl:0", "--log-format", "json")
	return worker, worker.Await(`"worker":"([^"]+)".*"kernel":"opencl:0".*"worker starts"`)
}

// heard returns a function that waits until a worker has sent a heartbeat that holds. It hears those sent
// from now on: the one with which a worker takes its first chunks comes at once, the next after seconds.
func heard(t *testing.T, url string) (await func(worker string, holds func(h *runs.Heartbeat) bool)) {
	t.Helper()
	b, err := bus.Connect(bus.Config{URL: url, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	var mu sync.Mutex
	var all []runs.Heartbeat
	unsubscribe, err := b.Telemetry().SubscribeHeartbeats(func(h runs.Heartbeat) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, h)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unsubscribe)
	return func(worker string, holds func(h *runs.Heartbeat) bool) {
		t.Helper()
		testkit.Eventually(t, "a heartbeat of "+worker, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.ContainsFunc(all, func(h runs.Heartbeat) bool { return h.Worker == worker && holds(&h) })
		})
	}
}

func hasChunks(h *runs.Heartbeat) bool   { return len(h.Held) > 0 }
func isSearching(h *runs.Heartbeat) bool { return h.Busy > 0 }

// A total is exact that a device and threads have counted together, after another worker with the
// device was killed with its first chunks. The ledger names the kernel with its device.
func TestCountWithADeviceAndThreads(t *testing.T) {
	t.Parallel()
	const n = 18
	data := t.TempDir()
	coordinator := clitest.Start(t, nil, "coordinator", "count", strconv.Itoa(n), "--data", data, "--workers", "0", "--listen", "127.0.0.1:0", "--log-format", "json")
	url := coordinator.Await(`"server":"(nats://[^"]+)".*"counting"`)
	name := coordinator.Await(`"run":"([^"]+)".*"counting"`)
	await := heard(t, url)
	victim, first := startDeviceWorker(t, url)
	await(first, hasChunks)
	victim.Signal(syscall.SIGKILL)
	_, second := startDeviceWorker(t, url)
	await(second, hasChunks)
	clitest.Start(t, nil, "worker", "--nats", url, "--threads", "1")
	total, _ := queens.KnownTotal(n)
	coordinator.ExpectTotal(total.String())
	r := clitest.Run(t, nil, "coordinator", "ledger", name, "--data", data)
	kernels := make(map[string]int)
	for _, line := range regexp.MustCompile(`"kernel":"([^"]*)"`).FindAllStringSubmatch(r.Stdout, -1) {
		kernels[line[1]]++
	}
	names := slices.Sorted(maps.Keys(kernels))
	if r.Code != 0 || !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "opencl:0 ") }) {
		t.Errorf("exit code %d; the ledger has results of kernels %q\n%s", r.Code, names, r.Stderr)
	}
	for _, name := range names {
		t.Logf("%d results by %s", kernels[name], name)
	}
}

// A device that searches for a run which ends searches for the next one, and the worker ends in order.
func TestDeviceAfterACancelledRun(t *testing.T) {
	t.Parallel()
	server := clitest.StartCommand(t, "nats-server", exec.Command(clitest.NATSServer(t), "-js", "-sd", t.TempDir(), "-a", "127.0.0.1", "-p", "-1"))
	url := "nats://" + server.Await(`Listening for client connections on (\S+)`)
	server.Await(`(Server is ready)`)
	await := heard(t, url)
	worker, name := startDeviceWorker(t, url)
	data := t.TempDir()
	long := clitest.Start(t, nil, "coordinator", "count", "24", "--nats", url, "--data", data, "--log-format", "json")
	await(name, isSearching)
	if r := clitest.Run(t, nil, "coordinator", "cancel", long.Await(`"run":"([^"]+)".*"counting"`), "--nats", url, "--data", data); r.Code != 0 {
		t.Fatalf("cancel: exit code %d, %s", r.Code, r.Stderr)
	}
	<-long.Ended()
	next := clitest.Start(t, nil, "coordinator", "count", "12", "--nats", url, "--data", t.TempDir(), "--log-format", "json")
	total, _ := queens.KnownTotal(12)
	next.ExpectTotal(total.String())
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0)
}

// bench and task count on the device, kernels lists it, and other devices are refused.
func TestCommandsWithADevice(t *testing.T) {
	t.Parallel()
	exported := filepath.Join(t.TempDir(), "exported.jsonl")
	const task = `{"run":"n4-a","task":0,"hash":"d21dccc0c06e3329","weight":1,"allow":[15,15,15,15],"prefixes":[[0,0,0,0]]}`
	if err := os.WriteFile(exported, []byte(task+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		words  string
		code   int
		output string
	}{
		{"worker kernels", 0, "opencl:0  "},
		{"worker kernels --json", 0, `{"kernel":"opencl:0","auto":false,"device":"`},
		{"worker bench 12 --kernel opencl:0", 0, "n=12 total=14200 "},
		{"worker task --kernel opencl:0 " + exported, 0, `"kernel":"opencl:0 `},
		{"worker bench 12 --kernel opencl:0,cpu", 2, "must be one kernel here"},
		{"worker --kernel opencl:1000", 2, "no such device"},
	} {
		r := clitest.Run(t, nil, strings.Fields(test.words)...)
		if r.Code != test.code || !strings.Contains(r.Stdout+r.Stderr, test.output) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s%s", test.words, r.Code, test.code, test.output, r.Stdout, r.Stderr)
		}
	}
	// Without a platform there is no device.
	r := clitest.Run(t, []string{"OCL_ICD_VENDORS=" + t.TempDir()}, "worker", "bench", "8", "--kernel", "opencl:0")
	if r.Code != 2 || r.Stdout != "" {
		t.Errorf("without a platform: exit code %d, %q, %q", r.Code, r.Stdout, r.Stderr)
	}
	t.Logf("without a platform: %s", r.Stderr)
}
