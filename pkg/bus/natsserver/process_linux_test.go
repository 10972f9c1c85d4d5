package natsserver_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// Ports and signals of the process, as the kernel reports them. These tests must not run in
// parallel with others.

func TestNoPortWithoutListen(t *testing.T) {
	before := listening(t)
	server := bustest.Server(t)
	conn, _ := bustest.Admin(t, server)
	store(t, conn, "a")
	if now := listening(t); len(now) != len(before) {
		t.Errorf("this process listens at %v, before at %v", now, before)
	}
	server.Stop()

	// With Listen there is one more, so the comparison above can fail.
	bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	if now := listening(t); len(now) != len(before)+1 {
		t.Errorf("with Listen this process listens at %v, before at %v", now, before)
	}
}

// listening returns the local addresses, in hex, of this process's sockets that
// accept connections.
func listening(t *testing.T) []string {
	t.Helper()
	mine := make(map[string]bool)
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no open files: error %v", err)
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil { // else it was closed meanwhile
			mine[target] = true
		}
	}
	var found []string
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue // no such protocol on this machine
		}
		for line := range strings.Lines(string(data)) {
			// See proc_pid_net(5): address, state (0A is listening), inode.
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && mine["socket:["+fields[9]+"]"] {
				found = append(found, fields[1])
			}
		}
	}
	return found
}

// Signals belong to the command: the server neither receives them nor acts on them.
func TestSignalsReachTheProcess(t *testing.T) {
	server := bustest.Server(t)
	conn, _ := bustest.Admin(t, server)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2} {
		arrived := make(chan os.Signal, 1)
		signal.Notify(arrived, s)
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-arrived:
		case <-time.After(testkit.Stall):
			t.Errorf("%v has not arrived", s)
		}
		signal.Stop(arrived)
	}
	store(t, conn, "a") // the server is still running
	if stacks := testkit.Goroutines("handleSignals"); len(stacks) > 0 {
		t.Errorf("the server waits for signals:\n%s", stacks[0])
	}
}
