// Package watch follows one run from elsewhere: by the snapshots that its coordinator
// publishes and, while none arrive, by the run's record on the server. It changes nothing
// there, and outlives restarts of the server and of the coordinator. It prints nothing.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	// IsOpen reports whether anybody can write the records of the server's runs.
	IsOpen() bool
}

// Registry has the records of the runs on the server; see [bus.Registry].
type Registry interface {
	Names(ctx context.Context) ([]string, error)
	Records(ctx context.Context) ([]run.Record, error)
	// Record returns [bus.ErrNoRecord] where there is none.
	Record(ctx context.Context, run string) (run.Record, error)
}

// Telemetry receives the snapshots of runs; see [bus.Telemetry].
type Telemetry interface {
	SubscribeSnapshots(run string, each func(*run.Snapshot)) (unsubscribe func(), err error)
}

// Errors of a watch that ends without a total. One that ends because its run was cancelled
// or contradicted wraps [run.ErrCancelled] or [run.ErrContradiction].
var (
	ErrNoRuns    = errors.New("there is no run to watch")
	ErrNotActive = errors.New("the server has no such active run")
	ErrEndMissed = errors.New("the run has ended, but its end was not received")
	// ErrOpenServer: the run is complete, and what the server says of its total may be anybody's.
	ErrOpenServer = errors.New("the run is complete, as its record says, and its total is not shown: the server asks for no keys, so anybody can write that record")
)

// Status tells why there is a snapshot, or why there is none.
type Status struct {
	Kind   Kind
	Since  time.Time   // of ServerDown
	Record *run.Record // of AwaitingCoordinator, CoordinatorSilent and, where no snapshot says it, Stopped
	Err    error       // of ServerSilent and ProcessSilent
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
	ProcessSilent            // the process of a local run does not say how far it is
	Auditing                 // a local run is complete, and its ledger is audited
)

const (
	// pollInterval is how often to poll state that is not pushed.
	pollInterval = time.Second
	// listInterval is how often to list the runs of the server.
	listInterval = 5 * time.Second
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
	// OnWatching tells that snapshots are received from now on, once there is a connection.
	OnWatching func()
	// OnSnapshot presents a snapshot. Its error ends the watch.
	OnSnapshot func(*run.Snapshot) error
	// OnManifest, unless nil, is told once what is counted.
	OnManifest func(*queens.Manifest)
	// OnStatus presents the status, also where it is the same as before.
	OnStatus func(Status)
	// OnIgnored reports a snapshot that is not presented, because it contradicts the record.
	OnIgnored func(error)
}

// Follow presents a run until it ends, and returns its last snapshot: that of a complete
// run, with its total, if there is no error.
//
// Anybody can publish a snapshot. So one counts only if it agrees with the run's record, and an
// end only if the record says the same, or was there and is removed, as coordinators do then. A total
// is the one of the record, or the published one. Where anybody can write the record too, it is the
// published one, or there is none: then the error wraps [ErrOpenServer].
func Follow(ctx context.Context, cfg Config) (run.Snapshot, error) {
	f := follower{Config: cfg, snapshots: make(chan *run.Snapshot, 1)}
	unsubscribe, err := f.SubscribeSnapshots(f.Run, f.offer)
	if err != nil {
		return f.latest, err
	}
	defer unsubscribe()
	f.OnWatching()
	err = f.run(ctx)
	return f.latest, err
}

// follower asks the server for nothing while it receives snapshots, once it has the record.
type follower struct {
	Config
	snapshots chan *run.Snapshot // the latest, until it is handled

	manifest        *queens.Manifest // of the record; nil before it was read
	unconfirmed     *run.Snapshot    // a snapshot that waits for the record
	latest          run.Snapshot     // of no run before the first
	lastSnapshotAt  time.Time        // or when the watch began
	connectedAt     time.Time        // zero while there is no connection
	disconnectedAt  time.Time        // valid while there is none
	recordMissingAt time.Time        // zero while the server has a record
}

