package bus_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

const bucket = "nq_runs"

// Other processes read a record as it was claimed and renewed.
func TestRecordsShowClaimsAndRenewals(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	start := time.Now()
	want := record("n8-a")
	c := claim(t, s.bus, want)
	want.State, want.Epoch = run.Running, 1
	got := readRecord(t, s.other, start)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record is\n%+v\nwant\n%+v", got, want)
	}
	if err := c.Renew(t.Context(), run.Stopped, 3, 0); err != nil {
		t.Fatal(err)
	}
	want.State, want.Done = run.Stopped, 3
	if got := readRecord(t, s.other, start); !reflect.DeepEqual(got, want) {
		t.Errorf("the record is\n%+v\nwant\n%+v", got, want)
	}
}

// People can read a record with the tools of NATS: it is JSON, and has one revision.
func TestRecordsAreJSON(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := claim(t, s.bus, record("n8-a"))
	if err := c.Renew(t.Context(), run.Running, 3, 0); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(s.entry(t), &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"protocol": float64(bus.Protocol), "run": "n8-a", "state": "running", "epoch": 1.0, "owner": "host-a", "done": 3.0, "created": "2026-11-20T15:30:12Z",
	} {
		check(t, name, fields[name], want)
	}
	manifest, _ := fields["manifest"].(map[string]any)
	check(t, "manifest: tasks", manifest["tasks"], any(4.0))
	check(t, "revisions stored", s.stream(t, "KV_"+bucket).State.Msgs, 1)
}

// Owners are made printable and are shortened: a machine may have any name.
func TestOwnersArePrintable(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := record("n8-a")
	r.Owner = "a\x1b[2J" + strings.Repeat("x", 200)
	claim(t, s.bus, r)
	check(t, "owner", readRecord(t, s.other, time.Time{}).Owner, "a?[2J"+strings.Repeat("x", 123))
}

// After a cancellation no coordinator has the run, and its chunks, their consumer and its
// results are removed.
// Other runs keep theirs.
func TestCancelEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := claim(t, s.bus, record("n8-a"))
	other := claim(t, s.bus, record("n8-b"))
	for _, run := range []string{"n8-a", "n8-b"} {
		publish(t, s.bus, chunk(run, 1))
		publishResult(t, s.bus, result(run, 1))
	}
	renewed := make(chan error, 1)
	go func() { // as a coordinator does, while another cancels
		for {
			if err := c.Renew(t.Context(), run.Running, 1, 0); err != nil {
				renewed <- err
				return
			}
		}
	}()
	if err := s.other.Registry().Cancel(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	err := receive(t, renewed, "the coordinator notices")
	cancelled := func(who string, err error) {
		if !errors.Is(err, bus.ErrCancelled) || errors.Is(err, run.ErrIncomplete) {
			t.Errorf("%s: error %v, want %v", who, err, bus.ErrCancelled)
		}
		says(t, who, err, "n8-a", " UTC")
	}
	cancelled("its coordinator", err)
	cancelled("its coordinator, once more", c.Renew(t.Context(), run.Running, 1, 0))
	_, err = s.other.Registry().Claim(t.Context(), record("n8-a"))
	cancelled("another", err)
	check(t, "state", readRecord(t, s.other, time.Time{}).State, run.Cancelled)
	for run, left := range map[string]uint64{"n8-a": 0, "n8-b": 1} {
		check(t, "chunks of "+run, s.stored(t, tasks, "nq.task."+run), left)
		check(t, "results of "+run, s.stored(t, results, "nq.result."+run), left)
	}
	s.noConsumer(t, "n8-a")
	s.consumer(t, "n8-b")
	if err := other.Renew(t.Context(), run.Running, 1, 0); err != nil {
		t.Errorf("the other run: %v", err)
	}
	if err := s.other.Registry().Delete(t.Context(), "n8-b"); err != nil {
		t.Fatal(err)
	}
	s.noConsumer(t, "n8-b")
}

func TestErrNoRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, where := range []string{"no bucket", "no such record"} {
		_, err := s.bus.Registry().Record(t.Context(), "n8-a")
		for what, err := range map[string]error{"Record": err, "Cancel": s.bus.Registry().Cancel(t.Context(), "n8-a")} {
			if !errors.Is(err, bus.ErrNoRecord) || !strings.Contains(err.Error(), "n8-a") {
				t.Errorf("%s with %s: error %v, want one that wraps %v", what, where, err, bus.ErrNoRecord)
			}
		}
		claim(t, s.bus, record("n8-b"))
	}
}

