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
	// Messages returns how many chunks and results of a run the server holds.
	Messages(ctx context.Context, name string) (uint64, error)
	// Delete removes all that the server has of a run.
	Delete(ctx context.Context, name string) error
}

// PruneServer removes from a server what it has of runs that have ended before a time: chunks,
// results, the consumer and the record. It tells of each, the newest first. With dryRun it removes
// nothing. The record of a run that has ended elsewhere does not say so: ended returns the state of such
// a run, or "". A run of a dead coordinator that can be resumed stays. So does one that ended within
// [run.StaleAfter]: its coordinator may still have to learn that it was cancelled. It continues after
// an error.
func PruneServer(ctx context.Context, server string, r Registry, before time.Time, dryRun bool, ended func(name string) run.State, each func(runstore.Pruned)) error {
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
		if !state.Finished() || !record.Updated.Before(before) || time.Since(record.Updated) < run.StaleAfter {
			continue
		}
		messages, err := r.Messages(ctx, record.Run)
		if err == nil && !dryRun {
			err = r.Delete(ctx, record.Run)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove run %s from %s: %w", record.Run, server, err))
			continue
		}
		each(runstore.Pruned{Run: record.Run, State: state, Ended: record.Updated, Server: server, Messages: messages})
	}
	return failed
}
