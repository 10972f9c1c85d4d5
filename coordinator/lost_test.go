//go:build unix

package main_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/testkit"
)

// After the ledger's machine is lost, another machine rebuilds the ledger from the results on
// the server: no counted task is counted again.
func TestLedgerIsRebuiltOnAnotherMachine(t *testing.T) {
	long(t)
	const tasks = 882
	s := startScene(t, "15", "--depth", "3")
	brake(t, join(t, s.server.url), s.run) // it can't end
	worker := startWorker(t, s.server.url)
	s.progress(100)
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0) // so that nothing more comes
	s.coordinator.Kill()
	done := s.done()
	if err := os.RemoveAll(s.coordinator.Flag("--data")); err != nil {
		t.Fatal(err)
	}
	// Without the run's name there is nothing to find it by.
	start(t, "coordinator", "resume", "--data", s.coordinator.Flag("--data"), "--nats", s.server.url).ExpectExit(1)

	results, err := s.view.conn.SubscribeSync("nq.result." + s.run)
	if err != nil {
		t.Fatal(err)
	}
	s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", s.coordinator.Flag("--data"), "--nats", s.server.url)
	s.coordinator.Await(counting)
	startWorker(t, s.server.url, "--kernel", "auto")
	s.coordinator.ExpectTotal(known(15))
	if n := s.coordinator.Field("reconciled", "accepted_from_server"); n != done {
		t.Errorf("%d results of the server were taken, it had %d", n, done)
	}
	again, stored := 0, make(map[string]bool)
	for _, m := range received(t, s.view, results) {
		// A result that the server is slow to confirm is sent again, and stored once.
		if id := m.Header.Get(nats.MsgIdHdr); !stored[id] {
			stored[id] = true
			again += tasksIn(m.Data)
		}
	}
	if again != tasks-done {
		t.Errorf("%d tasks were counted after the loss, want %d", again, tasks-done)
	}
}

// Streams, the run's consumer and the bucket of runs are created again after somebody
// deletes them in the middle of a run, and the log says so.
func TestTotalIsExactAfterADeletion(t *testing.T) {
	long(t)
	for _, c := range testkit.Sample(t, 2, []struct {
		deleted, logged string
		remove          func(s *scene) error
	}{
		{"stream of tasks", "stream NQ_TASKS", func(s *scene) error { return s.view.js.DeleteStream(s.t.Context(), "NQ_TASKS") }},
		{"stream of results", "stream NQ_RESULTS", func(s *scene) error { return s.view.js.DeleteStream(s.t.Context(), "NQ_RESULTS") }},
		{"consumer", "consumer n14.* of stream NQ_TASKS", func(s *scene) error { return s.view.js.DeleteConsumer(s.t.Context(), "NQ_TASKS", s.run) }},
		{"bucket", "record of run n14.*", func(s *scene) error { return s.view.js.DeleteKeyValue(s.t.Context(), "nq_runs") }},
	}) {
		t.Run(c.deleted, func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "14", "--depth", "3")
			release := brake(t, join(t, s.server.url), s.run)
			worker := startWorker(t, s.server.url)
			s.progress(20)
			worker.Signal(syscall.SIGSTOP) // the brake may be among what is deleted
			if err := c.remove(s); err != nil {
				t.Fatal(err)
			}
			s.view.eventually("all is there again", func() bool {
				waiting, _ := s.view.tasks()
				return waiting >= 0 && s.done() >= 0 && s.view.messages("KV_nq_runs", "$KV.nq_runs."+s.run) == 1
			})
			release()
			worker.Signal(syscall.SIGCONT)
			s.coordinator.ExpectTotal(known(14))
			if n := s.coordinator.Lines(`"level":"warn","what":"` + c.logged + `",.*"made again what was gone from the server`); n != 1 {
				t.Errorf("the log says %d times that the %s was made again", n, c.deleted)
			}
		})
	}
}

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
