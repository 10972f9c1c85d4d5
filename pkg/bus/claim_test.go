package bus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A record with an epoch that no coordinator can have written is refused with the command that
// deletes it; then the run continues with the epoch of its ledger.
func TestForgedEpochIsRefused(t *testing.T) {
	t.Parallel()
	for _, forged := range []uint64{math.MaxUint64, 1 << 62, 1 << 20} {
		s := newScene(t)
		before := record("n8-a")
		before.Epoch = 4
		claim(t, s.bus, before)
		forgeEpoch(t, s, forged)
		mine := record("n8-a")
		mine.Epoch = 5
		if _, err := s.bus.Registry().Claim(t.Context(), mine); err == nil || !strings.Contains(err.Error(), "to delete it: nats kv del") {
			t.Errorf("after a record of epoch %d: %v", forged, err)
		}
		if err := s.bus.Registry().Delete(t.Context(), "n8-a"); err != nil {
			t.Fatal(err)
		}
		check(t, "epoch", claim(t, s.bus, mine).Epoch(), 6)
	}
}

// forgeEpoch changes the epoch of the record in the bucket.
func forgeEpoch(t *testing.T, s *scene, epoch uint64) {
	t.Helper()
	data := regexp.MustCompile(`"epoch":\d+`).ReplaceAll(s.entry(t), fmt.Appendf(nil, `"epoch":%d`, epoch))
	if _, err := s.bucket(t).Put(t.Context(), "n8-a", data); err != nil {
		t.Fatal(err)
	}
}

// The coordinator of a run restores a record that was deleted, alone or with its bucket.
func TestRenewRestoresADeletedRecord(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *scene) error{
		"deleted": func(t *testing.T, s *scene) error { return s.bucket(t).Delete(t.Context(), "n8-a") },
		"purged":  func(t *testing.T, s *scene) error { return s.bucket(t).Purge(t.Context(), "n8-a") },
		"without a marker": func(t *testing.T, s *scene) error {
			s.purge(t, "KV_"+bucket)
			return nil
		},
		"bucket deleted": func(t *testing.T, s *scene) error { return s.js.DeleteKeyValue(t.Context(), bucket) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			before := record("n8-a")
			before.Epoch = 4
			c := claim(t, s.bus, before)
			if err := remove(t, s); err != nil {
				t.Fatal(err)
			}
			_, err := s.other.Registry().Record(t.Context(), "n8-a")
			if !errors.Is(err, bus.ErrNoRecord) {
				t.Fatalf("error %v, want %v", err, bus.ErrNoRecord)
			}
			for done := range uint64(3) {
				if err := c.Renew(t.Context(), run.Running, done, 0); err != nil {
					t.Fatal(err)
				}
			}
			got := readRecord(t, s.other, time.Time{})
			check(t, "epoch", got.Epoch, 5)
			check(t, "done", got.Done, 2)
		})
	}
}

// The older claim is lost even if it restores the deleted record first.
func TestNewestClaimWinsOverARestoredRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := claim(t, s.bus, record("n8-a"))
	newer := record("n8-a")
	newer.Owner = "host-b"
	second := claim(t, s.other, newer)
	s.purge(t, "KV_"+bucket)
	for _, c := range []*bus.Claim{first, second, second} {
		if err := c.Renew(t.Context(), run.Running, 1, 0); err != nil {
			t.Errorf("epoch %d: %v", c.Epoch(), err)
		}
	}
	takenOver(t, first)
}

// A renewal whose answer was lost, or a change of the record by hand, leaves the claim valid.
func TestRenewSurvivesAnotherRevisionOfItsRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := claim(t, s.bus, record("n8-a"))
	if _, err := s.bucket(t).Put(t.Context(), "n8-a", s.entry(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Renew(t.Context(), run.Running, 3, 0); err != nil {
		t.Fatal(err)
	}
	check(t, "done", readRecord(t, s.other, time.Time{}).Done, 3)
}

// A record has the latest snapshot of its run, without the workers, and that of a complete run the total.
func TestRecordHasTheSnapshot(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := claim(t, s.bus, record("n8-a"))
	m := record("n8-a").Manifest
	running := run.Snapshot{
		Run: "n8-a", N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, Tasks: m.Tasks, State: run.Running, WorkDone: 0.1 + 0.2, Rate: 1e9 / 7,
		Solutions: new(run.Decimal), ETA: &run.ETA{Min: run.Seconds{Duration: time.Hour / 7}, Max: run.Seconds{Duration: time.Hour / 6}},
		Bottleneck: run.ByLedger, WorkerList: []run.Worker{{Name: "w", Threads: 1}},
	}
	complete := running.Idle(run.Complete)
	complete.SetTotal(big.NewInt(4), &run.Confirmation{Redundancy: 2, Tasks: m.Tasks, Checked: 1, Disputes: 1})
	for _, want := range []run.Snapshot{running, running.Idle(run.Stopped), complete} {
		c.SetSnapshot(&want)
		if err := c.Renew(t.Context(), want.State, 1, 0); err != nil {
			t.Fatal(err)
		}
		r := readRecord(t, s.other, time.Time{})
		want.WorkerList = nil
		if !reflect.DeepEqual(r.Snapshot, &want) || (r.Total() != nil) != (want.State == run.Complete) {
			t.Errorf("the record of a run that is %s has the total %v and %+v, want %+v", want.State, r.Total(), r.Snapshot, want)
		}
	}
}

// An unreachable server does not end a claim.
func TestClaimSurvivesAServerRestart(t *testing.T) {
	t.Parallel()
	server, restart := listeningServer(t)
	b := connectTo(t, server)
	c := claim(t, b, record("n8-a"))
	server.Stop()
	err := c.Renew(within(t, 300*time.Millisecond), run.Running, 1, 0)
	if err == nil || errors.Is(err, bus.ErrTakenOver) || errors.Is(err, bus.ErrCancelled) || !strings.Contains(err.Error(), bucket) {
		t.Errorf("without a server the error is %v", err)
	}
	restart()
	testkit.Eventually(t, "the claim is renewed", func() bool {
		return c.Renew(within(t, 5*time.Second), run.Running, 2, 0) == nil
	})
	check(t, "done", readRecord(t, b, time.Time{}).Done, 2)
}

func claim(t *testing.T, b *bus.Bus, r run.Record) *bus.Claim {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	c, err := b.Registry().Claim(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// takenOver checks that the claim is lost to host-b.
func takenOver(t *testing.T, c *bus.Claim) {
	t.Helper()
	err := c.Renew(t.Context(), run.Running, 99, 0)
	if !errors.Is(err, bus.ErrTakenOver) || !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), "host-b") {
		t.Errorf("error %v, want one that wraps %v and %v and names host-b", err, bus.ErrTakenOver, run.ErrIncomplete)
	}
}
