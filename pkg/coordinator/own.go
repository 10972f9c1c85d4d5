package coordinator

import (
	"context"
	"errors"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
)

// countKind is why the coordinator counts a task itself.
type countKind int

const (
	quickCount countKind = iota // to settle a dispute, in at most refereeTimeout
	longCount                   // to settle a dispute, however long it takes
	checkCount                  // for a spot check
	aloneCount                  // because workers were lost with the task
)

const refereeTimeout = time.Minute

// ownCount is a task that the coordinator counts itself.
type ownCount struct {
	kind    countKind
	task    uint64
	kernels []string // that have counted it: it is counted by another one
}

// errTooLong says that a count has taken more than refereeTimeout.
var errTooLong = errors.New("the count would take longer than a minute")

// count counts a task, in a goroutine beside the event loop.
func (c *Coordinator) count(ctx context.Context, o *ownCount) (run.TaskCount, error) {
	task, _ := c.core.index.Task(o.task)
	task.Run = c.run
	switch o.kind {
	case quickCount:
		quick, cancel := context.WithTimeoutCause(ctx, refereeTimeout, errTooLong)
		defer cancel()
		count, err := c.cfg.Referee(quick, &task, o.kernels...)
		if err != nil && ctx.Err() == nil && (quick.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
			err = errTooLong
		}
		return count, err
	case longCount:
		c.cfg.Log.Warn().Uint64("task", o.task).
			Msg("the coordinator counts a disputed task itself, however long that takes: no admitted key that is connected has settled the dispute")
		return c.cfg.Referee(ctx, &task, o.kernels...)
	case checkCount:
		return c.cfg.Check(ctx, &task, o.kernels...)
	}
	c.cfg.Log.Warn().Uint64("task", o.task).Msg("counting a task that lost workers in a process of its own, which may take a while")
	return c.cfg.Alone(ctx, &task)
}

// counted takes up a count of the coordinator itself, or why there is none.
func (c *core) counted(now time.Time, o *ownCount, count run.TaskCount, err error) error {
	worker := run.Referee
	switch o.kind {
	case quickCount, longCount:
		failure := agreement.NotTried
		if err != nil {
			failure = agreement.Failed
			if errors.Is(err, errTooLong) {
				failure = agreement.TooLong
			}
			c.cfg.Log.Warn().Uint64("task", o.task).AnErr("reason", err).
				Msg("the coordinator does not settle the dispute itself for now: other workers count the task again")
		}
		c.agreement.RefereeEnded(now, o.task, o.kind == longCount, failure)
	case checkCount:
		worker = run.Checker
		if err != nil {
			c.cfg.Log.Warn().Err(err).Uint64("task", o.task).Msg("a spot check failed: the task is not checked")
		}
		c.agreement.CheckEnded(o.task, count.Elapsed, err != nil)
	case aloneCount:
		return c.countedAlone(now, o.task, count, err)
	}
	if err == nil {
		if err := c.recordOwn(now, o.task, worker, count); err != nil {
			return err
		}
	}
	if o.kind == checkCount { // for the next
		c.agreement.Tick(now, c.wall(now), c.flight.LongestSearch(), c.ledger.IsRevoking())
	}
	return c.carryOut(now)
}
