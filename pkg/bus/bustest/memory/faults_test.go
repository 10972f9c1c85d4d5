package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/bus/bustest/memory"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
)

const (
	name  = "n8-a"
	lease = 10 * time.Second
)

// Each fault has the effect that its comment says.
func TestFaults(t *testing.T) {
	for fault, test := range map[string]func(t *testing.T, s *scene){
		"a lost request is not executed": func(t *testing.T, s *scene) {
			s.server.SetFaults(memory.Faults{LostRequest: 1})
			s.publish(t, 1, true)
			s.server.SetFaults(memory.Faults{})
			s.takes(t)
		},
		"a lost answer": func(t *testing.T, s *scene) {
			s.server.SetFaults(memory.Faults{LostAnswer: 1})
			s.publish(t, 1, true)
			s.server.SetFaults(memory.Faults{})
			s.takes(t, 1)
		},
		"a lost message to a worker": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			s.server.SetFaults(memory.Faults{LostMessage: 1})
			s.takes(t)
			s.server.SetFaults(memory.Faults{})
			s.takes(t)
			time.Sleep(lease)
			s.takes(t, 1)
		},
		"a lost release": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			loan := s.takes(t, 1)[0]
			s.server.SetFaults(memory.Faults{LostMessage: 1})
			must(t, loan.Lease.Release())
			s.server.SetFaults(memory.Faults{})
			s.takes(t)
		},
		"lost, repeated and delayed heartbeats": func(t *testing.T, s *scene) {
			for faults, want := range map[memory.Faults]int{{LostMessage: 1}: 0, {Repeated: 1}: 20, {Delayed: 1, MaxDelay: time.Second}: 10} {
				s.server.SetFaults(faults)
				var heard []time.Time
				unsubscribe, err := s.bus.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) { heard = append(heard, h.Sent) })
				must(t, err)
				for range 10 {
					must(t, s.bus.Telemetry().PublishHeartbeat(run.Heartbeat{Worker: "w", Threads: 1}, identitytest.Of("w")))
				}
				time.Sleep(time.Second)
				unsubscribe()
				synctest.Wait()
				check(t, "heartbeats that come", len(heard), want)
				check(t, "one overtakes another", !isSorted(heard), faults.Delayed > 0)
			}
		},
		"repeated chunks": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			s.server.SetFaults(memory.Faults{Repeated: 1})
			s.publish(t, 1, false)
			s.takes(t, 1, 1)
		},
		"repeated results": func(t *testing.T, s *scene) {
			s.server.SetFaults(memory.Faults{Repeated: 1})
			s.publishResult(t, 1)
			check(t, "results read", s.read(t), 2)
			s.publishResult(t, 1)
			check(t, "results read", s.read(t), 4)
		},
		"delayed requests": func(t *testing.T, s *scene) {
			s.server.SetFaults(memory.Faults{Delayed: 1, MaxDelay: time.Minute})
			start := time.Now()
			s.publish(t, 1, false)
			check(t, "it takes a while", time.Since(start) > 100*time.Millisecond && time.Since(start) < 2*time.Minute+time.Second, true)
		},
		"a stale look at the queue": func(t *testing.T, s *scene) {
			sequence := s.publish(t, 1, false)
			s.server.SetFaults(memory.Faults{Stale: 1})
			check(t, "it has the chunk at first", s.has(t, sequence), [2]bool{false, false})
			time.Sleep(2 * time.Second)
			must(t, s.takes(t, 1)[0].Lease.Ack(t.Context()))
			check(t, "it has the chunk after the acknowledgement", s.has(t, sequence), [2]bool{true, false})
			time.Sleep(2 * time.Second)
			check(t, "it has the chunk later", s.has(t, sequence), [2]bool{false, false})
		},
		"a stale record": func(t *testing.T, s *scene) {
			claim := s.claim(t)
			must(t, claim.Renew(t.Context(), run.Running, 5, 0))
			s.server.SetFaults(memory.Faults{Stale: 1})
			check(t, "done at first", s.record(t).Done, 0)
			time.Sleep(2 * time.Second)
			check(t, "done later", s.record(t).Done, 5)
			must(t, claim.Renew(t.Context(), run.Running, 6, 0))
			must(t, s.claim(t).Renew(t.Context(), run.Running, 7, 0))
		},
		"full streams": func(t *testing.T, s *scene) {
			s.server.SetFaults(memory.Faults{Full: 1})
			s.publish(t, 1, true)
			r := conformance.Result(name, 1)
			check(t, "a result is refused", s.bus.Results().Publish(t.Context(), &r) != nil, true)
			s.server.SetFaults(memory.Faults{})
			for id := range uint64(3) {
				s.publish(t, 1+id, false)
				s.publishResult(t, 1+id)
			}
			s.publish(t, 4, true)
			r = conformance.Result(name, 4)
			check(t, "a result is refused", s.bus.Results().Publish(t.Context(), &r) != nil, true)
		},
		"an update that is carried out and reported as refused": func(t *testing.T, s *scene) {
			claim := s.claim(t)
			s.server.SetFaults(memory.Faults{Conflicting: 0.5})
			for done := range uint64(20) {
				must(t, claim.Renew(t.Context(), run.Running, done, 0))
				check(t, "done", s.record(t).Done, done)
			}
			check(t, "some were reported so", s.server.Counts().Faults > 0, true)
			check(t, "another claim has a greater epoch", s.claim(t).Epoch() > claim.Epoch(), true)
			check(t, "the first is lost", errors.Is(claim.Renew(t.Context(), run.Running, 9, 0), run.ErrIncomplete), true)
		},
		"a server that is away": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			s.takes(t, 1)
			s.server.SetAway(true)
			check(t, "it is reached", s.bus.Connected() == nil, false)
			s.publish(t, 2, true)
			time.Sleep(lease)
			s.server.SetAway(false)
			check(t, "it is reached", s.bus.Connected() == nil, true)
			s.takes(t, 1)
		},
		"requests wait at no server that was away": func(t *testing.T, s *scene) {
			q := s.bus.Queue()
			q.Park(name)
			time.Sleep(time.Second)
			s.server.SetAway(true)
			s.server.SetAway(false)
			s.publish(t, 1, false)
			time.Sleep(time.Second)
			check(t, "chunks that come", len(q.Parked()), 0)
			q.Park(name)
			time.Sleep(time.Second)
			check(t, "chunks that come to the next request", len(q.Parked()), 1)
		},
		"a closed connection": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			dead := s.server.Connect()
			loans, err := dead.Queue().Take(t.Context(), name, 1)
			must(t, err)
			dead.Close()
			check(t, "a lease is extended", loans[0].Lease.Extend() == nil, false)
			check(t, "a chunk is acknowledged", loans[0].Lease.Ack(t.Context()) == nil, false)
			must(t, dead.Telemetry().PublishAnnouncement(run.Announcement{Run: name, Epoch: 1, State: run.Running}))
			s.takes(t)
			time.Sleep(lease)
			s.takes(t, 1)
		},
		"a deleted consumer": func(t *testing.T, s *scene) {
			s.publish(t, 1, false)
			held := s.takes(t, 1)[0]
			s.server.DeleteConsumer(name)
			check(t, "a chunk is acknowledged", held.Lease.Ack(t.Context()) == nil, false)
			s.takes(t)
			must(t, s.bus.Ensure(t.Context(), name))
			s.takes(t, 1)
		},
	} {
		t.Run(fault, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, newScene(t)) }) })
	}
}

