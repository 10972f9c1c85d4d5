package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// quarantine accepts nothing more from the key of a wrong result, and has what only that key stood
// for counted again.
func (c *core) quarantine(now time.Time, wrong *run.Result, right uint64) error {
	if c.ledger.IsQuarantined(wrong.Key) {
		return nil
	}
	q := run.QuarantinedKey{
		Key: wrong.Key, Worker: wrong.Worker, Task: wrong.Task, At: now, Unadmitted: !wrong.Admitted,
		Reason: fmt.Sprintf("worker %s counted %d in task %d, which has %d", wrong.Worker, wrong.Count, wrong.Task, right),
	}
	if err := c.ledger.Quarantine(q); err != nil {
		return err
	}
	c.journal.quarantined(c, wrong, right)
	c.changedVoters(now)
	return nil
}

// changedVoters takes up that a key was quarantined, or is not any more.
func (c *core) changedVoters(now time.Time) {
	c.observeVoters(now)
	held := c.cfg.Roster.Held(c.run, c.refusesWorker)
	for _, id := range slices.Sorted(maps.Keys(c.cfg.Roster.Held(c.run, nil))) {
		if held[id].IsZero() { // all who hold it are refused
			c.flight.Withdraw(id)
		}
	}
	c.greet()
}

// revoke revokes some of the results of a quarantined key. It is called until there are no more, between other
// events.
func (c *core) revoke(now time.Time) error {
	changed, more, err := c.ledger.Revoke()
	if err != nil {
		return err
	}
	for _, task := range changed {
		c.agreement.Voided(now, task, c.ledger.Standing(task), c.ledger.Dispute(task))
		if !c.ledger.Has(task) {
			c.journal.voided++
		}
	}
	if len(changed) > 0 {
		c.restart(now)
	}
	if err := c.carryOut(now); err != nil || more {
		return err
	}
	c.journal.voidedAll(c)
	for _, l := range c.lifts {
		c.lift(now, l)
	}
	c.lifts = nil
	return c.checkKnownTotal()
}

// lift is a request to end the quarantine of a key.
type lift struct {
	key  string
	done chan<- error // nil if nobody waits
}

// errLiftTooLate says that the event loop has ended.
var errLiftTooLate = errors.New("all tasks are counted, and the total is being made: try again when the run has ended")

// Lift ends the quarantine of a key while the run counts, after the results of quarantined keys are
// revoked. It may be called at any time, and fails if the key is not quarantined, or all tasks are counted.
func (c *Coordinator) Lift(ctx context.Context, key string) error {
	done := make(chan error, 1)
	select {
	case c.events <- func(now time.Time) error { c.core.lift(now, lift{key, done}); return nil }:
	case <-c.details.ended:
		return errLiftTooLate
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lift ends the quarantine of a key, now or when everything is revoked.
func (c *core) lift(now time.Time, l lift) {
	if c.ledger.IsRevoking() {
		c.lifts = append(c.lifts, l)
		return
	}
	err := c.ledger.Lift(l.key)
	if l.done != nil {
		l.done <- err
	}
	if err == nil { // if the ledger failed, the next result tells
		c.cfg.Log.Warn().Str("key", l.key).Msg("quarantine lifted: results of the key count again")
		c.changedVoters(now)
	}
}

// acquit lifts the quarantines that the coordinator's own counts refute: as many voters as settle a dispute had the key
// quarantined, and the coordinator has counted the task later, as the key did. A key that counted wrong in another
// dispute stays quarantined.
func (c *core) acquit(now time.Time) {
	for _, q := range c.ledger.Quarantined() {
		// Most keys are wrong in the dispute for whose sake they were quarantined: then the others need no look.
		if d := c.ledger.Dispute(q.Task); d != nil && d.HasReferee() && !isWrong(d, q.Key) &&
			!slices.ContainsFunc(c.ledger.Disputes(), func(d run.Dispute) bool { return isWrong(&d, q.Key) }) {
			c.lift(now, lift{key: q.Key})
		}
	}
}

// isWrong reports whether a key voted for another count than the accepted one of a settled dispute.
func isWrong(d *run.Dispute, key string) bool {
	differs := func(v run.Result) bool { return v.Key == key && v.Count != d.Accepted }
	return len(d.Votes) > 0 && d.Settled && (slices.ContainsFunc(d.Votes, differs) || slices.ContainsFunc(d.Revoked, differs))
}

// quarantinedKeys returns the keys for an announcement: those quarantined last, if there are too many.
func (c *core) quarantinedKeys() []string {
	var keys []string
	for _, q := range c.ledger.Quarantined() {
		keys = append(keys, q.Key)
	}
	return keys[max(0, len(keys)-run.MaxQuarantined):]
}
