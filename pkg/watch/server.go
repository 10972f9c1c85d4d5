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
	Connection
	Registry Records
	Telemetry
}

// Runs returns the runs of the server, the newest first.
func (s Server) Runs(ctx context.Context) ([]report.ListedRun, error) {
	records, err := s.Registry.Records(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runs on %s: %w", s.Server(), err)
	}
	return runlist.OnServer(s.Server(), records), nil
}

// Follow shows a run on a page until ctx ends, or the run does.
func (s Server) Follow(ctx context.Context, r *dashboard.Run) error {
	_, err := Follow(ctx, Config{
		Connection: s.Connection, Registry: s.Registry, Telemetry: s.Telemetry, Run: r.Name(),
		OnWatching: func() {},
		OnProgress: func(p *run.Progress) error { r.Update(dashboard.Snapshot{Progress: *p}); return nil },
		OnManifest: func(m *queens.Manifest) { Explain(r, m) },
		OnStatus:   func(status Status) { r.SetStatus(status.Text(r.Name())) },
		OnIgnored:  func(error) {},
	})
	return err
}

// Explain tells a page what is counted.
func Explain(r *dashboard.Run, m *queens.Manifest) {
	work := split.Shares(m)
	for i := range work {
		work[i] *= float64(m.TasksOf(i))
	}
	r.SetManifest(m, work)
}
