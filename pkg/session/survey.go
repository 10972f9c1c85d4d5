package session

import (
	"context"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/run"
)

// survey reads the ledger of the run for a report.
func (s *Session) survey(ctx context.Context) *run.Survey {
	slow := time.AfterFunc(slowAfter, func() {
		s.log.Info().Str("run", s.Name()).Msg("reading the ledger for the report, which takes a while")
	})
	defer slow.Stop()
	return new(audit.Survey(ctx, s.ledger))
}
