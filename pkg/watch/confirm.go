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
func (f *follower) confirm(ctx context.Context, p *run.Progress) (bool, error) {
	if f.manifest != nil && !p.State.Finished() {
		return true, f.compare(p)
	}
	record, err := f.readRecord(ctx)
	if f.manifest == nil {
		return false, nil
	}
	if err := f.compare(p); err != nil {
		return false, err
	}
	p.Confirmation.Published = p.IsPublished()
	switch {
	case !p.State.Finished():
		return true, nil
	case errors.Is(err, bus.ErrNoRecord): // the published total is right, whoever says it
		return p.State != run.Complete || p.Confirmation.Published, nil
	case err != nil || record.State != p.State:
		return false, nil
	case p.State != run.Complete:
		return true, nil
	}
	total, err := record.ParseTotal()
	if err != nil || total == nil {
		return p.Confirmation.Published, err
	}
	p.Total, p.Confirmation = total, record.Confirmation // which not anybody can write
	p.Confirmation.Published = p.IsPublished()
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

// compare returns how a snapshot contradicts the manifest of the run.
func (f *follower) compare(p *run.Progress) error {
	m := f.manifest
	if p.N != m.N || p.Symmetry != m.Symmetry || p.Placed != len(m.Placed) || p.Tasks != m.Tasks {
		return fmt.Errorf("a message about run %s says n = %d, symmetry %s, %d placed and %d tasks, its record n = %d, %s, %d and %d",
			f.Run, p.N, p.Symmetry, p.Placed, p.Tasks, m.N, m.Symmetry, len(m.Placed), m.Tasks)
	}
	return nil
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
			return fmt.Errorf("%w: another total is claimed for run %s", queens.ErrContradiction, p.Run)
		}
	case run.Running, run.Stopped:
	}
	return nil
}
