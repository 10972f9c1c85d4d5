package session

import (
	"errors"
	"fmt"

	"nqueens/pkg/humanize"
	"nqueens/pkg/keyring"
	"nqueens/pkg/queens"
)

// ErrVoters says that fewer keys can ever be admitted to a run than must agree on each of its tasks.
var ErrVoters = errors.New("admitted keys must agree on each task, and fewer can ever be admitted")

// ErrRedundancy says that a new run must be told how many keys agree on each task: no total is published
// for its board.
var ErrRedundancy = errors.New("no total is published for this board, and only keys that agree can confirm its count")

// setAdmission makes some sources say who is admitted.
func (s *Session) setAdmission(from keyring.Sources) (err error) {
	if from == (keyring.Sources{}) {
		return nil
	}
	if s.admitter, err = keyring.NewAdmitter(from); err == nil {
		s.admits = s.admitter.Admits
	}
	return err
}

// checkVoters returns an error that wraps [ErrVoters] if that many keys can never be admitted to the run of that
// name, or to a new one if it is empty. The embedded server has a token for workers of other processes, see
// [Session.newGuard], and a list may grow.
func (s *Session) checkVoters(name string, redundancy int) error {
	others := s.cfg.Listen != "" || s.cfg.URL != "" && s.admitter != nil
	if redundancy < 2 || others {
		return nil
	}
	if name != "" {
		return fmt.Errorf("run %s: %d %w", name, redundancy, ErrVoters)
	}
	return fmt.Errorf("%d %w", redundancy, ErrVoters)
}

// checkLedgerVoters is checkVoters for the run of the ledger, unless nothing is left to count.
func (s *Session) checkLedgerVoters() error {
	if isFinal(s.ledger) {
		return nil
	}
	return s.checkVoters(s.Name(), s.redundancy())
}

// redundancy returns how many keys must agree on each task of the run.
func (s *Session) redundancy() int { return s.ledger.Header().Trust.Redundancy }

// checkNew returns why a new run of a job can't start as the session is configured, if that is so.
func (s *Session) checkNew(job *Job) error {
	if _, published := queens.KnownTotal(job.N); job.Redundancy == 0 && !published && len(job.Placed) == 0 {
		return ErrRedundancy
	}
	return s.checkVoters("", job.Redundancy)
}

// warnNew warns of a new run for whose board no total is published, if its job says nothing of redundancy.
func (s *Session) warnNew(job *Job) {
	if job.Redundancy == 0 && len(job.Placed) > 0 {
		s.log.Warn().Int("n", job.N).Msg("no total is published for a board with queens placed beforehand: " +
			"only keys that agree confirm its count, as with --redundancy 2")
	}
}

// warnVoters warns of who may be the voters of a run in which several keys must agree.
func (s *Session) warnVoters(server *connection) {
	redundancy := s.redundancy()
	if redundancy < 2 || s.admitter == nil {
		return
	}
	var own []string
	if s.cfg.Workers > 0 {
		own = append(own, s.identity.Key())
	}
	add := []string{"coordinator", "keys", "add", "worker", "NAME", "--public-key", "KEY"}
	revoke := []string{"coordinator", "keys", "revoke", keyring.JoinToken}
	if server.guard != nil {
		folder := []string{"--keys", server.guard.Folder()}
		add, revoke = append(add, folder...), append(revoke, folder...)
	}
	switch keys, token := s.admitter.Count(own...); {
	case token:
		s.log.Warn().Int("redundancy", redundancy).Msg("the join token admits any number of keys, so one owner may be several voters: " +
			"to give each owner one key, add it with " + humanize.ShellWords(add...) + ", and replace the token with " + humanize.ShellWords(revoke...))
	case keys < redundancy:
		s.log.Warn().Int("redundancy", redundancy).Int("keys", keys).Msg("fewer keys are admitted than must agree on each task: " +
			"add keys to the file of --admitted, or with " + humanize.ShellWords(add...))
	}
}

// rereadAdmitted learns who is admitted now, and says once what it can't read.
func (s *Session) rereadAdmitted() error {
	changed, err := s.admitter.Reread()
	if changed {
		keys, token := s.admitter.Count()
		s.log.Info().Int("keys", keys).Bool("token", token).Msg("the admitted keys have changed")
	}
	failed := ""
	if err != nil {
		if failed = err.Error(); failed != s.unread {
			s.log.Warn().Err(err).Msg("a list of admitted keys or a token can't be read again: those from before stay admitted")
		}
	}
	s.unread = failed
	return nil
}
