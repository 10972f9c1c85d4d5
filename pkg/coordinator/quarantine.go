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

var errQuarantined = errors.New("its key is quarantined: it counted wrong")

// wrongVotes returns the votes of a settled dispute that are known to be wrong: the coordinator's
// reference kernel or two admitted voters say another count.
func wrongVotes(d *ledger.Dispute, accepted uint64) (wrong []queens.Result) {
	admitted := 0
	for i := range d.Votes {
		switch v := &d.Votes[i]; {
		case v.Count != accepted:
			wrong = append(wrong, *v)
		case v.Voter() != "":
			admitted++
		}
	}
	if !d.Settled || !d.HasReferee() && admitted < 2 {
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

// quarantine accepts nothing more from the key of a wrong result, and has what only that key stood
// for counted again.
func (c *Coordinator) quarantine(wrong *queens.Result, right uint64) error {
	before := c.ledger.Len()
	_, err := c.ledger.Quarantine(ledger.Quarantined{
		Key: wrong.Key, Task: wrong.Task, At: time.Now(),
		Reason: fmt.Sprintf("worker %s counted %d in task %d, which has %d", wrong.Worker, wrong.Count, wrong.Task, right),
	})
	if err != nil {
		return err
	}
	c.cfg.Log.Error().Str("key", wrong.Key).Str("worker", wrong.Worker).Str("kernel", wrong.Kernel).
		Uint64("task", wrong.Task).Uint64("counted", wrong.Count).Uint64("right", right).
		Uint64("void", before-c.ledger.Len()).
		Msg("worker quarantined: it counted wrong. Its key counts for nothing in this run, and what only it has counted is counted again. " +
			"Check that machine; coordinator keys lift and the key ends the quarantine")
	return c.changedVoters()
}

// changedVoters takes up that a key was quarantined, or is not any more.
func (c *Coordinator) changedVoters() error {
	if err := c.collector.load(nil); err != nil {
		return err
	}
	c.window.reopen()
	c.resetMeter()
	for id, t := range c.window.tasks {
		c.window.setAgreed(t, c.trust.agrees(id) && !t.disputed && !t.quarantined)
	}
	for chunk := range c.window.parked {
		chunk.voters = nil
	}
	if c.reconciled {
		for id := range c.collector.disputes {
			c.wanted = append(c.wanted, id)
		}
	}
	c.observeVoters()
	c.publishPosition()
	c.updateBeat()
	c.Greet()
	return c.collector.checkKnownTotal()
}

// lift is a request to end the quarantine of a key.
type lift struct {
	key  string
	done chan<- error
}

// Lift ends the quarantine of a key while the run counts. It may be called at any time, and fails
// if the key is not quarantined.
func (c *Coordinator) Lift(ctx context.Context, key string) error {
	done := make(chan error, 1)
	select {
	case c.lifts <- lift{key, done}:
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

// lift ends the quarantine of a key.
func (c *Coordinator) lift(l lift) error {
	err := c.ledger.Lift(l.key)
	l.done <- err
	if err != nil {
		return nil //nolint:nilerr // the caller has it; if the ledger failed, the next result tells
	}
	c.cfg.Log.Warn().Str("key", l.key).Msg("quarantine lifted: results of the key count again")
	return c.changedVoters()
}

// quarantinedKeys returns the keys for a beat: those quarantined last, if there are too many.
func (c *Coordinator) quarantinedKeys() []string {
	var keys []string
	for _, q := range c.ledger.Quarantined() {
		keys = append(keys, q.Key)
	}
	return keys[max(0, len(keys)-run.MaxQuarantined):]
}
