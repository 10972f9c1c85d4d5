package bus_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// damage changes the file at a path below the streams of a server.
func (f *forgetful) damage(t *testing.T, path string, change func(data []byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.cfg.StoreDir, "jetstream", "*", "streams", path))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are %d files %s: %v", len(files), path, err)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], change(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func replaced(old, by string) func([]byte) []byte {
	return func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(old), []byte(by)) }
}

// If files of a run's consumer are damaged, the run has a consumer again when it resumes, also for a second
// coordinator. If the server can't read them at all, the stream is made again, without its chunks. None is left after
// the run.
func TestADamagedConsumerIsReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file   string
		change func([]byte) []byte
		chunks int // that are left
	}{
		"a bit of its state": {"o.dat", func(data []byte) []byte {
			data[0] ^= 1
			return data
		}, 0},
		"its state is empty":     {"o.dat", func([]byte) []byte { return nil }, 3},
		"its configuration":      {"meta.inf", replaced("{", "z"), 3},
		"its checksum":           {"meta.sum", replaced("a", "b"), 3},
		"its configuration lost": {"meta.inf", func([]byte) []byte { return nil }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForgetful(t)
			first := connectTo(t, f.server)
			ensure(t, first)
			for id := range uint64(3) {
				publish(t, first, chunk("n8-a", id+1))
			}
			f.server.Stop()
			f.damage(t, "NQ_TASKS/obs/n8-a/"+c.file, c.change)
			f.server = bustest.Start(t, f.cfg)
			for _, b := range []*bus.Bus{connectTo(t, f.server), connectTo(t, f.server)} {
				bustest.Ensure(t, b, "n8-a")
				q := queue(t, b)
				var loans []run.Loan
				testkit.Eventually(t, "all chunks that are left come, one of them just released", func() bool {
					loans = append(loans, takeAll(t, q, "n8-a", 10)...)
					return len(loans) == c.chunks
				})
				if c.chunks == 0 {
					publish(t, b, chunk("n8-a", 9))
					c.chunks = 1
				}
				for _, l := range loans {
					if err := l.Lease.Release(); err != nil {
						t.Fatal(err)
					}
				}
				q.Park("n8-a")
				loan := receive(t, q.Parked(), "a chunk")
				if err := loan.Lease.Release(); err != nil {
					t.Fatal(err)
				}
				q.Close()
			}
			b := connectTo(t, f.server)
			if err := b.Tasks().Remove(t.Context(), "n8-a"); err != nil {
				t.Fatal(err)
			}
			_, js := bustest.Admin(t, f.server)
			stream, err := js.Stream(t.Context(), tasks)
			if err != nil {
				t.Fatal(err)
			}
			for name := range stream.ConsumerNames(t.Context()).Name() {
				if strings.HasPrefix(name, "n8-a") {
					t.Errorf("consumer %s is left after the run", name)
				}
			}
		})
	}
}

// connectToBrokenTasks restarts the server with a damaged consumer of the tasks of run n8-a, and connects to it.
func (f *forgetful) connectToBrokenTasks(t *testing.T, log *testkit.Log) *bus.Bus {
	t.Helper()
	f.server.Stop()
	f.damage(t, "NQ_TASKS/obs/n8-a/meta.inf", replaced("ack_wait", "ack_wbit"))
	f.server = bustest.Start(t, f.cfg)
	return connectTo(t, f.server, logTo(log))
}

// A stream of tasks that the server can't use any more is made again while a run is read, and takes chunks. Until then
// results are read, and the log advises nobody to delete them.
func TestABrokenStreamOfTasksIsMadeAgain(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	f := newForgetful(t)
	first := connectTo(t, f.server)
	ensure(t, first)
	publishResult(t, first, result("n8-a", 1))
	b := f.connectToBrokenTasks(t, &log)
	read := read(t, b)
	read.Await(t, 1)
	check(t, "log lines that the tasks fail", len(log.Lines("can't use the queue of tasks")), 1)
	c := chunk("n8-a", 1)
	if _, err := b.Tasks().Publish(within(t, time.Second), &c); err == nil {
		t.Fatal("a broken stream takes a chunk")
	}
	check(t, "times that the stream was made again by then", len(log.Lines("making it again")), 0)
	b.SetStuckAfter(time.Millisecond)
	testkit.Eventually(t, "the log line about it", func() bool { return len(log.Lines("making it again")) == 1 })
	testkit.Eventually(t, "the chunk is published", func() bool { _, err := b.Tasks().Publish(t.Context(), &c); return err == nil })
	check(t, "the chunk that comes", take(t, queue(t, b)).Chunk.ID, 1)
	check(t, "log lines that advise to reset a part", len(log.Lines("coordinator reset")), 0)
}