// scene is a server that has the streams of a run, with room for 3 chunks and 3 results, and a connection.
type scene struct {
	server *memory.Server
	bus    *memory.Bus
}

func newScene(t *testing.T) *scene {
	s := &scene{server: memory.NewServer(memory.Config{Lease: lease, Seed: 1, MaxChunks: 3, MaxResults: 3})}
	s.bus = s.server.Connect()
	t.Cleanup(s.bus.Close)
	must(t, s.bus.Ensure(t.Context(), name))
	return s
}

func (s *scene) publish(t *testing.T, id uint64, fails bool) (sequence uint64) {
	t.Helper()
	c := conformance.Chunk(name, id)
	sequence, err := s.bus.Tasks().Publish(t.Context(), &c)
	check(t, "the publishing fails", err != nil, fails)
	return sequence
}

// takes takes all chunks that wait, and checks which they are.
func (s *scene) takes(t *testing.T, ids ...uint64) []run.Loan {
	t.Helper()
	loans, err := s.bus.Queue().Take(t.Context(), name, 10)
	must(t, err)
	check(t, "chunks that come", len(loans), len(ids))
	for i, loan := range loans {
		check(t, "a chunk", loan.Chunk.ID, ids[min(i, len(ids)-1)])
	}
	return loans
}

func (s *scene) has(t *testing.T, sequence uint64) [2]bool {
	t.Helper()
	queued, taken, err := s.bus.Tasks().Has(t.Context(), name, 1, sequence)
	must(t, err)
	return [2]bool{queued, taken}
}

func (s *scene) publishResult(t *testing.T, id uint64) {
	t.Helper()
	r := conformance.Result(name, id)
	must(t, s.bus.Results().Publish(t.Context(), &r))
}

// read returns the number of results that come until the reader has caught up.
func (s *scene) read(t *testing.T) (come int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	must(t, s.bus.Results().Read(ctx, name, run.StreamPosition{},
		func(run.ChunkResult, run.StreamPosition) { come++ }, func(time.Time) { stop() }))
	return come
}

func (s *scene) claim(t *testing.T) *memory.Claim {
	t.Helper()
	c, err := s.bus.Registry().Claim(t.Context(), conformance.Record(name))
	must(t, err)
	return c
}

func (s *scene) record(t *testing.T) run.Record {
	t.Helper()
	r, err := s.bus.Registry().Record(t.Context(), name)
	must(t, err)
	return r
}

func isSorted(times []time.Time) bool {
	for i := 1; i < len(times); i++ {
		if times[i].Before(times[i-1]) {
			return false
		}
	}
	return true
}

func check[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s: %v, want %v", what, have, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
