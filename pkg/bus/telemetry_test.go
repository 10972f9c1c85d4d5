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

// No streams are needed: a heartbeat goes to who listens.
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

// A worker may be called anything: its heartbeats arrive under its name, made printable,
// and neither its connection nor its listeners' suffers.
func TestHostileWorkerNamesBreakNothing(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	listener, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listen(t, listener)
	for _, name := range []string{
		"host.example.org", "a b", "*", ">", "a.>", "..", "tab\tname", "line\r\nPUB nq.hb.x 1\r\nx\r\n", "\x00", "女王",
		strings.Repeat("x", 128),
	} {
		heard.await(t, from, run.Heartbeat{Worker: name, Threads: 1})
	}
	for _, name := range []string{"", strings.Repeat("x", 129), strings.Repeat("x", 1<<16), strings.Repeat("女", 1<<16)} {
		_ = from.Telemetry().PublishHeartbeat(run.Heartbeat{Worker: name, Threads: 1}) // an error is as well
	}
	// Sent on the same connection, so behind them.
	heard.await(t, from, run.Heartbeat{Worker: "after them", Threads: 1})
	if err := from.WaitClosed(within(t, 10*time.Millisecond)); err != nil {
		t.Error(err)
	}
}

func TestHeartbeatsRefusesWhatItCantRead(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	server := bustest.Server(t)
	listener, from := bustest.Connect(t, server, logTo(&log)), bustest.Connect(t, server)
	heard := listen(t, listener)
	heard.await(t, from, run.Heartbeat{Worker: "first", Threads: 1})
	conn, _ := bustest.Admin(t, server)
	for range 3 {
		if err := conn.Publish("nq.hb.garbage", []byte{0xff, 0xfe, 0xfd}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the garbage is counted", func() bool { return listener.Rejected() == 3 })
	heard.await(t, from, run.Heartbeat{Worker: "last", Threads: 1})
	check(t, "messages refused", listener.Rejected(), 3)
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "nq.hb.garbage") || !strings.Contains(lines[0], "fffefd") {
		t.Errorf("the log has %q, want one line with the subject and what came", lines)
	}
}

func TestHeartbeatsEndsAndLeavesNoSubscription(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	listener, from := bustest.Connect(t, server), bustest.Connect(t, server)
	heard := listen(t, listener)
	heard.await(t, from, run.Heartbeat{Worker: "w", Threads: 1})
	heard.end(t)
	conn, _ := bustest.Admin(t, server)
	testkit.Eventually(t, "nobody listens any more", func() bool {
		_, err := conn.Request("nq.hb.w", nil, time.Second)
		return err != nil && strings.Contains(err.Error(), "no responders")
	})
}

// ears hear heartbeats until the test ends.
type ears struct {
	heard chan run.Heartbeat
	stop  context.CancelFunc
	ended chan error
}

func listen(t *testing.T, b *bus.Bus) *ears {
	ctx, stop := context.WithCancel(t.Context())
	e := &ears{heard: make(chan run.Heartbeat, 10_000), stop: stop, ended: make(chan error, 1)}
	go func() {
		e.ended <- b.Telemetry().WatchHeartbeats(ctx, func(h run.Heartbeat) { e.heard <- h })
		close(e.ended)
	}()
	t.Cleanup(func() { e.end(t) })
	return e
}

// await sends the heartbeat until it is heard, with its name made printable: the first may
// come before there is anyone to hear it, and those lost are nobody's loss.
func (e *ears) await(t *testing.T, from *bus.Bus, sent run.Heartbeat) {
	t.Helper()
	want := sent
	want.Worker = queens.Sanitize(sent.Worker)
	for deadline := time.After(5 * time.Second); ; {
		if err := from.Telemetry().PublishHeartbeat(sent); err != nil {
			t.Fatalf("heartbeat of worker %.40q: %v", want.Worker, err)
		}
		again := time.After(50 * time.Millisecond)
		for waiting := true; waiting; {
			select {
			case got := <-e.heard:
				if reflect.DeepEqual(got, want) {
					return
				}
			case <-again:
				waiting = false
			case <-deadline:
				t.Fatalf("the heartbeat of worker %.40q is not heard within 5 s", want.Worker)
			}
		}
	}
}

func (e *ears) end(t *testing.T) {
	t.Helper()
	e.stop()
	if err := receive(t, e.ended, 2*time.Second, "Heartbeats returns, having been told to"); err != nil {
		t.Errorf("Heartbeats ends with the error %v", err)
	}
}
