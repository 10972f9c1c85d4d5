package runstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// endTimeout is how long a process may take to end a run after another has asked it to.
const endTimeout = 15 * time.Second

// Requests to end a run, at the socket of its process or as names of empty files in its folder, for which the
// process looks every second.
const (
	cancelRequest = "cancel"
	stopRequest   = "stop"
)

// ErrNotActive says that no process of this machine works on a run.
var ErrNotActive = errors.New("no process works on run")

// isRequested reports whether there is a file with a request.
func (s *Store) isRequested(name, request string) bool {
	_, err := os.Stat(filepath.Join(s.Folder(name), request))
	return err == nil
}

// withdraw removes the files with requests, if there are some.
func (s *Store) withdraw(name string) {
	for _, request := range []string{cancelRequest, stopRequest} {
		_ = os.Remove(filepath.Join(s.Folder(name), request)) // or the next process removes it
	}
}

// requestEnd asks the process that works on a run to end it: at its socket, or else in a file.
func (s *Store) requestEnd(ctx context.Context, name, request string) error {
	if s.request(ctx, name, request, answerTimeout) == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return os.WriteFile(filepath.Join(s.Folder(name), request), nil, 0o600)
}

// end tries to do something with the ledger of a run. While another process works on the run, it asks that process to
// end the run, and tries again, for up to 15 s.
func (s *Store) end(ctx context.Context, name, request string, try func(asked bool) error) error {
	defer s.withdraw(name)
	deadline := time.Now().Add(endTimeout)
	for asked := false; ; asked = true {
		err := try(asked)
		if !errors.As(err, new(*ledger.LockedError)) {
			return err
		}
		if time.Now().Before(deadline) {
			err = s.requestEnd(ctx, name, request)
		}
		if err != nil {
			return fmt.Errorf("%s run %s: %w", request, name, err)
		}
		if pause(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Cancel ends a run for good, and logs that. If another process works on the run, Cancel
// asks it to end, and waits for that up to 15 s. A run that is complete or contradicted can't
// be cancelled; cancelling a run twice is no error.
func (s *Store) Cancel(ctx context.Context, name string) error {
	return s.end(ctx, name, cancelRequest, func(asked bool) error {
		l, err := s.Open(ctx, name)
		switch {
		case err == nil:
			return errors.Join(s.cancel(name, l, asked), l.Close())
		case errors.As(err, new(*ledger.DamagedError)):
			err = fmt.Errorf("%w; to be rid of the run, delete the folder %s", err, s.Folder(name))
		case errors.As(err, new(*ledger.LockedError)):
			return err
		}
		return fmt.Errorf("cancel run %s: %w", name, err)
	})
}

// cancel cancels the run of a ledger that is open for writing, unless the process that worked on it
// has, because it was asked to.
func (s *Store) cancel(name string, l *ledger.Ledger, asked bool) error {
	switch state := l.State(); {
	case state == run.Cancelled && asked:
		s.log.Info().Str("run", name).Uint64("done", l.Len()).Msg("cancelled")
		return nil
	case state == run.Cancelled:
		s.log.Info().Str("run", name).Msg("was cancelled already")
		return s.RemoveRest(name) // a process that was killed has left it
	case state == run.Complete || state == run.Contradicted:
		return fmt.Errorf("run %s is %s already: there is nothing to cancel", name, state)
	default:
		s.log.Info().Str("run", name).Uint64("done", l.Len()).Msg("cancelled")
		return errors.Join(l.SetState(run.Cancelled), s.RemoveRest(name))
	}
}

// Stop asks the process that works on a run to end as by Ctrl-C, waits for that up to 15 s, and logs the state
// in which the run is left. The error wraps [ErrNotActive] if no process of this machine works on the run.
func (s *Store) Stop(ctx context.Context, name string) error {
	return s.end(ctx, name, stopRequest, func(asked bool) error {
		switch err := ledger.CheckWriter(s.Folder(name)); {
		case err != nil:
			return err
		case asked:
			return s.logState(name)
		}
		return fmt.Errorf("%w %s", ErrNotActive, name)
	})
}

// logState logs the state of a run whose process has ended.
func (s *Store) logState(name string) error {
	i := s.Inspect(name)
	if i.Err == nil && i.Locked == nil { // else another process has begun to work on it
		s.log.Info().Str("run", name).Uint64("done", i.Done).Str("state", i.Status()).Msg("the process that worked on the run has ended")
	}
	return i.Err
}

// RemoveRest removes what nobody needs of a run that has ended: the store of its embedded server, and its options.
func (s *Store) RemoveRest(name string) error {
	return errors.Join(os.RemoveAll(s.ServerFolder(name)), os.RemoveAll(s.optionsPath(name)))
}
