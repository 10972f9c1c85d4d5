package runstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// ErrNotQuarantined says that there is no quarantine to lift.
var ErrNotQuarantined = errors.New("no run has quarantined the key")

// Lift ends the quarantine of a key in every run of the store in which it is quarantined, whether a
// process works on the run or not, and returns the names of these runs, the newest first. It goes
// on after an error. The error wraps [ErrNotQuarantined] if no run has the key in quarantine.
func (s *Store) Lift(ctx context.Context, key string) (runs []string, err error) {
	if err := run.ValidateKey(key); err != nil {
		return nil, err
	}
	all, err := s.List()
	for i := range all {
		name := all[i].Run
		lifted, failed := s.liftIn(ctx, name, key)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("run %s: %w", name, failed))
		}
		if lifted {
			runs = append(runs, name)
		}
	}
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%w %s in %s: nothing is lifted", ErrNotQuarantined, key, s.path)
	}
	return runs, err
}

// liftIn ends the quarantine of a key in a run, and reports whether there was one.
func (s *Store) liftIn(ctx context.Context, name, key string) (lifted bool, err error) {
	l, err := s.OpenReadOnly(name)
	if errors.As(err, new(*ledger.LockedError)) {
		return s.requestLift(ctx, name, key)
	}
	if err != nil {
		return false, err
	}
	quarantined := l.IsQuarantined(key)
	if err := l.Close(); err != nil || !quarantined {
		return false, err
	}
	if l, err = s.Open(ctx, name); err != nil {
		return false, err
	}
	err = l.Lift(key)
	return err == nil, errors.Join(err, l.Close())
}

// requestLift asks the process that works on a run, and waits until it counts.
func (s *Store) requestLift(ctx context.Context, name, key string) (lifted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, liftTimeout)
	defer cancel()
	for {
		err := s.request(ctx, name, "lift?key="+key, liftTimeout)
		switch {
		case err == nil:
			return true, nil
		case isRefused(err, http.StatusConflict):
			return false, nil
		case errors.Is(err, errNoSocket):
			return false, fmt.Errorf("a process works on it, and can't be asked: %w: try again, or stop it first", err)
		case !isNotReady(err):
			return false, err
		}
		if pause(ctx); ctx.Err() != nil {
			return false, err
		}
	}
}
