package coordinator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A large run is announced before its ledger is loaded: others call a run silent after some seconds.
func TestRunIsAnnouncedWhileItLoads(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	classes, err := symmetry.Classes(24, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 24, queens.Full, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Header{
		Run: "n24-a", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 2, SpotCheck: run.SpotCheck{Share: 0.5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	server := &loadedServer{loaded: func() { cancel(errStopped) }}
	cfg := coordinator.Config{
		Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Hour, DisputeTimeout: time.Second,
		OnSnapshot: func(run.Snapshot) {}, ReportEvery: time.Second, Log: zerolog.Nop(),
	}
	c := coordinator.New(cfg, server, server, server, new(claim), l)
	if _, err := c.Run(ctx); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if before := server.before.Load(); before == 0 {
		t.Errorf("a run of %d tasks is not announced before it is loaded", m.Tasks)
	}
}

// loadedServer notes how often a run was announced before its coordinator used the queue.
type loadedServer struct {
	coordinator.Tasks
	loaded                func()
	announcements, before atomic.Int64
}

func (s *loadedServer) PublishAnnouncement(run.Announcement) error {
	s.announcements.Add(1)
	return nil
}

func (s *loadedServer) Read(ctx context.Context, _ string, _ run.StreamPosition, _ func(run.ChunkResult, run.StreamPosition), _ func(time.Time)) error {
	<-ctx.Done()
	return nil
}

func (s *loadedServer) Trim(context.Context, string, run.StreamPosition) error { return nil }

func (s *loadedServer) Purge(context.Context, string) error {
	s.before.Store(s.announcements.Load())
	s.loaded()
	return errStopped
}
