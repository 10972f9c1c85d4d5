package conformance

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func sealAgain(r run.ChunkResult) *run.ChunkResult { return identitytest.Seal(&r) }

// claimOf claims the first run for an owner whose ledger has an epoch.
func claimOf(t *testing.T, b Bus, owner string, epoch uint64) Claim {
	t.Helper()
	r := Record(run1)
	r.Owner, r.Epoch = owner, epoch
	c, err := b.Claim(t.Context(), r)
	must(t, err)
	return c
}

// lost checks that a claim can't be renewed any more.
func lost(t *testing.T, c Claim) {
	t.Helper()
	if err := c.Renew(t.Context(), run.Running, 99, 0); !errors.Is(err, run.ErrIncomplete) {
		t.Errorf("the renewal of epoch %d: error %v, want %v", c.Epoch(), err, run.ErrIncomplete)
	}
}

func readRecord(t *testing.T, b Bus) run.Record {
	t.Helper()
	r, err := b.Record(t.Context(), run1)
	must(t, err)
	return r
}

func claimsHaveGrowingEpochs(t *testing.T, s *conforming) {
	if _, err := s.bus.Record(t.Context(), run1); err == nil {
		t.Error("there is a record before the first claim")
	}
	for _, c := range []struct{ ledger, want uint64 }{{0, 1}, {0, 2}, {1, 3}, {7, 8}, {8, 9}} {
		check(t, "epoch", claimOf(t, s.bus, "host-a", c.ledger).Epoch(), c.want)
		got := readRecord(t, s.other)
		check(t, "epoch of the record", got.Epoch, c.want)
		check(t, "its state", got.State, run.Running)
		check(t, "its manifest", got.Manifest, Record(run1).Manifest)
	}
}

func newestClaimHolds(t *testing.T, s *conforming) {
	first := claimOf(t, s.bus, "host-a", 0)
	must(t, first.Renew(t.Context(), run.Running, 1, 0))
	check(t, "done", readRecord(t, s.other).Done, 1)
	second := claimOf(t, s.other, "host-b", 0)
	lost(t, first)
	lost(t, first)
	must(t, second.Renew(t.Context(), run.Stopped, 2, 0))
	got := readRecord(t, s.bus)
	check(t, "owner", got.Owner, "host-b")
	check(t, "done", got.Done, 2)
	check(t, "state", got.State, run.Stopped)
}

func oneClaimHolds(t *testing.T, s *conforming) {
	const many = 8
	claims := make(chan Claim, many)
	var all sync.WaitGroup
	for range many {
		b := s.Connect(t)
		all.Go(func() {
			c, err := b.Claim(t.Context(), Record(run1))
			if err != nil {
				t.Error(err)
				return
			}
			claims <- c
		})
	}
	all.Wait()
	close(claims)
	epochs := make(map[uint64]bool)
	for c := range claims {
		epochs[c.Epoch()] = true
		if err := c.Renew(t.Context(), run.Running, 0, 0); (err == nil) != (c.Epoch() == many) {
			t.Errorf("of %d claims, that of epoch %d renews with error %v", many, c.Epoch(), err)
		}
	}
	check(t, "epochs", len(epochs), many)
}

func deletedRecordIsRestored(t *testing.T, s *conforming) {
	c := claimOf(t, s.bus, "host-a", 4)
	s.DeleteRecord(t, run1)
	if _, err := s.other.Record(t.Context(), run1); err == nil {
		t.Error("a deleted record is there")
	}
	for done := range uint64(3) {
		must(t, c.Renew(t.Context(), run.Running, done, 7+done))
	}
	got := readRecord(t, s.other)
	check(t, "epoch", got.Epoch, 5)
	check(t, "done", got.Done, 2)
	check(t, "lost", got.Lost, 9)
}

// If a record was deleted, two claims may have the same epoch.
func newestClaimOfOneEpochHolds(t *testing.T, s *conforming) {
	first := claimOf(t, s.bus, "host-a", 0)
	s.DeleteRecord(t, run1)
	second := claimOf(t, s.other, "host-b", 0)
	check(t, "epoch of the newer claim", second.Epoch(), first.Epoch())
	lost(t, first)
	must(t, second.Renew(t.Context(), run.Running, 2, 0))
}

