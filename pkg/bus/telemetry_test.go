package bus_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestUnreadableHeartbeatsAreCounted(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server, logTo(&log)), bustest.Connect(t, server)
	heard := listen(t, receiver)
	heard.expect(t, from, run.Heartbeat{Worker: "first", Threads: 1})
	conn, _ := bustest.Admin(t, server)
	for range 3 {
		if err := conn.Publish("nq.hb.garbage", []byte{0xff, 0xfe, 0xfd}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the garbage is counted", func() bool { return receiver.Rejected() == 3 })
	heard.expect(t, from, run.Heartbeat{Worker: "last", Threads: 1})
	check(t, "rejected messages", receiver.Rejected(), 3)
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "nq.hb.garbage") || !strings.Contains(lines[0], "fffefd") {
		t.Errorf("the log has %q, want one line with the subject and the bytes", lines)
	}
}

// Nothing comes after unsubscribe, and the server forgets the subscription.
func TestUnsubscribeEndsASubscription(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listen(t, receiver)
	heard.expect(t, from, run.Heartbeat{Worker: "w", Threads: 1})
	heard.unsubscribe()
	conn, _ := bustest.Admin(t, server)
	testkit.Eventually(t, "there is no subscription", func() bool {
		_, err := conn.Request("nq.hb.w", nil, time.Second)
		return err != nil && strings.Contains(err.Error(), "no responders")
	})
	check(t, "further heartbeats", len(heard.heard), 0)
}

// Hostile announcements are refused and counted, and the next one arrives.
func TestHostileAnnouncementsAreCounted(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listenAnnouncements(t, receiver)
	conn, _ := bustest.Admin(t, server)
	text := func(protocol int) []byte {
		return fmt.Appendf(nil, `{"protocol":%d,"run":"n8-a","epoch":1,"state":"running"}`, protocol)
	}
	for subject, data := range map[string][]byte{
		"nq.live.n8-b": text(bus.Protocol), // of another run
		"nq.live.n8-a": {0xff, 0xfe},
		"nq.live.*x":   text(bus.Protocol),
		"nq.live.n8":   text(bus.Protocol + 1),
	} {
		if err := conn.Publish(subject, data); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "they are counted", func() bool { return receiver.Rejected() == 4 })
	want := run.Announcement{Run: "n8-a", Epoch: 1, State: run.Running}
	if err := from.Telemetry().PublishAnnouncement(want); err != nil {
		t.Fatal(err)
	}
	check(t, "the announcement that comes", receive(t, heard, "an announcement"), want)
	if err := from.Telemetry().PublishAnnouncement(run.Announcement{Run: "n8-a", Obsolete: make([]uint64, 1)}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "an invalid one is counted", func() bool { return receiver.Rejected() == 5 })
}

// A subscription that is made without a server begins when the server is there.
func TestSubscriptionsBeginWithTheConnection(t *testing.T) {
	t.Parallel()
	address := testkit.Address(t)
	early, err := bus.Connect(bus.Config{URL: "nats://" + address, Wait: true, Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(early.Close)
	heard := listenAnnouncements(t, early)
	from := bustest.Connect(t, bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: address, Log: zerolog.Nop()}))
	testkit.Eventually(t, "an announcement arrives", func() bool {
		if err := from.Telemetry().PublishAnnouncement(run.Announcement{Run: "n8-a", Epoch: 1, State: run.Running}); err != nil {
			t.Fatal(err)
		}
		return len(heard) > 0
	})
}

func listenAnnouncements(t *testing.T, b *bus.Bus) <-chan run.Announcement {
	t.Helper()
	heard := make(chan run.Announcement, 10_000)
	subscribeTo(t, b, b.Telemetry().SubscribeAnnouncements, heard)
	return heard
}

// listener receives heartbeats until the test ends.
type listener struct {
	heard       chan run.Heartbeat
	last        time.Time // when the last one was sent
	unsubscribe func()
}

func listen(t *testing.T, b *bus.Bus) *listener {
	t.Helper()
	l := &listener{heard: make(chan run.Heartbeat, 10_000)}
	l.unsubscribe = subscribeTo(t, b, b.Telemetry().SubscribeHeartbeats, l.heard)
	return l
}

// expect sends the heartbeat and checks that it arrives.
func (l *listener) expect(t *testing.T, from *bus.Bus, sent run.Heartbeat) {
	t.Helper()
	want := sent
	want.Key = identitytest.Of("w").Key()
	if err := from.Telemetry().PublishHeartbeat(sent, identitytest.Of("w")); err != nil {
		t.Fatalf("heartbeat of worker %.40q: %v", want.Worker, err)
	}
	got := receive(t, l.heard, "a heartbeat")
	if !got.Sent.After(l.last) {
		t.Errorf("it was sent at %v, the one before at %v", got.Sent, l.last)
	}
	l.last, got.Sent = got.Sent, time.Time{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v arrives as %+v", want, got)
	}
}

// A process that can't check all heartbeats says so, and tells its roster.
func TestDroppedHeartbeatsAreNoted(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	dropped, stuck := make(chan bool, 1<<16), make(chan bool)
	s.bus.Telemetry().OnDropped(func() {
		select {
		case dropped <- true:
		default:
		}
	})
	unsubscribe, err := s.bus.Telemetry().SubscribeHeartbeats(func(run.Heartbeat) { <-stuck })
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	defer close(stuck)
	if err := s.other.Telemetry().PublishHeartbeat(run.Heartbeat{Worker: "w", Kernel: "generic", Threads: 1}, identitytest.Of("w")); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		publishRaw(t, s, "nq.hb.x", []byte("x"))
	}
	receive(t, dropped, "that heartbeats were dropped")
	testkit.Eventually(t, "the log says so", func() bool { return len(log.Lines("floods the server")) == 1 })
}

func publishRaw(t *testing.T, s *scene, subject string, data []byte) {
	t.Helper()
	if err := s.conn.Publish(subject, data); err != nil {
		t.Fatal(err)
	}
}
