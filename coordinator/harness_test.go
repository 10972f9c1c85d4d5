//go:build unix

package main_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// slowSearch makes processes search slowly on any machine, so that a test has time to
// break something.
var slowSearch = []string{"NQUEENS_SYMMETRY=mirror", "NQUEENS_KERNEL=generic"}

// stopSignals are the signals that a person or a supervisor stops a process with.
var stopSignals = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}

// long marks a test that takes many seconds: go test -short skips it. It runs beside others.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
}

// start starts coordinator or worker with a slow search.
func start(t *testing.T, name string, args ...string) *clitest.Process {
	t.Helper()
	return clitest.Start(t, slowSearch, append([]string{name}, args...)...)
}

// startCount starts a coordinator that counts.
func startCount(t *testing.T, args ...string) *clitest.Process {
	t.Helper()
	return start(t, "coordinator", append([]string{"count", "--data", t.TempDir()}, args...)...)
}

// startCluster starts a coordinator that listens for workers and has none of its own.
func startCluster(t *testing.T, args ...string) (coordinator *clitest.Process, url string) {
	t.Helper()
	coordinator = startCount(t, append(args, "--workers", "0", "--listen", "127.0.0.1:0")...)
	return coordinator, coordinator.Await(`"server":"(nats://[^"]+)".*"counting"`)
}

// startWorker starts a worker of one thread; arguments can change that.
func startWorker(t *testing.T, url string, args ...string) *clitest.Process {
	t.Helper()
	return start(t, "worker", append([]string{"--nats", url, "--threads", "1"}, args...)...)
}

// server is a nats-server in a process of its own.
type server struct {
	*clitest.Process
	url string
}

// startServer starts a server with an empty store on a free port.
func startServer(t *testing.T, args ...string) server {
	t.Helper()
	return startServerAt(t, "127.0.0.1:-1", t.TempDir(), args...)
}

// startServerAt starts a server at that address with that store.
func startServerAt(t *testing.T, address, store string, args ...string) server {
	t.Helper()
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.Command(clitest.NATSServer(t), append(args, "-js", "-sd", store, "-a", host, "-p", port)...)
	p := clitest.StartCommand(t, "nats-server", cmd)
	url := "nats://" + p.Await(`Listening for client connections on (\S+)`)
	p.Await(`(Server is ready)`)
	return server{Process: p, url: url}
}
