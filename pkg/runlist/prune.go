package runlist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// Registry has the records of the runs on a server; see [bus.Registry].
type Registry interface {
	Records(ctx context.Context) ([]run.Record, error)
	// Delete removes all that the server has of a run.
	Delete(ctx context.Context, name string) error
}

// PruneServer removes from a server what it has of runs that have ended and are wanted, by their name and when
// they ended: chunks, results, the consumer and the record. It reports each, the newest first. With dryRun it removes
// nothing. The record of a run that has ended elsewhere does not say so: ended returns the state of such
// a run, or "". A run of a dead coordinator that can be resumed stays. So does one that ended within
// [run.StaleAfter]: its coordinator may still have to learn that it was cancelled. It continues after
// an error.
func PruneServer(ctx context.Context, server string, r Registry, wanted func(name string, ended time.Time) bool, dryRun bool, ended func(name string) run.State, each func(runstore.Pruned)) error {
	records, err := r.Records(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, record := range slices.Backward(records) {
		state := record.State
		if !state.Finished() {
			state = ended(record.Run)
		}
		if !state.Finished() || !wanted(record.Run, record.Updated) || time.Since(record.Updated) < run.StaleAfter {
			continue
		}
		if !dryRun {
			if err := r.Delete(ctx, record.Run); err != nil {
				failed = errors.Join(failed, fmt.Errorf("remove run %s from %s: %w", record.Run, server, err))
				continue
			}
		}
		each(runstore.Pruned{Run: record.Run, State: state, Ended: record.Updated, Server: server})
	}
	return failed
}
