package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Why nothing is accepted from a key.
var (
	errQuarantined = errors.New("its key is quarantined: it counted wrong")
	errUnadmitted  = errors.New("its key is not admitted, and the run takes counts of admitted keys only")
)

// wrongVotes returns the votes of a settled dispute that are known to be wrong: the coordinator as
// referee, or as many admitted keys as settle a dispute, say another count.
func wrongVotes(d *ledger.Dispute, accepted uint64) (wrong []queens.Result) {
	admitted := 0
	for i := range d.Votes {
		switch v := &d.Votes[i]; {
		case v.Count != accepted:
			wrong = append(wrong, *v)
		case v.Admitted:
			admitted++
		}
	}
	if !d.Settled || !d.HasReferee() && admitted < d.Quorum {
		return nil
	}
	return wrong
}

// quarantineJudged quarantines the keys that voted for a wrong count in the disputes settled lately.
func (c *Coordinator) quarantineJudged() error {
	err := c.quarantineWrong(c.collector.judged)
	c.collector.judged = nil
	return err
}

// quarantineWrong quarantines the keys that voted for a wrong count in the disputes about these
// tasks.
func (c *Coordinator) quarantineWrong(tasks []uint64) error {
	for _, id := range tasks {
		d, _ := c.ledger.Dispute(id)
		accepted, ok, err := c.ledger.Result(id)
		if err != nil {
			return err
		}
		if !ok || c.collector.disputes[id] != nil {
			continue
		}
		for _, wrong := range wrongVotes(&d, accepted.Count) {
			if wrong.Key == "" || c.ledger.IsQuarantined(wrong.Key) {
				continue
			}
			if err := c.quarantine(&wrong, accepted.Count); err != nil {
				return err
			}
		}
	}
	return nil
}

// manyUnadmitted is the number of quarantined keys without admission from which on the log says how to
// keep strangers out: anybody can make such keys, and each wrong count is work.
const manyUnadmitted = 8

// quarantine accepts nothing more from the key of a wrong result, and has what only that key stood
// for counted again.
func (c *Coordinator) quarantine(wrong *queens.Result, right uint64) error {
	q := ledger.Quarantined{
		Key: wrong.Key, Task: wrong.Task, At: time.Now(), Unadmitted: !wrong.Admitted,
		Reason: fmt.Sprintf("worker %s counted %d in task %d, which has %d", wrong.Worker, wrong.Count, wrong.Task, right),
	}
	if err := c.ledger.Quarantine(q); err != nil {
		return err
	}
	c.cfg.Log.Error().Str("key", wrong.Key).Str("worker", wrong.Worker).Str("kernel", wrong.Kernel).
		Uint64("task", wrong.Task).Uint64("counted", wrong.Count).Uint64("right", right).
		Msg("worker quarantined: it counted wrong. Its key counts for nothing in this run, and what only it has counted is counted again. " +
			"Check that machine; coordinator keys lift and the key ends the quarantine")
	if liars := c.unadmittedLiars(); q.Unadmitted && liars >= manyUnadmitted && c.limiter.Allow("unadmitted") {
		c.cfg.Log.Error().Int("keys", liars).
			Msg("many keys that are not admitted counted wrong, and each wrong count costs a recount. To keep strangers out, " +
				"give the server keys with coordinator keys init, and the workers keys or the join token; then resume the run")
	}
	c.changedVoters()
	return nil
}

// unadmittedLiars returns the number of quarantined keys that were not admitted.
func (c *Coordinator) unadmittedLiars() (keys int) {
	for _, q := range c.ledger.Quarantined() {
		if q.Unadmitted {
			keys++
		}
	}
	return keys
}

// changedVoters takes up that a key was quarantined, or is not any more.
func (c *Coordinator) changedVoters() {
	c.observeVoters()
	c.withdrawRefused()
	c.updateBeat()
	c.Greet()
}

// void voids some of the results of a quarantined key. The event loop calls it until there are no
// more, and handles other events meanwhile.
func (c *Coordinator) void() error {
	changed, more, err := c.ledger.Void()
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		disputed := c.collector.voided(changed)
		if c.reconciled {
			c.wanted = append(c.wanted, disputed...)
		}
		c.resetMeter()
		c.publishPosition()
	}
	for i := range changed {
		if changed[i].After == nil {
			c.lostToQuarantine++
		}
	}
	if more {
		return nil
	}
	if c.lostToQuarantine > 0 {
		c.cfg.Log.Warn().Uint64("tasks", c.lostToQuarantine).Msg("what only quarantined keys had counted is void: it is counted again")
		c.lostToQuarantine = 0
	}
	for _, l := range c.waitingLifts {
		c.lift(l)
	}
	c.waitingLifts = nil
	return c.collector.checkKnownTotal()
}

// voided takes up the tasks of which results were voided. It returns those whose disputes are open
// again.
func (c *collector) voided(changed []ledger.Voided) (disputed []uint64) {
	var judged []uint64
	for i := range changed {
		v := &changed[i]
		c.remove(&v.Before)
		if v.After != nil {
			c.add(v.After)
		}
		if d, ok := c.ledger.Dispute(v.Task); ok {
			if wasOpen := c.disputes[v.Task] != nil; wasOpen != c.isOpen(&d) {
				judged = append(judged, v.Task)
			} else if wasOpen {
				c.disputes[v.Task] = &d
			}
		}
		agrees, t := c.note(v.Task), c.window.tasks[v.Task]
		switch {
		case t != nil:
			c.window.setAgreed(t, agrees && !t.disputed && !t.deadLettered)
			if t.chunk != nil {
				t.chunk.voters = nil
			}
		case !agrees:
			c.window.reopen()
		case c.trust.SpotCheck > 0 && !c.trust.isChecked(v.Task, c.trust.Redundancy+1):
			c.window.addCheck(v.Task, v.After.Hash, c.trust.Redundancy+1) // again: a count that is void had checked it
			c.window.park([]uint64{v.Task})
		}
	}
	return c.updateDisputes(judged)
}

// lift is a request to end the quarantine of a key.
type lift struct {
	key  string
	done chan<- error
}

// errLiftTooLate says that the event loop has ended.
var errLiftTooLate = errors.New("all tasks are counted, and the total is being made: try again when the run has ended")

// Lift ends the quarantine of a key while the run counts, after the results of quarantined keys are
// voided. It may be called at any time, and fails if the key is not quarantined, or all tasks are counted.
func (c *Coordinator) Lift(ctx context.Context, key string) error {
	done := make(chan error, 1)
	select {
	case c.lifts <- lift{key, done}:
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
func (c *Coordinator) lift(l lift) {
	if c.ledger.IsVoiding() {
		c.waitingLifts = append(c.waitingLifts, l)
		return
	}
	err := c.ledger.Lift(l.key)
	l.done <- err
	if err == nil { // if the ledger failed, the next result tells
		c.cfg.Log.Warn().Str("key", l.key).Msg("quarantine lifted: results of the key count again")
		c.changedVoters()
	}
}

// quarantinedKeys returns the keys for a beat: those quarantined last, if there are too many.
func (c *Coordinator) quarantinedKeys() []string {
	var keys []string
	for _, q := range c.ledger.Quarantined() {
		keys = append(keys, q.Key)
	}
	return keys[max(0, len(keys)-run.MaxQuarantined):]
}