func cancelledRunsEnd(t *testing.T, s *conforming) {
	c := claimOf(t, s.bus, "host-a", 0)
	publish(t, s.bus, run1, 1)
	must(t, s.other.Cancel(t.Context(), run1))
	_, err := s.other.Claim(t.Context(), Record(run1))
	for who, err := range map[string]error{
		"the coordinator": c.Renew(t.Context(), run.Running, 1, 0), "the coordinator, later": c.Renew(t.Context(), run.Running, 1, 0), "another": err,
	} {
		if !errors.Is(err, run.ErrCancelled) || errors.Is(err, run.ErrIncomplete) {
			t.Errorf("%s: error %v, want %v", who, err, run.ErrCancelled)
		}
	}
	check(t, "state", readRecord(t, s.other).State, run.Cancelled)
	quiet(t, s.other, settled)
}

// heard subscribes until the test ends, and returns what comes.
func heard[T any](t *testing.T, subscribe func(func(T)) (func(), error)) (messages <-chan T, unsubscribe func()) {
	t.Helper()
	all := make(chan T, 1000)
	unsubscribe, err := subscribe(func(m T) { all <- m })
	must(t, err)
	t.Cleanup(unsubscribe)
	return all, unsubscribe
}

func heartbeatsCome(t *testing.T, s *conforming) {
	one, unsubscribe := heard(t, s.bus.Telemetry.SubscribeHeartbeats)
	two, _ := heard(t, s.other.Telemetry.SubscribeHeartbeats)
	var last time.Time
	for _, want := range []run.Heartbeat{
		{Worker: "laptop-3f9a21", Version: "1.0", Kernel: "generic", Threads: 2},
		{Worker: "laptop-3f9a21", Version: "1.0", Kernel: "generic", Threads: 2, Leaving: true},
		{Worker: "busy", Threads: 2, Busy: 1, Held: []run.HeldChunk{{Run: run1, Chunk: 7, Searching: true, Elapsed: time.Second}, {Run: run2, Chunk: 8}}},
		{Worker: "paused", Threads: 2, Paused: "on battery"},
		{Worker: "admitted", Threads: 1, Admission: []byte{1, 2}},
	} {
		must(t, s.bus.Telemetry.PublishHeartbeat(want, identitytest.Of("w")))
		want.Key = identitytest.Of("w").Key()
		for _, all := range []<-chan run.Heartbeat{one, two} {
			got := receive(t, all, "a heartbeat")
			if all == one && !got.Sent.After(last) {
				t.Errorf("a heartbeat was sent at %v, the one before at %v", got.Sent, last)
			}
			last, got.Sent = got.Sent, time.Time{}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v arrives as %+v", want, got)
			}
		}
	}
	unsubscribe()
	must(t, s.bus.Telemetry.PublishHeartbeat(run.Heartbeat{Worker: "w", Threads: 1}, identitytest.Of("w")))
	receive(t, two, "the last heartbeat")
	check(t, "heartbeats after unsubscribe", len(one), 0)
}

func announcementsCome(t *testing.T, s *conforming) {
	all, _ := heard(t, s.other.Telemetry.SubscribeAnnouncements)
	for _, want := range []run.Announcement{
		{Run: run1, Epoch: 1, State: run.Running, Waiting: 7, Weight: 1, Threads: 1000},
		{Run: run2, Epoch: 3, State: run.Running, Weight: 4, Obsolete: []uint64{1, 1 << 63}},
		{Run: run1, Epoch: 1, State: run.Running, Quarantined: []string{identitytest.Of("a").Key()}, Unadmitted: []string{identitytest.Of("b").Key()}},
		{Run: run1, Epoch: 1, State: run.Stopped},
	} {
		must(t, s.bus.Telemetry.PublishAnnouncement(want))
		if got := receive(t, all, "an announcement"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v arrives as %+v", want, got)
		}
	}
	must(t, s.bus.Telemetry.PublishAnnouncement(run.Announcement{Run: run1, Epoch: 1, State: "lost"}))
	want := run.Announcement{Run: run1, Epoch: 2, State: run.Running}
	testkit.Eventually(t, "an announcement comes", func() bool {
		must(t, s.bus.Telemetry.PublishAnnouncement(want))
		return len(all) > 0
	})
	check(t, "the announcement after one that is not valid", receive(t, all, "an announcement"), want)
}
