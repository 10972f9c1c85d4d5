package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
)

// Newest returns the name of the newest active run on the server, or else of the newest
// that is not finished. It waits for a server that is not connected, and after that also
// for the records of its runs, which coordinators restore if the server lost its store. The
// error wraps [ErrNoRuns] if there is no such run.
func Newest(ctx context.Context, connection Connection, registry Registry) (string, error) {
	waited := false
	for start := time.Now(); ; {
		if connection.Connected() != nil {
			start, waited = time.Now(), true
		} else {
			name, err := newest(ctx, connection, registry)
			if err == nil || errors.Is(err, ErrNoRuns) && !waited || time.Since(start) > recordGrace {
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
		if err != nil || r.State.Finished() {
			continue
		}
		active, best := r.IsActive(), newest.IsActive()
		if active && !best || active == best && r.Created.After(newest.Created) {
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
