package session

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"runtime"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/symmetry"
)

// auditAgain computes the total of a finished run from its ledger.
func (s *Session) auditAgain(ctx context.Context) (report.Result, error) {
	of := s.ledger.Figures()
	outcome := coordinator.Outcome{Workers: of.Workers(), CoreTime: of.CoreTime()}
	total, err := audit.FinalTotal(ctx, s.ledger)
	if err == nil {
		err = s.countUnique(ctx, total)
	}
	if err == nil {
		outcome.Total = total
	}
	return s.result(ctx, &outcome, err), err
}

// countUnique counts the fundamental solutions, if they are wanted. If it fails, the run has
// no total either, because the two may contradict each other.
func (s *Session) countUnique(ctx context.Context, total *big.Int) (err error) {
	if !s.cfg.Unique {
		return nil
	}
	slow := time.AfterFunc(slowAfter, func() {
		s.log.Info().Msg("counting the symmetric solutions, which takes a while")
	})
	defer slow.Stop()
	s.unique, err = symmetry.Fundamental(ctx, s.ledger.Header().Manifest.N, total, runtime.GOMAXPROCS(0))
	return err
}

// slowAfter is how long work that usually takes an instant goes unmentioned.
const slowAfter = time.Second

// result returns the result of a run that ended with an error, or nil.
func (s *Session) result(ctx context.Context, o *coordinator.Outcome, ended error) report.Result {
	h := s.ledger.Header()
	confirmation := audit.Confirmation(s.ledger, o.Total)
	if o.Total == nil {
		s.unique = nil
	}
	return report.Result{
		N:        h.Manifest.N,
		Total:    (*run.Decimal)(o.Total),
		Known:    audit.CompareKnown(s.ledger, o.Total, ended),
		Unique:   (*run.Decimal)(s.unique),
		Run:      h.Run,
		Symmetry: h.Manifest.Symmetry,
		Placed:   h.Manifest.Placed,
		Tasks:    h.Manifest.Tasks,
		Seconds:  time.Since(s.started).Seconds(),
		Workers:  o.Workers,
		End:      endReason(ctx, ended),
		CoreTime: o.CoreTime,

		Confirmed: report.NewConfirmed(&confirmation, o.Total != nil),
	}
}

// endReason names the way in which a run ended.
func endReason(ctx context.Context, err error) report.End {
	switch {
	case err == nil:
		return report.Complete
	case errors.Is(err, queens.ErrContradiction):
		return report.Contradicted
	case errors.Is(err, queens.ErrCancelled):
		return report.Cancelled
	case errors.Is(err, queens.ErrIncomplete):
		return report.Incomplete
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return report.Stopped
	}
	return report.Failed
}

// endStates has the state in which a run is left that ended so; otherwise it is stopped.
var endStates = map[report.End]run.State{
	report.Complete: run.Complete, report.Contradicted: run.Contradicted, report.Cancelled: run.Cancelled,
}

func endState(ctx context.Context, ended error) run.State {
	return cmp.Or(endStates[endReason(ctx, ended)], run.Stopped)
}

// cleanupTimeout bounds the clean-up on the server.
const cleanupTimeout = 2 * time.Second

// finish stores how the run ended, publishes it, and removes from the server what nothing
// needs any more: the tasks, and everything if the run can't be resumed. It reports whether
// this coordinator can resume the run.
func (s *Session) finish(
	ctx context.Context, server *connection, claim *bus.Claim, o *coordinator.Outcome, ended error,
) (resumable bool, failed error) {
	name, state := s.Name(), endState(ctx, ended)
	s.noteWall()
	failed = s.ledger.SetState(state)
	if errors.Is(ended, failed) {
		failed = nil // ended tells already that the ledger can't be written
	}
	if errors.Is(ended, bus.ErrTakenOver) {
		return false, failed // the other coordinator needs what is on the server
	}
	interrupted := ctx
	ctx, done := context.WithTimeout(context.WithoutCancel(interrupted), cleanupTimeout)
	defer done()
	last := s.lastSnapshot(o, state)
	if last.Run != "" { // the coordinator has started
		claim.SetSnapshot(&last)
	}
	claim.SetLost(s.ledger.Lost())
	err := claim.Renew(ctx, state, s.ledger.Len())
	if errors.Is(err, bus.ErrTakenOver) {
		s.log.Warn().Err(err).Msg("leaving what is on the server to the other coordinator")
		return false, failed
	}
	if last.Run != "" {
		s.publish(&last)
	}
	// Workers drop what they hold of the run.
	err = errors.Join(err, s.bus.Telemetry().PublishBeat(run.Beat{Run: name, Epoch: claim.Epoch(), State: state}))
	if m := s.ledger.Header().Manifest; state == run.Complete && m.KnownTotal() == nil {
		s.awaitWatchers(interrupted, server)
		ctx, done = context.WithTimeout(context.WithoutCancel(interrupted), cleanupTimeout)
		defer done()
	}
	if state.Finished() {
		err = s.bus.Registry().Delete(ctx, name)
	} else {
		err = errors.Join(err, s.bus.Tasks().Remove(ctx, name))
	}
	if err != nil {
		s.log.Warn().Err(err).Msg("messages of the run remain on the server")
	}
	return !state.Finished(), failed
}

// recordTimeout is how long the record of a complete run stays on an outside server for watchers.
const recordTimeout = time.Second

// awaitWatchers gives watchers the time to read the total in the run's record, before it is removed: they
// show no other, unless it is the published one.
func (s *Session) awaitWatchers(ctx context.Context, server *connection) {
	switch {
	case server.embedded != nil:
		server.embedded.AwaitUnsubscribed(bus.ProgressSubject(s.Name()), watcherTimeout)
	default:
		select {
		case <-ctx.Done():
		case <-time.After(recordTimeout):
		}
	}
}

// lastSnapshot returns the last snapshot of a run that ended in that state; of no run if the coordinator has not
// started.
func (s *Session) lastSnapshot(o *coordinator.Outcome, state run.State) run.Snapshot {
	last := o.Snapshot.Idle(state)
	if state == run.Complete {
		last.SetTotal(o.Total, new(audit.Confirmation(s.ledger, o.Total)))
	}
	return last
}
