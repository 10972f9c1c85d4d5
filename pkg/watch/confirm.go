package watch

import (
	"context"
	"errors"
	"fmt"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// This file compares snapshots, which anybody can publish, with the record of the run.

// confirm reports whether the run's record confirms a snapshot, and takes the total from the record. The
// error says how they contradict each other.
func (f *follower) confirm(ctx context.Context, p *run.Snapshot) (bool, error) {
	if f.manifest != nil && !p.State.Finished() {
		return true, p.Matches(f.Run, f.manifest)
	}
	record, err := f.readRecord(ctx)
	if f.manifest == nil {
		return false, nil
	}
	if err := p.Matches(f.Run, f.manifest); err != nil {
		return false, err
	}
	p.NotePublished()
	switch {
	case !p.State.Finished():
		return true, nil
	case errors.Is(err, bus.ErrNoRecord): // the published total is right, whoever says it
		return p.State != run.Complete || p.Known() == queens.Match, nil
	case err != nil || record.State != p.State:
		return false, nil
	case p.State != run.Complete:
		return true, nil
	}
	if record.Total() == nil {
		return p.Known() == queens.Match, nil
	}
	p.Total, p.Confirmed = record.Snapshot.Total, record.Snapshot.Confirmed // which not anybody can write
	p.NotePublished()
	return true, nil
}

// readRecord reads the run's record, and keeps the manifest of the first.
func (f *follower) readRecord(ctx context.Context) (run.Record, error) {
	record, err := f.Record(ctx, f.Run)
	if err == nil && f.manifest == nil {
		f.manifest = &record.Manifest
		if f.OnManifest != nil {
			f.OnManifest(f.manifest)
		}
	}
	return record, err
}

// failure returns the error of a run that ended without a trustworthy total.
func failure(p *run.Snapshot) error {
	switch p.State {
	case run.Contradicted:
		return fmt.Errorf("%w: run %[2]s ended so: coordinator verify %[2]s, where its ledger is, may say which count is wrong", run.ErrContradiction, p.Run)
	case run.Cancelled:
		return fmt.Errorf("run %s: %w", p.Run, run.ErrCancelled)
	case run.Complete:
		if p.Known() == queens.Mismatch {
			return fmt.Errorf("%w: another total is claimed for run %[2]s: coordinator verify %[2]s, where its ledger is, may say which count is wrong", run.ErrContradiction, p.Run)
		}
	case run.Running, run.Stopped:
	}
	return nil
}
