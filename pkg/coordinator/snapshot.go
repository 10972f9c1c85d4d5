package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

const (
	// slowAfter is how long a message may wait until the log says so, once in slowInterval.
	slowAfter    = 2 * time.Second
	slowInterval = time.Minute
)

// snapshot makes the latest snapshot. A snapshot with a total says what confirms the total.
func (s *Coordinator) snapshot(now time.Duration) {
	latest := s.core.Snapshot(now)
	waited, dropped := s.mail.measure(time.Since(s.start))
	latest.Queue.Duration, latest.Dropped = waited, dropped
	if waited >= slowAfter && (s.saidSlow == 0 || now-s.saidSlow >= slowInterval) {
		s.saidSlow = now
		s.Logger.Warn().Dur("queue", waited).Uint64("dropped", dropped).Str(humanize.LogField,
			fmt.Sprintf("messages of workers wait for %s, because more come than this machine can read: "+
				"give the coordinator more processors", humanize.Duration(waited))).Msg("overload")
	}
	if w := latest.Waits; w != nil && w.Reason == queens.NoServer {
		w.Why = s.Wire.Problem()
	}
	if total := (*big.Int)(latest.Total); total != nil {
		latest.SetTotal(total, s.State.Confirmation(total))
	}
	s.OnSnapshot(&latest)
	s.latest.Store(&latest)
}

// errClosed says that a coordinator is closed.
var errClosed = errors.New("the coordinator has ended")

// Workers returns a page of the present workers: see [core.Core.Workers]. It returns the error of
// ctx if that ends first, or one that says that the coordinator is closed.
func (s *Coordinator) Workers(ctx context.Context, number uint64) (
	page []queens.Worker, next uint64, err error,
) {
	done := make(chan struct{})
	s.inputs.put(func(now time.Duration) {
		page, next = s.core.Workers(now, number)
		close(done)
	})
	select {
	case <-done:
		return page, next, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-s.ctx.Done():
		return nil, 0, errClosed
	}
}
