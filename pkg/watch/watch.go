// Package watch follows one run from elsewhere: by the snapshots that its coordinator
// publishes and, while none arrive, by the run's record on the server. It changes nothing
// there, and outlives restarts of the server and of the coordinator. It prints nothing.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Connection is the connection to the run's server; see [bus.Bus].
type Connection interface {
	// Server returns the address of the server, for people.
	Server() string
	// Connected returns nil while there is a connection.
	Connected() error
}

// Registry has the records of the runs on the server; see [bus.Registry].
type Registry interface {
	Names(ctx context.Context) ([]string, error)
	// Record returns [bus.ErrNoRecord] where there is none.
	Record(ctx context.Context, run string) (run.Record, error)
}

// Telemetry receives the snapshots of runs; see [bus.Telemetry].
type Telemetry interface {
	WatchProgress(ctx context.Context, run string, each func(run.Progress)) error
}

// Errors of a watch that ends without a total. One that ends because its run was cancelled
// or contradicted wraps [queens.ErrCancelled] or [queens.ErrContradiction].
var (
	ErrNoRuns    = errors.New("there is no run to watch")
	ErrNotActive = errors.New("the server has no such active run")
	ErrEndMissed = errors.New("the run has ended, but its end was not received")
)

// Status tells why there is a snapshot, or why there is none.
type Status struct {
	Kind   Kind
	Since  time.Time   // of ServerDown
	Record *run.Record // of AwaitingCoordinator, CoordinatorSilent and, where no snapshot says it, Stopped
	Err    error       // of ServerSilent
}

// Kind distinguishes statuses.
type Kind int

// The kinds of status.
const (
	Live                Kind = iota
	Stopped                  // by its coordinator
	CoordinatorSilent        // and perhaps dead
	AwaitingCoordinator      // whose record is fresh, but who has published no snapshot yet
	ServerDown               // no connection
	ServerSilent             // connected, but without an answer
)

const (
	// pollInterval is how often to poll state that is not pushed.
	pollInterval = time.Second
	// silenceTimeout is how long a coordinator, which publishes every second, may be
	// silent before the server is asked for the run's record.
	silenceTimeout = 3 * time.Second
	// recordGrace is how long the server may lack the record of a run before the run is
	// considered over: a coordinator soon restores the record after the server lost its store.
	recordGrace = 10 * time.Second
)

// Config says what to follow, and who presents it. The functions are called one at a time.
type Config struct {
	Connection
	Registry
	Telemetry
	Run string
	// OnProgress presents a snapshot. Its error ends the watch.
	OnProgress func(*run.Progress) error
	// OnStatus presents the status, also where it is the same as before.
	OnStatus func(Status)
}

// Follow presents a run until it ends, and returns its last snapshot: that of a complete
// run, with its total, if there is no error.
func Follow(ctx context.Context, cfg Config) (run.Progress, error) {
	f := follower{Config: cfg, snapshots: make(chan run.Progress, 1)}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return f.WatchProgress(ctx, f.Run, f.offer) })
	group.Go(func() error {
		defer stop()
		return f.run(ctx)
	})
	err := group.Wait()
	return f.latest, err
}

// follower asks the server for nothing while it receives snapshots.
type follower struct {
	Config
	snapshots chan run.Progress // the latest, until it is handled

	latest          run.Progress // of no run before the first
	lastSnapshotAt  time.Time    // or when the watch began
	connectedAt     time.Time    // zero while there is no connection
	disconnectedAt  time.Time    // valid while there is none
	recordMissingAt time.Time    // zero while the server has a record
}

// offer replaces a snapshot that is not handled yet. Calls must not overlap.
func (f *follower) offer(p run.Progress) {
	select {
	case <-f.snapshots:
	default:
	}
	f.snapshots <- p
}

func (f *follower) run(ctx context.Context) error {
	f.lastSnapshotAt, f.disconnectedAt = time.Now(), time.Now()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-f.snapshots:
			if err := f.handle(&p); err != nil || p.State.Finished() {
				return err
			}
		case <-tick.C:
			if err := f.poll(ctx); err != nil {
				return err
			}
		}
	}
}

// handle presents a snapshot, but never one with a wrong total.
func (f *follower) handle(p *run.Progress) error {
	failed := failure(p)
	if failed != nil && p.Total != nil {
		return failed
	}
	f.latest, f.lastSnapshotAt, f.recordMissingAt = *p, time.Now(), time.Time{}
	err := f.OnProgress(p)
	f.reportSnapshot()
	return errors.Join(err, failed)
}

// failure returns the error of a run that ended without a trustworthy total.
func failure(p *run.Progress) error {
	switch p.State {
	case run.Contradicted:
		return fmt.Errorf("%w: run %s ended so", queens.ErrContradiction, p.Run)
	case run.Cancelled:
		return fmt.Errorf("run %s: %w", p.Run, queens.ErrCancelled)
	case run.Complete:
		known, published := queens.KnownTotal(p.N)
		if published && p.Placed == 0 && known.Cmp(p.Total) != 0 {
			return fmt.Errorf("%w: a message claims another total for run %s", queens.ErrContradiction, p.Run)
		}
	case run.Running, run.Stopped:
	}
	return nil
}

// poll finds out why no snapshots arrive and reports it. It returns an error if the run
// has ended.
func (f *follower) poll(ctx context.Context) error {
	if f.Connected() != nil {
		if !f.connectedAt.IsZero() {
			f.connectedAt, f.disconnectedAt, f.recordMissingAt = time.Time{}, time.Now(), time.Time{}
		}
		f.OnStatus(Status{Kind: ServerDown, Since: f.disconnectedAt})
		return nil
	}
	if f.connectedAt.IsZero() {
		f.connectedAt = time.Now()
	}
	if time.Since(f.lastSnapshotAt) < silenceTimeout || time.Since(f.connectedAt) < silenceTimeout {
		f.reportSnapshot()
		return nil
	}
	record, err := f.Record(ctx, f.Run)
	switch {
	case ctx.Err() != nil:
		return nil // run returns its cause
	case errors.Is(err, bus.ErrNoRecord), err == nil && record.State == run.Complete:
		return f.checkGone()
	case err != nil:
		f.OnStatus(Status{Kind: ServerSilent, Err: err})
		return nil
	}
	f.recordMissingAt = time.Time{}
	if err := failure(&run.Progress{Run: f.Run, State: record.State}); err != nil {
		return err
	}
	f.reportRecord(&record)
	return nil
}

// checkGone returns an error once a run without a record, or with that of a complete run,
// can't be expected to publish anything more.
func (f *follower) checkGone() error {
	if f.latest.Run == "" {
		return fmt.Errorf("run %s on %s: %w", f.Run, f.Server(), ErrNotActive)
	}
	if f.recordMissingAt.IsZero() {
		f.recordMissingAt = time.Now()
	}
	if time.Since(f.recordMissingAt) < recordGrace {
		return nil
	}
	return fmt.Errorf("run %s: %w", f.Run, ErrEndMissed)
}

func (f *follower) reportSnapshot() {
	kind := Live
	if f.latest.State == run.Stopped {
		kind = Stopped
	}
	f.OnStatus(Status{Kind: kind})
}

func (f *follower) reportRecord(r *run.Record) {
	kind := CoordinatorSilent
	switch {
	case r.State == run.Stopped:
		kind = Stopped
	case r.IsActive():
		kind = AwaitingCoordinator
	}
	f.OnStatus(Status{Kind: kind, Record: r})
}
