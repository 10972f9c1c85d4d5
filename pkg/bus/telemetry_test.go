package bus_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Heartbeats need no streams.
func TestHeartbeatsAreDelivered(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	heard := listen(t, bustest.Connect(t, server))
	from := bustest.Connect(t, server)
	for _, want := range []run.Heartbeat{
		{Worker: "laptop-3f9a21", Version: "1.0", Kernel: "generic", Threads: 2},
		{Worker: "laptop-3f9a21", Version: "1.0", Kernel: "generic", Threads: 2, Leaving: true},
		{Worker: "other", Threads: 1 << 16},
		{Worker: "busy", Threads: 2, Held: []run.ActiveTask{{Run: "n8-a", Task: 7, Elapsed: time.Second}, {Run: "n9-b", Task: 0}}},
	} {
		heard.await(t, from, want)
	}
}

// A worker may have any name: its heartbeats arrive with the name made printable, and all
// connections survive.
func TestHostileWorkerNamesAreHarmless(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listen(t, receiver)
	for _, name := range []string{
		"host.example.org", "a b", "*", ">", "a.>", "..", "tab\tname", "line\r\nPUB nq.hb.x 1\r\nx\r\n", "\x00", "女王",
		strings.Repeat("x", 128),
	} {
		heard.await(t, from, run.Heartbeat{Worker: name, Threads: 1})
	}
	for _, name := range []string{"", strings.Repeat("x", 129), strings.Repeat("x", 1<<16), strings.Repeat("女", 1<<16)} {
		_ = from.Telemetry().PublishHeartbeat(run.Heartbeat{Worker: name, Threads: 1}) // may fail
	}
	// Sent on the same connection, so after them.
	heard.await(t, from, run.Heartbeat{Worker: "after them", Threads: 1})
	if err := from.WaitClosed(within(t, 10*time.Millisecond)); err != nil {
		t.Error(err)
	}
}

func TestUnreadableHeartbeatsAreCounted(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server, logTo(&log)), bustest.Connect(t, server)
	heard := listen(t, receiver)
	heard.await(t, from, run.Heartbeat{Worker: "first", Threads: 1})
	conn, _ := bustest.Admin(t, server)
	for range 3 {
		if err := conn.Publish("nq.hb.garbage", []byte{0xff, 0xfe, 0xfd}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the garbage is counted", func() bool { return receiver.Rejected() == 3 })
	heard.await(t, from, run.Heartbeat{Worker: "last", Threads: 1})
	check(t, "rejected messages", receiver.Rejected(), 3)
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "nq.hb.garbage") || !strings.Contains(lines[0], "fffefd") {
		t.Errorf("the log has %q, want one line with the subject and the bytes", lines)
	}
}

func TestWatchHeartbeatsUnsubscribes(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	receiver, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listen(t, receiver)
	heard.await(t, from, run.Heartbeat{Worker: "w", Threads: 1})
	heard.end(t)
	conn, _ := bustest.Admin(t, server)
	testkit.Eventually(t, "there is no subscription", func() bool {
		_, err := conn.Request("nq.hb.w", nil, time.Second)
		return err != nil && strings.Contains(err.Error(), "no responders")
	})
}

// listener receives heartbeats until the test ends.
type listener struct {
	heard chan run.Heartbeat
	stop  context.CancelFunc
	ended chan error
}

func listen(t *testing.T, b *bus.Bus) *listener {
	ctx, stop := context.WithCancel(t.Context())
	l := &listener{heard: make(chan run.Heartbeat, 10_000), stop: stop, ended: make(chan error, 1)}
	go func() {
		l.ended <- b.Telemetry().WatchHeartbeats(ctx, func(h run.Heartbeat) { l.heard <- h })
		close(l.ended)
	}()
	t.Cleanup(func() { l.end(t) })
	return l
}

// await sends the heartbeat until it arrives, with its name made printable. The first may
// be sent before the subscription exists.
func (l *listener) await(t *testing.T, from *bus.Bus, sent run.Heartbeat) {
	t.Helper()
	want := sent
	want.Worker = queens.Sanitize(sent.Worker)
	for deadline := time.After(testkit.Stall); ; {
		if err := from.Telemetry().PublishHeartbeat(sent); err != nil {
			t.Fatalf("heartbeat of worker %.40q: %v", want.Worker, err)
		}
		again := time.After(50 * time.Millisecond)
		for waiting := true; waiting; {
			select {
			case got := <-l.heard:
				if reflect.DeepEqual(got, want) {
					return
				}
			case <-again:
				waiting = false
			case <-deadline:
				t.Fatalf("the heartbeat of worker %.40q does not arrive within %v", want.Worker, testkit.Stall)
			}
		}
	}
}

func (l *listener) end(t *testing.T) {
	t.Helper()
	l.stop()
	if err := receive(t, l.ended, "WatchHeartbeats returns"); err != nil {
		t.Errorf("WatchHeartbeats ends with the error %v", err)
	}
}
