package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// ErrActive says that another coordinator has lately renewed its claim of a run.
var ErrActive = errors.New("another coordinator works on it")

// activeError returns an error that wraps [ErrActive] and says whose claim it is, and why it is respected.
func activeError(name, reason string) error {
	return fmt.Errorf("run %s is active: %w: %s", name, ErrActive, reason)
}

// Resume opens the run of that name. For a run that the server alone knows, the beginning of the name is enough. A
// finished run is opened too: [Session.Run] then audits it again.
//
// If the ledger is lost, Resume makes a new one from the run's record on the server of cfg.URL; the
// results that the server has are read when the session runs. If the run is active elsewhere,
// that takes takeOver; otherwise the error wraps [ErrActive]. So does that of [Session.Run] if
// the ledger is an older copy of the one with which the run is active elsewhere. It wraps [bus.ErrNoRecord] if
// the server does not know the run, and otherwise is one of [runstore.Store], [ErrUnique], [ErrVoters], or
// [run.ErrCancelled].
func Resume(ctx context.Context, cfg Config, name string, takeOver bool) (*Session, error) {
	return open(cfg, func(s *Session) error {
		s.takeOver = takeOver
		return s.openResume(ctx, name)
	})
}

func (s *Session) openResume(ctx context.Context, name string) error {
	if !s.cfg.Store.Exists(name) {
		return s.rebuild(ctx, name)
	}
	if err := s.openLedger(ctx, name); err != nil {
		return err
	}
	if s.ledger.State() == run.Cancelled {
		return fmt.Errorf("run %s: %w", name, run.ErrCancelled)
	}
	if err := s.checkLedgerVoters(); err != nil {
		return err
	}
	m := s.ledger.Header().Manifest
	return s.checkResumable(ctx, name, &m)
}

// openLedger opens the ledger for writing, and for reading if nothing is left to count: several processes may audit
// one ledger at once. If nobody knows yet that the run has ended, that is so only for a ledger that can't be written.
func (s *Session) openLedger(ctx context.Context, name string) error {
	ended := s.cfg.Store.HasEnded(name)
	if ended && s.openFinal(name) {
		return nil
	}
	err := s.openWriting(ctx, name)
	if err != nil && !ended && s.openFinal(name) {
		return nil
	}
	return err
}

// openFinal opens the ledger for reading, and reports whether nothing is left to count.
func (s *Session) openFinal(name string) bool {
	l, err := s.cfg.Store.OpenReadOnly(name)
	if err != nil {
		return false
	}
	if isFinal(l) {
		s.ledger = l
		return true
	}
	_ = l.Close() // it was only read
	return false
}

// checkResumable returns nil if this program can resume the run as it is configured.
func (s *Session) checkResumable(ctx context.Context, name string, m *queens.Manifest) error {
	if s.cfg.Unique && len(m.Placed) > 0 {
		return fmt.Errorf("run %s: %w", name, ErrUnique)
	}
	defer s.notePlanning(m.N).Stop()
	return audit.CheckManifest(ctx, name, m)
}

// rebuild makes a new ledger of a run from its record on the server.
func (s *Session) rebuild(ctx context.Context, name string) error {
	store := s.cfg.Store
	if s.cfg.URL == "" {
		return store.NoRun(name)
	}
	server, err := s.connect(name)
	if err != nil {
		return err
	}
	defer server.close()
	record, err := findRecord(ctx, server.bus.Registry(), name)
	switch {
	case errors.Is(err, bus.ErrNoRecord):
		return fmt.Errorf("run %s has no ledger in %s, and on server %s: %w", name, store.Path(), server.address, err)
	case err != nil:
		return fmt.Errorf("read the record of run %s: %w", name, err)
	case record.State == run.Cancelled:
		return fmt.Errorf("run %s: %w", record.Run, run.ErrCancelled)
	case !s.takeOver && record.IsActive():
		return activeError(record.Run, fmt.Sprintf("%s, less than %v ago", record.Owner, run.StaleAfter))
	}
	name = record.Run
	if err := s.checkResumable(ctx, name, &record.Manifest); err != nil {
		return err
	}
	if err := s.checkVoters(name, record.Redundancy); err != nil {
		return err
	}
	s.log.Warn().Str("run", name).Str("server", server.address).Str("last_owner", record.Owner).
		Msg("the run has no ledger here: rebuilding it from the server")
	header := ledger.Header{Run: name, Created: record.Created, Manifest: record.Manifest, Trust: newTrust(record.Redundancy, record.SpotCheck)}
	l, err := ledger.Create(store.Folder(name), header)
	if err == nil {
		s.answerForNew(l)
	}
	return err
}

// findRecord returns the record of the run that a person names by its name or the beginning of it.
func findRecord(ctx context.Context, registry bus.Registry, name string) (run.Record, error) {
	if !run.IsWholeName(name) {
		names, err := registry.Names(ctx)
		if err != nil {
			return run.Record{}, err
		}
		found, err := run.FindName(name, names)
		if err != nil {
			return run.Record{}, err
		}
		name = cmp.Or(found, name)
	}
	return registry.Record(ctx, name)
}
