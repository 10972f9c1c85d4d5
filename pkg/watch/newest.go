package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// Newest returns the name of the newest active run on the server, or else of the newest
// that is not finished, or else of the newest that is complete. It waits for a server that is not connected, and after that also
// for the records of its runs, which coordinators restore if the server lost its store. The
// error wraps [ErrNoRuns] if there is no such run.
func Newest(ctx context.Context, connection Connection, registry Registry) (string, error) {
	return await(ctx, connection, func() (string, error) { return newest(ctx, connection, registry) })
}

// Find returns the name of the run on the server that a person names by the beginning of its name, see
// [run.FindName]. It waits as [Newest] does. It does not look up a whole name. The error wraps
// [ErrNotActive] if there is no such run, or [run.ErrAmbiguous].
func Find(ctx context.Context, connection Connection, registry Registry, beginning string) (string, error) {
	if run.IsWholeName(beginning) {
		return beginning, nil
	}
	return await(ctx, connection, func() (string, error) {
		names, err := registry.Names(ctx)
		if err != nil {
			return "", err
		}
		name, err := run.FindName(beginning, names)
		if err == nil && name == "" {
			err = fmt.Errorf("run %s on %s: %w", beginning, connection.Server(), ErrNotActive)
		}
		return name, err
	})
}

// await calls find once there is a connection, and again while the server may lack records that it
// has lost.
func await(ctx context.Context, connection Connection, find func() (string, error)) (string, error) {
	waited := false
	for start := time.Now(); ; {
		if connection.Connected() != nil {
			start, waited = time.Now(), true
		} else {
			name, err := find()
			missing := errors.Is(err, ErrNoRuns) || errors.Is(err, ErrNotActive)
			if err == nil || errors.Is(err, run.ErrAmbiguous) || missing && !waited || time.Since(start) > recordGrace {
				return name, err
			}
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

func newest(ctx context.Context, connection Connection, registry Registry) (string, error) {
	records, err := registry.Records(ctx)
	if err != nil {
		return "", err
	}
	slices.SortFunc(records, func(a, b run.Record) int {
		return cmp.Or(cmp.Compare(precedence(&a), precedence(&b)), a.Created.Compare(b.Created))
	})
	if n := len(records); n > 0 && precedence(&records[n-1]) > 0 {
		return records[n-1].Run, nil
	}
	return "", fmt.Errorf("%w on %s", ErrNoRuns, connection.Server())
}

// precedence says which run is shown before others: an active one, one that may become active, a complete one. It
// is 0 for a run that has nothing to show.
func precedence(r *run.Record) int {
	switch {
	case r.IsActive():
		return 3
	case !r.State.Finished():
		return 2
	case r.Total() != nil:
		return 1
	}
	return 0
}

// Another waits until a run other than the named one is active on the server, and returns its name.
func Another(ctx context.Context, connection Connection, registry Registry, than string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(listInterval):
		}
		if connection.Connected() == nil {
			if records, err := registry.Records(ctx); err == nil {
				if i := slices.IndexFunc(records, func(r run.Record) bool { return r.IsActive() && r.Run != than }); i >= 0 {
					return records[i].Run, nil
				}
			}
		}
	}
}
