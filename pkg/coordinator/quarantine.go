package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// quarantine accepts nothing more from the key of a wrong result, and has what only that key stood
// for counted again.
func (c *core) quarantine(now time.Time, wrong *queens.Result, right uint64) error {
	if c.ledger.IsQuarantined(wrong.Key) {
		return nil
	}
	q := ledger.Quarantined{
		Key: wrong.Key, Task: wrong.Task, At: now, Unadmitted: !wrong.Admitted,
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
	for _, id := range slices.Sorted(maps.Keys(c.cfg.Roster.Held(c.run, c.acceptsWorker))) {
		if held[id].IsZero() { // those who hold it are refused
			c.flight.Withdraw(id)
		}
	}
	c.greet()
}

// void voids some of the results of a quarantined key. It is called until there are no more, between other
// events.
func (c *core) void(now time.Time) error {
	changed, more, err := c.ledger.Void()
	if err != nil {
		return err
	}
	for i := range changed {
		v := &changed[i]
		c.agreement.Voided(now, v.Task, c.standing(v.Task), c.disputeOf(v.Task))
		if v.After == nil {
			c.journal.voided++
		}
	}
	if len(changed) > 0 {
		c.figures.restart(c)
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
// voided. It may be called at any time, and fails if the key is not quarantined, or all tasks are counted.
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

// lift ends the quarantine of a key, now or when everything is voided.
func (c *core) lift(now time.Time, l lift) {
	if c.ledger.IsVoiding() {
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
		if d, ok := c.ledger.Dispute(q.Task); ok && d.HasReferee() && !slices.ContainsFunc(c.ledger.Disputes(), func(d ledger.Dispute) bool {
			return isWrong(&d, q.Key)
		}) {
			c.lift(now, lift{key: q.Key})
		}
	}
}

// isWrong reports whether a key voted for another count than the accepted one of a settled dispute.
func isWrong(d *ledger.Dispute, key string) bool {
	right, counted := d.Accepted()
	differs := func(v queens.Result) bool { return v.Key == key && v.Count != right }
	return counted && d.Settled && (slices.ContainsFunc(d.Votes, differs) || slices.ContainsFunc(d.Voided, differs))
}

// quarantinedKeys returns the keys for a beat: those quarantined last, if there are too many.
func (c *core) quarantinedKeys() []string {
	var keys []string
	for _, q := range c.ledger.Quarantined() {
		keys = append(keys, q.Key)
	}
	return keys[max(0, len(keys)-run.MaxQuarantined):]
}
