package bus

import (
	"context"
	"errors"
	"fmt"

	"nqueens/pkg/run"
)

// Claim is a coordinator's hold on a run: it holds while the record has the claim's
// epoch. It is for one goroutine at a time.
type Claim struct {
	registry Registry
	stored   *storedRecord
}

// maxTakeovers bounds how often a run was taken over since its coordinator's ledger was written.
// A forged record with a great epoch must not use up the epochs.
const maxTakeovers = 1 << 16

// Claim takes a run over from any other coordinator, or creates its record. The record's
// state becomes [run.Running], and its epoch one more than that of r and that of the
// record before. The other coordinator learns of it when it renews its claim. The error
// wraps [ErrCancelled] if the run is cancelled. A record whose epoch no coordinator can have
// written is an error, and changes nothing.
func (r Registry) Claim(ctx context.Context, record run.Record) (claim *Claim, err error) {
	err = r.bus.untilSettled(ctx, func() (err error) {
		claim, err = r.claim(ctx, record)
		return err
	})
	return claim, r.bus.resetHint(RecordsPart, err)
}

func (r Registry) claim(ctx context.Context, record run.Record) (*Claim, error) {
	ledgerEpoch := record.Epoch
	record.State = run.Running
	stored := &storedRecord{Claim: randomText(), Record: record}
	for {
		current, err := r.current(ctx, record.Run)
		switch {
		case err != nil:
			return nil, err
		case current.State == run.Cancelled:
			return nil, current.cancelled()
		case current.Epoch > ledgerEpoch+maxTakeovers:
			return nil, fmt.Errorf("record of run %s in bucket %s: its epoch is %d, and that of the ledger %d: no coordinator wrote it; to delete it: nats kv del %[2]s %[1]s",
				record.Run, runsBucket, current.Epoch, ledgerEpoch)
		}
		stored.revision, stored.Epoch = current.revision, max(ledgerEpoch, current.Epoch)+1
		done, err := r.put(ctx, stored)
		if err != nil {
			return nil, err
		}
		if done {
			return &Claim{registry: r, stored: stored}, nil
		}
	}
}

// current returns the record of a run, or one without a name if there is none.
func (r Registry) current(ctx context.Context, name string) (*storedRecord, error) {
	s, err := r.get(ctx, name)
	if errors.Is(err, ErrNoRecord) {
		err = nil
	}
	return s, err
}

// Epoch returns the number of this claim among all claims of the run, from 1.
func (c *Claim) Epoch() uint64 { return c.stored.Epoch }

// SetSnapshot has the next [Claim.Renew] store the snapshot, without its workers.
func (c *Claim) SetSnapshot(s *run.Snapshot) {
	stored := *s
	stored.WorkerList = nil
	c.stored.Snapshot = &stored
}

// Renew updates the record with the run's state, its number of done tasks, and how often a task has lost its accepted
// result. If the run is no longer this coordinator's, the error wraps [ErrTakenOver] and names the new owner,
// or wraps [ErrCancelled]. After any other error, such as of the network, the claim still
// holds as far as is known. A deleted record is created again, which is logged.
func (c *Claim) Renew(ctx context.Context, state run.State, done, lost uint64) error {
	c.stored.State, c.stored.Done, c.stored.Lost = state, done, lost
	for {
		stored, err := c.registry.put(ctx, c.stored)
		if stored || err != nil {
			return err
		}
		current, err := c.registry.current(ctx, c.stored.Run)
		if err == nil {
			err = c.lost(current)
		}
		if err != nil {
			return err
		}
		if current.Run == "" {
			c.registry.bus.logMadeAgain("record of run " + c.stored.Run)
		}
		c.stored.revision = current.revision
	}
}

// lost returns why the claim does not hold any more, given the current record.
func (c *Claim) lost(current *storedRecord) error {
	switch {
	case current.State == run.Cancelled:
		return current.cancelled()
	// Two claims have the same epoch only if the record was deleted in between.
	case current.Epoch > c.stored.Epoch, current.Epoch == c.stored.Epoch && current.Claim != c.stored.Claim:
		return fmt.Errorf("%w: run %s is that of %s, epoch %d after %d, and continues there",
			ErrTakenOver, current.Run, current.Owner, current.Epoch, c.stored.Epoch)
	}
	return nil
}
