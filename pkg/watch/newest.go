package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/bus"
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
// [ErrNotActive] if there is no such run, or is a [run.AmbiguousError].
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
			if err == nil || errors.As(err, new(*run.AmbiguousError)) || missing && !waited || time.Since(start) > recordGrace {
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
	names, err := registry.Names(ctx)
	if err != nil {
		return "", err
	}
	var newest run.Record
	var unread error
	for _, name := range names {
		r, err := registry.Record(ctx, name)
		if err != nil && !errors.Is(err, bus.ErrNoRecord) {
			unread = err
		}
		if err != nil {
			continue
		}
		order := cmp.Or(cmp.Compare(precedence(&r), precedence(&newest)), r.Created.Compare(newest.Created))
		if precedence(&r) > 0 && order > 0 {
			newest = r
		}
	}
	switch {
	case newest.Run == "" && unread != nil:
		return "", unread
	case newest.Run == "":
		return "", fmt.Errorf("%w on %s", ErrNoRuns, connection.Server())
	}
	return newest.Run, nil
}

// precedence says which run is shown before others: an active one, one that may become active, a complete one. It
// is 0 for a run that has nothing to show.
func precedence(r *run.Record) int {
	switch {
	case r.Run == "":
		return 0
	case r.IsActive():
		return 3
	case !r.State.Finished():
		return 2
	case r.Total() != nil:
		return 1
	}
	return 0
}
