package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// ActiveError says that another coordinator has lately renewed its claim of a run.
type ActiveError struct {
	Run    string
	Reason string // whose claim it is, and why it is respected
}

// Error names the run and the other coordinator.
func (e *ActiveError) Error() string {
	return fmt.Sprintf("run %s is active: another coordinator works on it: %s", e.Run, e.Reason)
}

// Resume opens the run of that name, or the newest unfinished one if the name is empty. For a run that
// the server alone knows, the beginning of the name is enough. A
// finished run is opened too: [Session.Run] then audits it again.
//
// If the ledger is lost, Resume makes a new one from the run's record on the server; the
// results that the server has are read when the session runs. If the run is active elsewhere,
// that takes takeOver; otherwise the error wraps an [ActiveError]. So does that of [Session.Run] if
// the ledger is an older copy of the one with which the run is active elsewhere. It wraps [bus.ErrNoRecord] if
// the server does not know the run, and otherwise is one of [runstore.Store], [ErrUnique], a [VotersError], or
// [queens.ErrCancelled].
func Resume(ctx context.Context, cfg Config, name string, takeOver bool) (*Session, error) {
	return open(cfg, func(s *Session) error {
		s.takeOver = takeOver
		return s.openResume(ctx, name)
	})
}

func (s *Session) openResume(ctx context.Context, name string) (err error) {
	if name == "" {
		if name, err = s.cfg.Store.NewestUnfinished(); err != nil {
			return err
		}
	}
	if !s.cfg.Store.Exists(name) {
		return s.rebuild(ctx, name)
	}
	if err := s.openLedger(ctx, name); err != nil {
		return err
	}
	if s.ledger.State() == run.Cancelled {
		return fmt.Errorf("run %s: %w", name, queens.ErrCancelled)
	}
	if err := s.checkLedgerVoters(); err != nil {
		return err
	}
	m := s.ledger.Header().Manifest
	return s.checkResumable(ctx, name, &m)
}

// openLedger opens the ledger for writing. A ledger that others are reading, or that can't be
// written, is opened for reading if its run is final.
func (s *Session) openLedger(ctx context.Context, name string) error {
	err := s.openWriting(ctx, name)
	if err == nil {
		return nil
	}
	if l, failed := s.cfg.Store.OpenReadOnly(name); failed == nil {
		if isFinal(l) {
			s.ledger = l
			return nil
		}
		err = errors.Join(err, l.Close())
	}
	return err
}

// checkResumable returns nil if this program can resume the run as it is configured.
func (s *Session) checkResumable(ctx context.Context, name string, m *queens.Manifest) error {
	if s.cfg.Unique && len(m.Placed) > 0 {
		return fmt.Errorf("run %s: %w", name, ErrUnique)
	}
	return audit.CheckManifest(ctx, name, m)
}

// rebuild makes a new ledger of a run from its record on the server.
func (s *Session) rebuild(ctx context.Context, name string) error {
	store := s.cfg.Store
	if _, err := os.Stat(store.ServerFolder(name)); err != nil && s.cfg.URL == "" {
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
		return fmt.Errorf("run %s: %w", record.Run, queens.ErrCancelled)
	case s.cfg.URL != "" && !s.takeOver && record.IsActive():
		return &ActiveError{record.Run, fmt.Sprintf("%s, less than %v ago", record.Owner, run.StaleAfter)}
	}
	name = record.Run
	if err := s.checkResumable(ctx, name, &record.Manifest); err != nil {
		return err
	}
	if err := s.checkVoters(name, record.Manifest, record.Redundancy); err != nil {
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

// findRecord returns the record of the run that a person names by the beginning of its name.
func findRecord(ctx context.Context, registry bus.Registry, beginning string) (run.Record, error) {
	record, err := registry.Record(ctx, beginning)
	if !errors.Is(err, bus.ErrNoRecord) || run.IsWholeName(beginning) {
		return record, err
	}
	names, failed := registry.Names(ctx)
	if failed != nil {
		return record, failed
	}
	name, ambiguous := run.FindName(beginning, names)
	if name == "" {
		return record, cmp.Or(ambiguous, err)
	}
	return registry.Record(ctx, name)
}
