//go:build unix

package main_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A run whose only server is lost for good is stopped at once, and completes with a fresh server
// from its ledger alone. It says that it can't remove what it left on the lost one.
func TestLostServerIsReplacedByAFreshOne(t *testing.T) {
	long(t)
	s := startScene(t, "15", "--depth", "3")
	brake(t, join(t, s.server.url), s.run) // it can't end
	worker := startWorker(t, s.server.url)
	s.progress(100)
	s.awaitAccepted(0)
	lost := s.server
	lost.Kill()
	s.wipe()
	s.coordinator.Await(`(connection lost)`)
	s.coordinator.Signal(syscall.SIGINT)
	s.coordinator.ExpectExit(130)
	done := s.accepted()
	if done == 0 {
		t.Error("the ledger has no result")
	}
	worker.Kill()

	s.server = startServer(t)
	s.resume()
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(15))
	if s.coordinator.Lines(`"from":"`+lost.url+`","to":"`+s.server.url+`",.*"run moved to another server"`) != 1 ||
		s.coordinator.Lines(`"server":"`+lost.url+`",.*"can't remove what the run left`) != 1 {
		t.Error("the coordinator did not say that the run has moved, and what it left")
	}
	if n := s.coordinator.Field("reconciled", "in_ledger"); n != int(done) {
		t.Errorf("the run continues with %d results of %d", n, done)
	}
}

// A run that moves removes its chunks, consumer, results and record from the server that it used
// before, though not while they may be another coordinator's. Another address of the same server is
// no move.
func TestMovedRunLeavesNothing(t *testing.T) {
	long(t)
	s := startScene(t, "15", "--depth", "3")
	brake(t, join(t, s.server.url), s.run) // it can't end
	worker := startWorker(t, s.server.url)
	s.progress(100)
	s.coordinator.Kill()
	worker.Kill()
	old, view := s.server, s.view
	s.server.url = strings.Replace(old.url, "127.0.0.1", "me:secret@localhost", 1)
	s.resume()
	watch := startWatchJSON(t, s.run, "--nats", old.url)
	awaitObject(t, watch) // so that it has the run's record before that is removed
	s.coordinator.Kill()
	if s.coordinator.Lines("run moved") > 0 {
		t.Error("another address of the same server is taken for another server")
	}

	s.server = startServer(t)
	s.view = inspect(t, s.server.url)
	s.resume()
	release := brake(t, join(t, s.server.url), s.run)
	if from := s.coordinator.Await(`"from":"([^"]+)".*"run moved to another server"`); from != strings.Replace(old.url, "127.0.0.1", "localhost", 1) {
		t.Errorf("the run moved from %s, want %s without a password", from, old.url)
	}
	s.coordinator.Await(`(removed what the run had left)`) // when the record is stale
	watch.ExpectExit(1)
	if watch.Lines("has moved to another server: "+s.server.url) == 0 {
		t.Error("who watches the run on the old server is not told where it is")
	}
	for stream, subject := range map[string]string{
		"NQ_TASKS": "nq.task." + s.run, "NQ_RESULTS": "nq.result." + s.run, "KV_nq_runs": "$KV.nq_runs." + s.run,
	} {
		if n := view.messages(stream, subject); n != 0 {
			t.Errorf("%d messages of the run are left in %s", n, stream)
		}
	}
	if _, err := view.js.Consumer(t.Context(), "NQ_TASKS", s.run); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the run's consumer is left: %v", err)
	}
	release()
	startWorker(t, s.server.url, "--kernel", "auto")
	s.coordinator.ExpectTotal(known(15))
}