// Records lists the readable records in the order in which the runs began.
func TestRecordsAreListedInOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	names := func() (names []string) {
		t.Helper()
		records, err := s.other.Registry().Records(within(t, testkit.Stall))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			names = append(names, r.Run)
		}
		return names
	}
	check(t, "runs without a bucket", names(), nil)
	for i, run := range []string{"n8-c", "n8-a", "n8-d", "n8-b"} {
		r := record(run)
		r.Created = r.Created.Add(time.Duration(i/2) * time.Hour)
		claim(t, s.bus, r)
	}
	check(t, "runs", names(), []string{"n8-a", "n8-c", "n8-b", "n8-d"})
	if err := s.bucket(t).Delete(t.Context(), "n8-c"); err != nil {
		t.Fatal(err)
	}
	check(t, "runs without the deleted one", names(), []string{"n8-a", "n8-b", "n8-d"})
	if _, err := s.bucket(t).Put(t.Context(), "n8-a", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	check(t, "runs without an unreadable one", names(), []string{"n8-b", "n8-d"})
	check(t, "rejected records", s.other.Rejected(), 1)
	for _, run := range []string{"n8-a", "n8-b", "n8-d"} {
		if err := s.bus.Registry().Delete(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "runs of an empty bucket", names(), nil)
}

// An unreadable record, or one of another protocol version, is left alone, and the error
// says what to do.
func TestUnreadableRecordsAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := claim(t, s.bus, record("n8-a"))
	valid, is := string(s.entry(t)), `"protocol":5`
	commanding := strings.Replace(valid, `"owner":"host-a"`, `"owner":"a\u001b[2J"`, 1)
	for name, value := range map[string]struct{ is, say string }{
		"garbage":                        {"hello", "invalid character"},
		"a later version":                {strings.Replace(valid, is, `"protocol":6`, 1), "protocol version 6, this program speaks version 5"},
		"an earlier version":             {strings.Replace(valid, is, `"protocol":4`, 1), "protocol version 4, this program speaks version 5"},
		"an owner with escape sequences": {commanding, "can't be shown"},
	} {
		if _, err := s.bucket(t).Put(t.Context(), "n8-a", []byte(value.is)); err != nil {
			t.Fatal(err)
		}
		_, recordErr := s.other.Registry().Record(t.Context(), "n8-a")
		_, claimErr := s.other.Registry().Claim(t.Context(), record("n8-a"))
		for what, err := range map[string]error{
			"Record": recordErr, "Claim": claimErr, "Cancel": s.other.Registry().Cancel(t.Context(), "n8-a"), "Renew": c.Renew(t.Context(), run.Running, 1, 0),
		} {
			says(t, what+" of "+name, err, "n8-a", bucket, value.say, "nats kv del")
			if errors.Is(err, bus.ErrNoRecord) || errors.Is(err, bus.ErrTakenOver) {
				t.Errorf("%s of %s: error %v", what, name, err)
			}
		}
		if left := s.entry(t); string(left) != value.is {
			t.Errorf("%s was replaced by %q", name, left)
		}
	}
}

func record(name string) run.Record { return conformance.Record(name) }

// readRecord returns the record of run n8-a without the time of its update, after checking
// that it is not before since.
func readRecord(t *testing.T, b *bus.Bus, since time.Time) run.Record {
	t.Helper()
	got, err := b.Registry().Record(t.Context(), "n8-a")
	if err != nil {
		t.Fatal(err)
	}
	if got.Updated.Before(since) || got.Updated.After(time.Now()) {
		t.Errorf("updated at %v, want after %v", got.Updated, since)
	}
	got.Updated = time.Time{}
	return got
}

// entry returns the record of run n8-a as it is stored.
func (s *scene) entry(t *testing.T) []byte {
	t.Helper()
	entry, err := s.bucket(t).Get(t.Context(), "n8-a")
	if err != nil {
		t.Fatal(err)
	}
	return entry.Value()
}

func (s *scene) bucket(t *testing.T) jetstream.KeyValue {
	t.Helper()
	kv, err := s.js.KeyValue(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}
