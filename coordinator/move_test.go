//go:build unix

package main_test

import (
	"syscall"
	"testing"
)

// A run whose only server is lost for good is stopped at once, and completes with a fresh server
// from its ledger alone.
func TestLostServerIsReplacedByAFreshOne(t *testing.T) {
	long(t)
	s := startScene(t, "14", "--depth", "3")
	startGated(t, s.server.url, 1).during(func() { s.progress(20) })
	s.awaitAccepted(0)
	s.server.Kill()
	s.wipe()
	s.coordinator.Await(`(connection lost)`)
	s.coordinator.Signal(syscall.SIGINT)
	s.coordinator.ExpectExit(130)
	done := s.accepted()
	if done == 0 {
		t.Error("the ledger has no result")
	}

	s.server = startServer(t)
	s.resume()
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(14))
	if n := s.coordinator.Field("reconciled", "in_ledger"); n != int(done) {
		t.Errorf("the run continues with %d results of %d", n, done)
	}
}
