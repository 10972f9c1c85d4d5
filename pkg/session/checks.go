package session

import (
	"context"
	"runtime"
	"time"

	"nqueens/pkg/estimate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
)

// longChecks is how long the spot checks of a run may take before its start says so.
const longChecks = time.Minute

// longN is the least n whose count may take so long. Smaller boards do not wait for an estimate.
const longN = 20

// announceChecks says how long the spot checks of the run take if no other key makes them, if they have no bound and
// that is long. The estimate takes about two seconds.
func (s *Session) announceChecks(ctx context.Context) error {
	trust, m := s.ledger.Header().Trust, s.ledger.Header().Manifest
	if trust.SpotCheck.Bounded || trust.SpotCheck.Share == 0 || m.N < longN || isFinal(s.ledger) {
		return nil
	}
	k, err := kernel.Choose(kernel.Auto)
	if err != nil {
		return err
	}
	cores := runtime.GOMAXPROCS(0)
	all, err := estimate.Searches(ctx, &m, k, cores)
	if err != nil {
		return err
	}
	if took := checkTime(all, trust.SpotCheck.Share, cores); took > longChecks {
		s.log.Info().Str("run", s.Name()).Stringer("spot_check", trust.SpotCheck).Float64("estimate_s", took.Seconds()).
			Msg("every spot check is made before the run ends: if no other key makes any, they take this process about " + humanize.Duration(took))
	}
	return nil
}

// checkTime returns the time in which cores count a share of the tasks again that took so long altogether.
func checkTime(all time.Duration, share float64, cores int) time.Duration {
	return time.Duration(float64(all) * share / float64(cores))
}
