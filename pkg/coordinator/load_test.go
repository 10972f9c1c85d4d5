package coordinator_test

import (
	"context"
	"errors"
	"sync"
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
	"nqueens/pkg/testkit"
)

// A run is announced before its ledger is loaded, which may take long: others call a run silent after some seconds.
func TestRunIsAnnouncedWhileItLoads(t *testing.T) {
	t.Parallel()
	classes, err := symmetry.Classes(6, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 6, queens.Mirror, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Header{Run: "n6-a", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The coordinator that loads it lifts the quarantine, and logs that: it counted as the key did.
	_, err = l.Accept([]run.Result{
		{Count: 5, Worker: "w", Kernel: "k", Key: "outvoted", Admitted: true},
		{Count: 6, Worker: "v", Kernel: "k", Key: "liar", Admitted: true},
		{Count: 5, Worker: run.Referee, Kernel: "k"},
	}, 0, run.StreamPosition{})
	if err := errors.Join(err, l.Quarantine(run.QuarantinedKey{Key: "outvoted"})); err != nil {
		t.Fatal(err)
	}
	if _, more, err := l.Revoke(); more || err != nil {
		t.Fatal(more, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	server := &loadingServer{t: t, announced: make(chan struct{}), loaded: func() { cancel(errStopped) }}
	cfg := coordinator.Config{
		Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Hour, DisputeTimeout: time.Second,
		OnSnapshot: func(run.Snapshot) {}, ReportEvery: time.Second, Log: zerolog.New(server),
	}
	c := coordinator.New(cfg, server, server, server, new(claim), l)
	if _, err := c.Run(ctx); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if !server.waited.Load() {
		t.Error("the coordinator has logged nothing while it loaded the ledger")
	}
}

// loadingServer delays the loading of a ledger, at a line of its log, until the run is announced.
type loadingServer struct {
	coordinator.Tasks
	t         *testing.T
	once      sync.Once
	announced chan struct{} // closed
	waited    atomic.Bool
	loaded    func()
}

func (s *loadingServer) PublishAnnouncement(run.Announcement) error {
	s.once.Do(func() { close(s.announced) })
	return nil
}

func (s *loadingServer) Write(line []byte) (int, error) {
	select {
	case <-s.announced:
		s.waited.Store(true)
	case <-time.After(testkit.Stall):
		s.t.Errorf("the run is not announced, and its coordinator loads: %s", line)
	}
	return len(line), nil
}

func (s *loadingServer) Read(ctx context.Context, _ string, _ run.StreamPosition, _ func(run.ChunkResult, run.StreamPosition), _ func(time.Time)) error {
	<-ctx.Done()
	return nil
}

func (s *loadingServer) Trim(context.Context, string, run.StreamPosition) error { return nil }

func (s *loadingServer) Purge(context.Context, string) error {
	s.loaded()
	return nil
}
