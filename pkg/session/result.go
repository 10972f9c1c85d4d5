package session

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/symmetry"
)

// ending is how a run has ended.
type ending struct {
	coordinator.Outcome
	counted   bool // in this session
	resumable bool // this machine can resume the run
}

// auditAgain computes the total of a finished run from its ledger.
func (s *Session) auditAgain(ctx context.Context) (e ending, err error) {
	of := s.ledger.Figures()
	e.Workers, e.CoreTime = len(of.Workers()), of.CoreTime()
	total, err := audit.FinalTotal(ctx, s.ledger)
	if err == nil {
		err = s.countUnique(ctx, total)
	}
	if err == nil {
		e.Total = total
	}
	return e, err
}

// ErrNotEnded says that tasks of a run are left to count.
var ErrNotEnded = errors.New("the run has not ended")

// Audit returns the result of a run of a store that has ended, with all that a report needs. It only reads the ledger.
// The error is that of the run, as [Session.Run] returns it, or [ErrNotEnded].
func Audit(ctx context.Context, log zerolog.Logger, store *runstore.Store, name string) (report.Result, error) {
	l, err := store.OpenReadOnly(name)
	if err != nil {
		return report.Result{}, err
	}
	defer func() { _ = l.Close() }() // it was only read
	if !isFinal(l) {
		return report.Result{}, ErrNotEnded
	}
	s := &Session{cfg: Config{Store: store}, log: log, ledger: l, started: time.Now()}
	e, err := s.auditAgain(ctx)
	result := s.result(ctx, &e, err)
	result.Survey, result.History = audit.Survey(l), l.History().Samples()
	return result, err
}

// countUnique counts the fundamental solutions, if they are wanted. If it fails, the run has
// no total either, because the two may contradict each other.
func (s *Session) countUnique(ctx context.Context, total *big.Int) (err error) {
	if !s.cfg.Unique {
		return nil
	}
	defer time.AfterFunc(slowAfter, func() { s.log.Info().Msg("counting the symmetric solutions, which takes a while") }).Stop()
	s.unique, err = symmetry.Fundamental(ctx, s.ledger.Header().Manifest.N, total, runtime.GOMAXPROCS(0))
	return err
}

// result returns the result of a run that ended with an error, or nil.
func (s *Session) result(ctx context.Context, e *ending, ended error) report.Result {
	m := s.ledger.Header().Manifest
	confirmation := s.ledger.Confirmation(e.Total)
	if e.Total == nil {
		s.unique = nil
	}
	r := report.Result{
		N:        m.N,
		Total:    (*run.Decimal)(e.Total),
		Known:    audit.CompareKnown(s.ledger, e.Total, ended),
		Unique:   (*run.Decimal)(s.unique),
		Run:      s.Name(),
		Symmetry: m.Symmetry,
		Placed:   m.Placed,
		Tasks:    m.Tasks,
		Seconds:  time.Since(s.started).Seconds(),
		Elapsed:  s.ledger.Wall(),
		Workers:  e.Workers,
		End:      endReason(ctx, ended),
		CoreTime: e.CoreTime,

		CoreHours: e.CoreTime.Hours(),
		Confirmed: confirmation.Confirmed(e.Total != nil),
	}
	if e.counted {
		r.Count = &report.Count{
			Snapshot: e.Snapshot, Rate: e.Rate, Resumed: e.Resumed, Resumable: e.resumable,
			Duplicates: e.Duplicates, Refused: e.Refused + s.bus.Rejected(),
		}
	}
	return r
}

// endReason names the way in which a run ended.
func endReason(ctx context.Context, err error) report.End {
	switch {
	case err == nil:
		return report.Complete
	case errors.Is(err, run.ErrContradiction):
		return report.Contradicted
	case errors.Is(err, run.ErrCancelled):
		return report.Cancelled
	case errors.Is(err, run.ErrIncomplete):
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
	ctx context.Context, server *connection, claim *bus.Claim, last *run.Snapshot, ended error,
) (resumable bool, failed error) {
	name, state := s.Name(), last.State
	if state == run.Complete {
		failed = s.ledger.Complete((*big.Int)(last.Total))
	} else {
		failed = s.ledger.SetState(state)
	}
	if errors.Is(ended, failed) {
		failed = nil // ended tells already that the ledger can't be written
	}
	if errors.Is(ended, bus.ErrTakenOver) {
		return false, failed // the other coordinator needs what is on the server
	}
	limited := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	}
	renewing, done := limited()
	defer done()
	if last.Run != "" { // the coordinator has started
		claim.SetSnapshot(last)
	}
	err := claim.Renew(renewing, state, s.ledger.Len(), s.ledger.Lost())
	if errors.Is(err, bus.ErrTakenOver) {
		s.log.Warn().Err(err).Msg("leaving what is on the server to the other coordinator")
		return false, failed
	}
	if last.Run != "" {
		s.publish(last)
	}
	// Workers drop what they hold of the run.
	err = errors.Join(err, s.bus.Telemetry().PublishAnnouncement(run.Announcement{Run: name, Epoch: claim.Epoch(), State: state}))
	s.awaitWatchers(ctx, server, state)
	removing, done := limited()
	defer done()
	if state.Finished() {
		err = errors.Join(err, s.bus.Registry().Delete(removing, name))
	} else {
		err = errors.Join(err, s.bus.Tasks().Remove(removing, name))
	}
	if err != nil {
		s.log.Warn().Err(err).Msg("messages of the run remain on the server")
	}
	return !state.Finished(), failed
}

const (
	// watcherTimeout is how long the embedded server and the record of a finished run stay for watchers.
	watcherTimeout = 2 * time.Second
	// recordTimeout is how long the record of a complete run stays on an outside server for watchers.
	recordTimeout = time.Second
)

// awaitWatchers gives watchers the time to compare the end of a run with its record, before that is removed: they
// show no total but that of the record, unless it is the published one.
func (s *Session) awaitWatchers(ctx context.Context, server *connection, state run.State) {
	m := s.ledger.Header().Manifest
	switch {
	case !state.Finished():
	case server.embedded != nil:
		server.embedded.AwaitUnsubscribed(bus.ProgressSubject(s.Name()), watcherTimeout)
	case state == run.Complete && m.KnownTotal() == nil:
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
		last.SetTotal(o.Total, new(s.ledger.Confirmation(o.Total)))
	}
	return last
}
