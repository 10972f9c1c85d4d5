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

// The process that works on a run looks for its cancel file every second or so.
const (
	cancelTimeout       = 15 * time.Second
	cancelRetryInterval = 200 * time.Millisecond
)

// cancelFile returns the file that asks the process that works on a run to cancel it.
func (s *Store) cancelFile(name string) string { return filepath.Join(s.Folder(name), "cancel") }

// CancelRequested reports whether a process has asked for the cancellation of the run.
func (s *Store) CancelRequested(name string) bool {
	_, err := os.Stat(s.cancelFile(name))
	return err == nil
}

// WithdrawCancel removes a request to cancel the run, if there is one.
func (s *Store) WithdrawCancel(name string) error { return os.RemoveAll(s.cancelFile(name)) }

// Cancel ends a run for good, and logs that. If another process works on the run, Cancel
// asks it to end, and waits for that up to 15 s. A run that is complete or contradicted can't
// be cancelled; cancelling a run twice is no error.
func (s *Store) Cancel(ctx context.Context, name string) (err error) {
	defer func() { err = errors.Join(err, s.WithdrawCancel(name)) }()
	deadline := time.Now().Add(cancelTimeout)
	asked := false
	for {
		l, err := s.Open(ctx, name)
		switch {
		case err == nil:
			return errors.Join(s.cancel(name, l, asked), l.Close())
		case errors.As(err, new(*ledger.DamagedError)):
			err = fmt.Errorf("%w; to be rid of the run, delete the folder %s", err, s.Folder(name))
		case errors.As(err, new(*ledger.LockedError)) && time.Now().Before(deadline):
			err = os.WriteFile(s.cancelFile(name), nil, 0o600)
			asked = true
		}
		if err != nil {
			return fmt.Errorf("cancel run %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(cancelRetryInterval):
		}
	}
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

// RemoveRest removes what nobody needs of a run that has ended: the store of its embedded server, and its options.
func (s *Store) RemoveRest(name string) error {
	return errors.Join(os.RemoveAll(s.ServerFolder(name)), s.RemoveOptions(name))
}