// offer replaces a snapshot that is not handled yet. Calls must not overlap.
func (f *follower) offer(s *run.Snapshot) {
	select {
	case <-f.snapshots:
	default:
	}
	f.snapshots <- s
}

func (f *follower) run(ctx context.Context) error {
	f.lastSnapshotAt, f.disconnectedAt = time.Now(), time.Now()
	if f.Connected() == nil {
		_, _ = f.readRecord(ctx) // the run may end before its first snapshot; later reads report errors
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-f.snapshots:
			if ended, err := f.handle(ctx, p); ended || err != nil {
				return err
			}
		case <-tick.C:
			if ended, err := f.poll(ctx); ended || err != nil {
				return err
			}
		}
	}
}

// handle presents a snapshot that the record confirms, and keeps one that it may confirm later.
// It never presents a wrong total. It reports whether the run has ended.
func (f *follower) handle(ctx context.Context, p *run.Snapshot) (ended bool, err error) {
	f.unconfirmed = nil
	confirmed, err := f.confirm(ctx, p)
	if err != nil {
		f.OnIgnored(err)
		return false, nil
	}
	if !confirmed {
		f.unconfirmed = p
		return false, nil
	}
	failed := failure(p)
	if failed != nil && p.Total != nil {
		return true, failed
	}
	if p.State == run.Complete && f.IsOpen() && p.Known() != queens.Match {
		return true, fmt.Errorf("run %s: %w", f.Run, ErrOpenServer)
	}
	f.latest, f.lastSnapshotAt, f.recordMissingAt = *p, time.Now(), time.Time{}
	err = f.OnSnapshot(p)
	f.reportSnapshot()
	return p.State.Finished(), errors.Join(err, failed)
}

// poll reads the record of the run where it is needed, and finds out why no snapshots arrive. It
// returns an error, or reports the end, if the run has ended.
func (f *follower) poll(ctx context.Context) (ended bool, err error) {
	if f.Connected() != nil {
		if !f.connectedAt.IsZero() {
			f.connectedAt, f.disconnectedAt, f.recordMissingAt = time.Time{}, time.Now(), time.Time{}
		}
		if f.unconfirmed != nil && f.unconfirmed.State.Finished() && time.Since(f.disconnectedAt) > recordGrace {
			return true, fmt.Errorf("run %s: %w: the server was gone before the run's record could be read", f.Run, ErrEndMissed)
		}
		f.OnStatus(Status{Kind: ServerDown, Since: f.disconnectedAt})
		return false, nil
	}
	if f.connectedAt.IsZero() {
		f.connectedAt = time.Now()
	}
	if f.unconfirmed != nil {
		if ended, err := f.handle(ctx, f.unconfirmed); ended || err != nil {
			return ended, err
		}
	}
	if time.Since(f.lastSnapshotAt) < silenceTimeout || time.Since(f.connectedAt) < silenceTimeout {
		f.reportSnapshot()
		return false, nil
	}
	return f.explainSilence(ctx)
}

// explainSilence reports what the record says while no snapshots arrive. It presents the total of the record, if
// there is one, and reports the end; it returns an error if the run has ended without.
func (f *follower) explainSilence(ctx context.Context) (ended bool, err error) {
	record, err := f.readRecord(ctx)
	switch {
	case ctx.Err() != nil:
		return false, nil // run returns its cause
	case err == nil && record.Total() != nil: // the run ended before the watch began, or its last snapshot was lost
		return f.handle(ctx, new(*record.Snapshot))
	case errors.Is(err, bus.ErrNoRecord), err == nil && record.State == run.Complete:
		return false, f.checkGone()
	case err != nil:
		f.OnStatus(Status{Kind: ServerSilent, Err: err})
		return false, nil
	}
	f.recordMissingAt = time.Time{}
	if err := failure(&run.Snapshot{Run: f.Run, State: record.State}); err != nil {
		return false, err
	}
	f.reportRecord(&record)
	return false, nil
}

// checkGone returns an error once a run without a record, or with that of a complete run,
// can't be expected to publish anything more.
func (f *follower) checkGone() error {
	if f.manifest == nil && f.unconfirmed == nil {
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
