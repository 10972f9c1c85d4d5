package bus_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// forbidden are subjects to which neither a worker nor a watcher may publish, or have anything
// published.
var forbidden = []string{
	"nq.task.n8-a", "nq.progress.n8-a", "nq.live.n8-a", "$KV.nq_runs.n8-a", "$KV.nq_runs.other",
	"$JS.API.STREAM.PURGE.NQ_TASKS", "$JS.API.STREAM.DELETE.NQ_TASKS", "$JS.API.STREAM.DELETE.NQ_RESULTS",
	"$JS.API.STREAM.UPDATE.NQ_TASKS", "$JS.API.STREAM.CREATE.OTHER", "$JS.API.STREAM.MSG.DELETE.NQ_TASKS",
	"$JS.API.CONSUMER.CREATE.NQ_TASKS", "$JS.API.CONSUMER.CREATE.KV_nq_runs.x", "$JS.API.CONSUMER.DELETE.NQ_TASKS.n8-a",
	"$JS.API.CONSUMER.DURABLE.CREATE.NQ_RESULTS.x", "$JS.API.STREAM.INFO.NQ_TASKS", "$JS.API.STREAM.LIST",
	"$JS.API.STREAM.SNAPSHOT.NQ_RESULTS", "$SYS.REQ.SERVER.PING", "_R_.guess",
}

// With a client of their own, users can try everything, also by the reply subjects of what they may
// do, and of what the server answers.
func TestNoRoleDoesMore(t *testing.T) {
	t.Parallel()
	g := guard(t)
	coordinator, _ := g.coordinate(t)
	publish(t, coordinator, chunk("n8-a", 1))
	spy := g.raw(t, bus.Coordinator)
	heard := make(chan *nats.Msg, 100)
	for _, subject := range []string{"nq.task.>", "nq.progress.>", "nq.live.>", "$KV.>"} {
		if _, err := spy.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	services := map[bus.Role][]string{
		bus.Worker: {"$JS.API.CONSUMER.MSG.NEXT.NQ_TASKS.n8-a", "$JS.ACK.NQ_TASKS.n8-a.9.9.9.1.1", "nq.hb.w"},
		bus.Watcher: {
			"$JS.API.STREAM.INFO.KV_nq_runs", "$JS.API.DIRECT.GET.KV_nq_runs.$KV.nq_runs.n8-a",
			"$JS.API.DIRECT.GET.KV_nq_runs.$KV.nq_runs.none", "$JS.API.DIRECT.GET.KV_nq_runs",
		},
	}
	for role, allowed := range services {
		user := g.raw(t, role)
		for _, subject := range forbidden {
			if err := user.Publish(subject, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, string(role)+": "+subject+" is denied", func() bool { return user.isDenied(subject) })
			for _, service := range allowed {
				if err := user.PublishRequest(service, subject, []byte(`{"batch": 1, "no_wait": true}`)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, subject := range []string{
			">", "_INBOX.>", "_INBOX_" + g.keys[bus.Coordinator].Key() + ".>", "_INBOX_join.>", "nq.task.>", "nq.result.>", "nq.hb.>",
			"$JS.>", "$KV.>", "_R_.>", "_INBOX_*.>",
		} {
			if _, err := user.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, string(role)+" may not receive "+subject, func() bool { return user.isDenied(subject) })
		}
		if err := user.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	// All that came before has been handled when the server answers the coordinator.
	checkStreams(t, g, 0)
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	for len(heard) > 0 {
		m := <-heard
		t.Errorf("the message %q came on %s", m.Data, m.Subject)
	}
}

// The server stores a result and answers. The answer goes nowhere but to its sender's account, and no
// header of a result removes others.
func TestAResultDoesNoMore(t *testing.T) {
	t.Parallel()
	g := guard(t)
	coordinator, _ := g.coordinate(t)
	publish(t, coordinator, chunk("n8-a", 1))
	user := g.raw(t, bus.Worker)
	reported := uint64(0)
	for _, subject := range forbidden {
		if err := user.PublishRequest("nq.result.n8-a", subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(subject, "_R_.") { // the server drops what asks for an answer there
			reported++
		}
	}
	for _, header := range []nats.Header{
		{"Nats-Rollup": {"all"}}, {"Nats-Rollup": {"sub"}}, {"Nats-TTL": {"1s"}}, {"Nats-Schedule-Target": {"nq.task.n8-a"}, "Nats-Schedule": {"@every 1s"}},
	} {
		if m, err := user.RequestMsg(&nats.Msg{Subject: "nq.result.n8-a", Header: header}, testkit.Stall); err != nil || !strings.Contains(string(m.Data), `"error"`) {
			t.Errorf("a result with the header %v: %+v, error %v", header, m, err)
		}
	}
	checkStreams(t, g, reported)
}

// A worker can have answers sent to where workers receive announcements. They are no announcements.
func TestAnswersAreNoAnnouncements(t *testing.T) {
	t.Parallel()
	g := guard(t)
	coordinator, _ := g.coordinate(t)
	publish(t, coordinator, chunk("n8-a", 1))
	victim := g.join(t)
	announcements := make(chan run.Announcement, 9)
	subscribeTo(t, victim, victim.Telemetry().SubscribeAnnouncements, announcements)
	liar := g.raw(t, bus.Worker)
	for i, service := range []string{"$JS.API.CONSUMER.MSG.NEXT.NQ_TASKS.n8-a", "nq.result.n8-a"} {
		if err := liar.PublishRequest(service, "nq.live.n8-a", []byte(`{"batch": 1, "no_wait": true}`)); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the answer of "+service+" is rejected", func() bool { return victim.Rejected() > uint64(i) })
	}
	check(t, "announcements", len(announcements), 0)
}
