package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// How a coordinator loses its run, or does not find one. Errors wrap these.
var (
	// ErrTakenOver: a newer coordinator has the run. It wraps [queens.ErrIncomplete].
	ErrTakenOver = fmt.Errorf("%w: another coordinator has taken it over", queens.ErrIncomplete)
	// ErrCancelled: somebody has cancelled the run, for good.
	ErrCancelled = queens.ErrCancelled
	// ErrNoRecord: the server knows no such run.
	ErrNoRecord = errors.New("the server has no record of the run")
)

// Claim is a coordinator's hold on a run: the record's newest epoch is its own. It is
// for one goroutine at a time.
type Claim struct {
	bus  *Bus
	kept keptRecord
}

// Claim takes a run over from whoever has it, or makes its record: with the next epoch
// after that of r and that of the record, as [run.Running], updated now. The other
// coordinator learns it when it renews. The error wraps [ErrCancelled] where the
// record says so.
func (b *Bus) Claim(ctx context.Context, r run.Record) (*Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r.State = run.Running
	c := &Claim{bus: b, kept: keptRecord{Record: r, claim: randomText()}}
	for {
		there, err := b.record(ctx, r.Run)
		switch {
		case errors.Is(err, ErrNoRecord):
		case err != nil:
			return nil, err
		case there.State == run.Cancelled:
			return nil, there.cancelled()
		}
		c.kept.revision, c.kept.Epoch = there.revision, max(r.Epoch, there.Epoch)+1
		stored, err := b.keep(ctx, &c.kept)
		if err != nil {
			return nil, err
		}
		if stored {
			return c, nil
		}
	}
}

// Epoch returns the number of this claim among all of the run, from 1.
func (c *Claim) Epoch() uint64 { return c.kept.Epoch }

// Renew updates the record with how far the run has come. The error wraps
// [ErrTakenOver], with the name of the new owner, or [ErrCancelled] if the run is this
// coordinator's no more. After any other error, such as of the network, it still is as
// far as can be told. A record that was deleted is made again.
func (c *Claim) Renew(ctx context.Context, state run.State, done uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	c.kept.State, c.kept.Done = state, done
	for {
		stored, err := c.bus.keep(ctx, &c.kept)
		if stored || err != nil {
			return err
		}
		there, err := c.bus.record(ctx, c.kept.Run)
		if err != nil && !errors.Is(err, ErrNoRecord) {
			return err
		}
		if err := c.lost(&there); err != nil {
			return err
		}
		c.kept.revision = there.revision
	}
}

// lost says why a record with that content means that the run is another's now.
func (c *Claim) lost(there *keptRecord) error {
	switch {
	case there.State == run.Cancelled:
		return there.cancelled()
	// Two coordinators can have one epoch only where the record was deleted in between.
	case there.Epoch > c.kept.Epoch, there.Epoch == c.kept.Epoch && there.claim != c.kept.claim:
		return fmt.Errorf("%w: run %s is that of %s, epoch %d after %d, and goes on there", ErrTakenOver, there.Run, there.Owner, there.Epoch, c.kept.Epoch)
	}
	return nil
}

// cancelled says that the run of a record is, and since when.
func (k *keptRecord) cancelled() error {
	return fmt.Errorf("%w: %s, at %s UTC", ErrCancelled, k.Run, k.Updated.UTC().Format(time.DateTime))
}

// Runs returns the records of all runs, in the order in which they were begun. Those
// that can't be read are left out, and counted as refused.
func (b *Bus) Runs(ctx context.Context) ([]run.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	bucket, err := b.js.KeyValue(ctx, runsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, bucketError(err)
	}
	watcher, err := bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, bucketError(err)
	}
	defer func() { _ = watcher.Stop() }() // fails when the connection ended first: as well
	var records []run.Record
	for {
		select {
		case entry, open := <-watcher.Updates():
			switch {
			case !open:
				return nil, bucketError(errors.New("the connection has ended"))
			case entry == nil: // that was all
				slices.SortFunc(records, func(a, b run.Record) int {
					return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Run, b.Run))
				})
				return records, nil
			}
			kept, err := decodeRecord(entry.Key(), entry.Value())
			if err != nil {
				b.rejected.add(runsBucket+"."+entry.Key(), entry.Value(), err)
				continue
			}
			records = append(records, kept.Record)
		case <-ctx.Done():
			return nil, bucketError(ctx.Err())
		}
	}
}

// Record returns the record of a run. The error wraps [ErrNoRecord] if there is none.
func (b *Bus) Record(ctx context.Context, run string) (run.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kept, err := b.record(ctx, run)
	return kept.Record, err
}

// CancelRun marks a run as cancelled, so that its coordinator ends it, and removes its
// tasks and results. The record stays, so that a coordinator that is away learns it
// when it comes back, until somebody calls [Bus.Forget]. The error wraps [ErrNoRecord]
// if there is none; that the streams are missing is no error.
func (b *Bus) CancelRun(ctx context.Context, name string) error {
	marking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for stored := false; !stored; {
		kept, err := b.record(marking, name)
		if err != nil {
			return err
		}
		kept.State = run.Cancelled
		if stored, err = b.keep(marking, &kept); err != nil {
			return err
		}
	}
	return errors.Join(b.PurgeTasks(ctx, name), b.purgeResults(ctx, name))
}
