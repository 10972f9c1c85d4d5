package watch

import (
	"context"
	"fmt"

	"nqueens/pkg/dashboard"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/split"
)

// Records has the records of the runs on the server; see [nqueens/pkg/bus.Registry].
type Records interface {
	Registry
	Records(ctx context.Context) ([]run.Record, error)
}

// Server has the runs of a server for a page. It implements [dashboard.Server].
type Server struct {
	Address string // of the server, for people
	Connection
	Registry Records
	Telemetry
}

// Runs returns the runs of the server, the newest first.
func (s Server) Runs(ctx context.Context) ([]report.ListedRun, error) {
	records, err := s.Registry.Records(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runs on %s: %w", s.Address, err)
	}
	return runlist.OnServer(s.Address, records), nil
}

// Follow shows a run on a page until ctx ends, or the run does.
func (s Server) Follow(ctx context.Context, r *dashboard.Run) error {
	_, err := Follow(ctx, OnPage(Config{
		Connection: s.Connection, Registry: s.Registry, Telemetry: s.Telemetry, Run: r.Name(),
		OnWatching: func() {},
		OnSnapshot: func(*run.Snapshot) error { return nil },
		OnStatus:   func(Status) {},
		OnIgnored:  func(error) {},
	}, r))
	return err
}

// OnPage returns a configuration with which a run is presented as before, and on a page.
func OnPage(cfg Config, r *dashboard.Run) Config {
	show, status := cfg.OnSnapshot, cfg.OnStatus
	cfg.OnSnapshot = func(s *run.Snapshot) error {
		r.Update(s)
		return show(s)
	}
	cfg.OnStatus = func(s Status) {
		r.SetStatus(s.Text(r.Name()))
		status(s)
	}
	cfg.OnManifest = func(m *queens.Manifest) { explain(r, m) }
	return cfg
}

// explain tells a page what is counted.
func explain(r *dashboard.Run, m *queens.Manifest) {
	work := split.Shares(m)
	for i := range work {
		work[i] *= float64(m.TasksOf(i))
	}
	r.SetManifest(m, work)
}
