package memory_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/bus/bustest/memory"
	"nqueens/pkg/run"
)

// The server in memory does what coordinators and workers rely on.
func TestConformance(t *testing.T) {
	conformance.Test(t, func(_ *testing.T, lease time.Duration) conformance.TestServer {
		return &server{memory.NewServer(memory.Config{Lease: lease})}
	}, synctest.Test)
}

type server struct{ *memory.Server }

func (s *server) Connect(t *testing.T) conformance.Bus {
	b := s.Server.Connect()
	t.Cleanup(b.Close)
	return conformance.Bus{
		Ensure: b.Ensure, Tasks: b.Tasks(), Queue: func() conformance.Queue { return b.Queue() }, Results: b.Results(),
		Claim:  func(ctx context.Context, r run.Record) (conformance.Claim, error) { return b.Registry().Claim(ctx, r) },
		Record: b.Registry().Record, Cancel: b.Registry().Cancel, Telemetry: b.Telemetry(),
	}
}

func (s *server) Save(*testing.T) { s.Server.Save() }

func (s *server) RollBack(t *testing.T, publish func(conformance.Bus)) {
	s.Server.RollBack()
	publish(s.Connect(t))
}

func (s *server) DeleteStreams(*testing.T) { s.Server.DeleteStreams() }

func (s *server) DeleteRecord(_ *testing.T, name string) { s.Server.DeleteRecord(name) }

// Two results have different times, also if they are stored at the same moment: a position is that of one result.
func TestStoredTimesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var publishing sync.WaitGroup
		for id := range uint64(2) {
			publishing.Go(func() { s.publishResult(t, id+1) })
		}
		publishing.Wait()
		ctx, stop := context.WithCancel(t.Context())
		var last time.Time
		must(t, s.bus.Results().Read(ctx, name, run.StreamPosition{}, func(_ run.ChunkResult, at run.StreamPosition) {
			check(t, "a result is stored after the one before", at.Stored.After(last), true)
			last = at.Stored
		}, func(time.Time) { stop() }))
	})
}
