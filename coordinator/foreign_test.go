//go:build unix

package main_test

import (
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/testkit"

	"github.com/nats-io/nats.go"
)

// Messages that are duplicated, reordered, of another run, or garbage change nothing.
func TestForeignMessagesChangeNothing(t *testing.T) {
	long(t)
	const tasks, braked, garbage = 55, 1, 10
	s := &scene{t: t, server: startServer(t)}
	s.view = inspect(t, s.server.url)
	heard := listen(t, s.view)
	worker := startWorker(t, s.server.url)
	s.count("12", "--depth", "2")
	s.coordinator.ExpectTotal(known(12))
	stale, staleRun := heard(), s.run

	// The same count again: its tasks have the same ids and hashes.
	worker.Signal(syscall.SIGSTOP)
	s.count("12", "--depth", "2")
	release := brake(t, join(t, s.server.url), s.run)
	worker.Signal(syscall.SIGCONT)
	s.view.eventually("all other tasks are done", func() bool { return s.done() == tasks-braked })
	var repeat []*nats.Msg
	for _, m := range heard() {
		if strings.HasPrefix(m.Subject, "nq.result.") {
			repeat = append(repeat, m)
		}
	}
	shuffle(testkit.Rand(t), repeat)
	publish := func(subject string, data []byte) {
		t.Helper()
		if _, err := s.view.js.Publish(t.Context(), subject, data); err != nil {
			t.Fatal(err)
		}
	}
	repeated := 0 // tasks
	for _, m := range append(repeat, repeat...) {
		repeated += tasksIn(m.Data)
		publish(m.Subject, m.Data)
	}
	staleResults := 0
	for _, m := range stale {
		if strings.HasPrefix(m.Subject, "nq.result.") {
			staleResults++
		}
		publish(m.Subject, m.Data)                                      // as it was
		publish(strings.Replace(m.Subject, staleRun, s.run, 1), m.Data) // as if of this run
	}
	for range garbage {
		for _, subject := range []string{"nq.task.", "nq.result."} {
			publish(subject+s.run, []byte("garbage"))
		}
		if err := s.view.conn.Publish("nq.hb.x", []byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
	worker.Await(`(rejected a message)`)
	release()
	s.coordinator.ExpectTotal(known(12))
	if n := s.coordinator.Field("run ended", "duplicates"); n < repeated {
		t.Errorf("%d duplicates, want %d", n, repeated)
	}
	if n := s.coordinator.Field("run ended", "refused"); staleResults == 0 || n < staleResults+garbage {
		t.Errorf("%d messages were refused, want %d at least", n, staleResults+garbage)
	}
	if n := s.coordinator.Field("run ended", "disputes"); n != 0 {
		t.Errorf("%d disputes", n)
	}
}

// listen returns a function that returns the tasks and results published since its last
// call.
func listen(t *testing.T, v view) (heard func() []*nats.Msg) {
	t.Helper()
	subscription, err := v.conn.SubscribeSync("nq.>")
	if err != nil {
		t.Fatal(err)
	}
	return func() (list []*nats.Msg) {
		t.Helper()
		for _, m := range received(t, v, subscription) {
			if strings.HasPrefix(m.Subject, "nq.task.") || strings.HasPrefix(m.Subject, "nq.result.") {
				list = append(list, m)
			}
		}
		return list
	}
}

// received returns the messages of a subscription since the last call.
func received(t *testing.T, v view, subscription *nats.Subscription) (list []*nats.Msg) {
	t.Helper()
	if err := v.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	pending, _, err := subscription.Pending()
	for range pending {
		var m *nats.Msg
		if m, err = subscription.NextMsg(testkit.Stall); err != nil {
			break
		}
		list = append(list, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}
