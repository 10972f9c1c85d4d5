//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// counting matches what a coordinator logs when it starts to count; the group is the run.
const counting = `"run":"([^"]+)".*"counting"`

// scene is a run: a coordinator and a server, each in a process of its own.
type scene struct {
	t       *testing.T
	address string
	store   string
	server  server
	// serverFlags are further flags of the server.
	serverFlags []string
	// coordinator is the active one, or the last one.
	coordinator *clitest.Process
	run         string
	view        view
}

// startScene starts a server and a coordinator.
func startScene(t *testing.T, count ...string) *scene {
	t.Helper()
	s := &scene{t: t, address: testkit.Address(t), store: t.TempDir()}
	s.server = startServerAt(t, s.address, s.store)
	s.count(count...)
	s.view = inspect(t, s.server.url)
	return s
}

// count starts the scene's coordinator.
func (s *scene) count(args ...string) {
	s.t.Helper()
	s.coordinator = startCount(s.t, append(args, "--nats", s.server.url)...)
	s.run = s.coordinator.Await(counting)
}

// restartServer starts a server at the address and with the store of the one that was killed.
func (s *scene) restartServer() {
	s.t.Helper()
	s.server = startServerAt(s.t, s.address, s.store, s.serverFlags...)
}

// wipe removes the store of the server, which must not be running.
func (s *scene) wipe() {
	s.t.Helper()
	if err := os.RemoveAll(s.store); err != nil {
		s.t.Fatal(err)
	}
}

// resume starts another coordinator on the run.
func (s *scene) resume() {
	s.t.Helper()
	s.coordinator = start(s.t, "coordinator", "resume", s.run, "--data", s.coordinator.Flag("--data"), "--nats", s.server.url)
	s.coordinator.Await(counting)
}

// done returns the number of the run's tasks with a result on the server, or -1 if the stream does not
// exist.
func (s *scene) done() int { return s.view.tasksWithResult("nq.result." + s.run) }

// progress waits until the server has that many more results of the run than now.
func (s *scene) progress(more int) {
	s.t.Helper()
	before := -1
	s.view.eventually("the stream of results exists", func() bool { before = s.done(); return before >= 0 })
	s.view.eventually("more tasks are done", func() bool { return s.done() >= before+more })
}

// accepted returns the number of results in the run's ledger. The coordinator must have
// ended.
func (s *scene) accepted() uint64 {
	s.t.Helper()
	done, _ := ledgerOf(s.t, s.coordinator.Flag("--data"), s.run)
	return done
}

// ledgerOf returns what the ledger of a run has that nobody works on: its tasks with an accepted result, and how
// often a task lost its own.
func ledgerOf(t *testing.T, data, run string) (accepted, lost uint64) {
	t.Helper()
	l, err := ledger.OpenReadOnly(filepath.Join(data, run))
	if err != nil {
		t.Fatal(err)
	}
	accepted, lost = l.Len(), l.Lost()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return accepted, lost
}

// awaitAccepted waits until the ledger of the active coordinator has more results than that.
func (s *scene) awaitAccepted(before uint64) {
	s.t.Helper()
	last := regexp.MustCompile(`(?s).*"done":(\d+),[^\n]*"message":"progress"`)
	testkit.Eventually(s.t, fmt.Sprintf("the ledger has more than %d results", before), func() bool {
		s.coordinator.Signal(syscall.SIGUSR1) // asks for a line of progress
		elapse(s.t, 50*time.Millisecond)
		match := last.FindStringSubmatch(s.coordinator.Log())
		if match == nil {
			return false
		}
		done, err := strconv.ParseUint(match[1], 10, 64)
		return err == nil && done > before
	})
}

// known returns the published total of a board as coordinators print it.
func known(n int) string {
	total, _ := queens.KnownTotal(n)
	return total.String()
}

// elapse waits for that time, or until the test ends.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// createRun creates the ledger of a run with that name, of which nothing is counted.
func createRun(t *testing.T, data, name string, n int) {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := split.Plan(t.Context(), n, queens.Full, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(filepath.Join(data, name), ledger.Header{Run: name, Created: time.Now(), Manifest: manifest, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