// While what can't be published again does not work, the log says which command resets it, and what that
// loses. Then runs go on: a reader reads the results of the new stream, and a coordinator renews its claim.
func TestTheLogNamesTheCommandThatResets(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	f := newForgetful(t)
	var log testkit.Log
	b := connectTo(t, f.server, logTo(&log))
	ensure(t, b)
	claim := claim(t, b, record("n8-a"))
	publishResult(t, b, result("n8-a", 1))
	read := read(t, b)
	read.Await(t, 1)
	_, js := bustest.Admin(t, f.server)
	for _, stream := range []string{results, "KV_nq_runs"} {
		if _, err := js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	f.server.Stop()
	for _, stream := range []string{results, "KV_nq_runs"} { // the server stops such a stream
		f.damage(t, stream+"/obs/d/meta.inf", replaced("ack_policy", "ack_polizy"))
	}
	b.SetStuckAfter(time.Millisecond)
	f.server = bustest.Start(t, f.cfg)
	for part, stream := range map[bus.Part]string{bus.ResultsPart: results, bus.RecordsPart: "nq_runs"} {
		var lines []string
		testkit.Eventually(t, "the log says what to type", func() bool {
			_ = claim.Renew(t.Context(), run.Running, 1, 0) // fails
			lines = log.Lines("coordinator reset " + part.Word + " --nats " + f.server.ClientURL() + " --yes")
			return len(lines) > 0
		})
		if len(lines) != 1 || !strings.Contains(lines[0], stream) || !strings.Contains(lines[0], part.Loses) {
			t.Errorf("the log lines are %q, want one that names %s and says what is lost", lines, stream)
		}
	}
	other := connectTo(t, f.server)
	for _, part := range bus.Parts {
		for range 2 { // the second time there may be nothing
			if err := other.Reset(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Eventually(t, "the claim is renewed", func() bool { return claim.Renew(t.Context(), run.Running, 1, 0) == nil })
	testkit.Eventually(t, "the streams are there again", func() bool {
		r, c := result("n8-a", 2), chunk("n8-a", 2)
		_, err := other.Tasks().Publish(t.Context(), &c)
		return err == nil && other.Results().Publish(t.Context(), &r) == nil
	})
	read.Await(t, 2)
	_, err := bus.ParsePart("all")
	says(t, "no part", err, "all", "results", "records", "tasks")
}

// A server that can't read the record of a run stores another one without an answer. The run goes on.
func TestADamagedRecordIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	f := newForgetful(t)
	claim(t, connectTo(t, f.server), record("n8-a"))
	f.server.Stop()
	f.damage(t, "KV_nq_runs/msgs/1.blk", func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	})
	f.server = bustest.Start(t, f.cfg)
	b := connectTo(t, f.server)
	claim, err := b.Registry().Claim(t.Context(), record("n8-a"))
	if err == nil {
		err = claim.Renew(t.Context(), run.Running, 3, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, err := b.Registry().Record(t.Context(), "n8-a")
	if err != nil || stored.Done != 3 {
		t.Errorf("the record says that %d tasks are done, want 3: %v", stored.Done, err)
	}
}

// The bucket is put back to a copy of before the first of two claims, so that both have one epoch: one
// coordinator ends, and the other keeps its claim, whatever their revisions are.
func TestOfTwoClaimsOfOneEpochOneHolds(t *testing.T) {
	t.Parallel()
	for name, renewals := range map[string]int{
		"with other revisions": 0, "with the same revision": 2, "and more renewals": 3,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForgetful(t)
			claim(t, connectTo(t, f.server), record("n8-a"))
			f.save(t)
			first := connectTo(t, f.server)
			claim := func(b *bus.Bus) *bus.Claim {
				claim := claim(t, b, record("n8-a"))
				return claim
			}
			renew := func(c *bus.Claim, times int) error {
				var err error
				for range times {
					err = errors.Join(err, c.Renew(t.Context(), run.Running, 1, 0))
				}
				return err
			}
			one := claim(first)
			if err := renew(one, 2); err != nil {
				t.Fatal(err)
			}
			f.rollBack(t, func(*bus.Bus) {})
			testkit.Eventually(t, "the first is connected again", func() bool { return first.Connected() == nil })
			two := claim(connectTo(t, f.server))
			check(t, "the epoch of the second claim", two.Epoch(), one.Epoch())
			if err := renew(two, renewals); err != nil {
				t.Fatal(err)
			}
			ended := map[*bus.Claim]bool{}
			for range 3 {
				for _, c := range []*bus.Claim{one, two} {
					if ended[c] {
						continue
					}
					testkit.Eventually(t, "the claim is renewed, or has ended", func() bool { // the connection may be lost late
						err := c.Renew(t.Context(), run.Running, 1, 0)
						ended[c] = errors.Is(err, bus.ErrTakenOver)
						return err == nil || ended[c]
					})
				}
				check(t, "one of the claims has ended", ended[one] != ended[two], true)
			}
		})
	}
}

// A stream of tasks that another client has made again is not deleted, whatever failed before.
func TestHealLeavesAStreamThatAnotherHasMadeAgain(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	s.bus.SetStuckAfter(time.Millisecond)
	bustest.Ensure(t, s.bus, "n8-a")
	cfg := s.stream(t, tasks).Config
	s.delete(t, tasks)
	c := chunk("n8-a", 1)
	for range 2 { // for longer than the patience
		if _, err := s.bus.Tasks().Publish(within(t, 10*time.Second), &c); err == nil {
			t.Fatal("a stream that is gone takes a chunk")
		}
	}
	again, err := s.js.CreateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	read := read(t, s.bus)
	receive(t, read.CaughtUp, "that it has caught up")
	publish(t, s.bus, c)
	check(t, "the stream is the same", s.stream(t, tasks).Created.Equal(again.CachedInfo().Created), true)
	check(t, "log lines about it", len(log.Lines("making it again")), 0)
}

// A stream of results that can be looked up, but not read, as when two of its three copies are damaged, is
// reported with the command too.
func TestTheLogNamesTheCommandForResultsThatCantBeRead(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	var log testkit.Log
	b := connectTo(t, f.server, logTo(&log))
	b.SetStuckAfter(time.Millisecond)
	ensure(t, b)
	read(t, b) // it looks up the streams every two seconds
	testkit.Eventually(t, "the log says what to type", func() bool {
		b.NoteReadResults(true)
		return len(log.Lines("coordinator reset results --nats "+f.server.ClientURL()+" --yes")) > 0
	})
}
