package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/run"
)

// record is the record of a run, and which claim has written it.
type record struct {
	run.Record
	claim    int
	revision uint64
	before   *run.Record // for answers with old state; nil if there is none
	changed  time.Time
}

// ErrNoRecord says that the server has no record of a run.
var ErrNoRecord = errors.New("the server has no record of the run")

// Registry holds a record of each run.
type Registry struct{ bus *Bus }

// Registry returns the records of runs.
func (b *Bus) Registry() Registry { return Registry{b} }

// Record returns the record of a run. The error wraps [ErrNoRecord] if there is none.
func (r Registry) Record(ctx context.Context, name string) (run.Record, error) {
	found, err := r.get(ctx, name)
	return found.Record, err
}

// get returns the record of a run with its revision, or sometimes the one before it.
func (r Registry) get(ctx context.Context, name string) (found record, err error) {
	s := r.bus.server
	err = r.bus.request(ctx, func() error {
		known := false
		if found, known = s.state.records[name]; !known {
			return fmt.Errorf("%w: %s", ErrNoRecord, name)
		}
		if found.before != nil && time.Since(found.changed) < staleness && s.hit(s.faults.Stale) {
			found.Record = *found.before
			found.revision--
		}
		return nil
	})
	return found, err
}

// put stores a record if the server still has its revision, and reports whether it did. A revision of 0
// stands for no record.
func (r Registry) put(ctx context.Context, put *record) (stored bool, err error) {
	s := r.bus.server
	put.Updated = time.Now().UTC()
	err = r.bus.request(ctx, func() error {
		current := s.state.records[put.Run]
		if current.revision != put.revision {
			return nil
		}
		next := *put
		next.revision, next.changed, next.before = uint64(s.stamp().UnixNano()), time.Now(), nil
		if current.revision != 0 {
			next.before = &current.Record
		}
		s.state.records[put.Run] = next
		if stored = !s.hit(s.faults.Conflicting); stored {
			put.revision = next.revision
		}
		return nil
	})
	return stored && err == nil, err
}

// Claim takes a run over from any other coordinator, or creates its record, with an epoch that is one more
// than the highest that the record of the server and r have. The error wraps [run.ErrCancelled] if the run
// is cancelled.
func (r Registry) Claim(ctx context.Context, claimed run.Record) (*Claim, error) {
	s := r.bus.server
	s.mu.Lock()
	s.count.Claims++
	own := &record{Record: claimed, claim: s.count.Claims}
	s.mu.Unlock()
	own.State = run.Running
	for {
		current, err := r.get(ctx, claimed.Run)
		switch {
		case err != nil && !errors.Is(err, ErrNoRecord):
			return nil, err
		case current.State == run.Cancelled:
			return nil, cancelled(claimed.Run)
		}
		own.revision, own.Epoch = current.revision, max(claimed.Epoch, current.Epoch)+1
		stored, err := r.put(ctx, own)
		if err != nil {
			return nil, err
		}
		if stored {
			return &Claim{registry: r, own: own}, nil
		}
	}
}

func cancelled(name string) error { return fmt.Errorf("%w: %s", run.ErrCancelled, name) }

// Cancel marks a run as cancelled, and removes its chunks and results. The error wraps [ErrNoRecord] if there
// is no record.
func (r Registry) Cancel(ctx context.Context, name string) error {
	for {
		current, err := r.get(ctx, name)
		if err != nil {
			return err
		}
		current.State = run.Cancelled
		stored, err := r.put(ctx, &current)
		if err != nil {
			return err
		}
		if stored {
			return r.bus.Tasks().Purge(ctx, name)
		}
	}
}

// Claim is a coordinator's hold on a run. It is for one goroutine at a time.
type Claim struct {
	registry Registry
	own      *record
}

// Epoch returns the number of this claim among all claims of the run, from 1.
func (c *Claim) Epoch() uint64 { return c.own.Epoch }

// SetSnapshot has the next Renew store the snapshot.
func (c *Claim) SetSnapshot(s *run.Snapshot) { c.own.Snapshot = s }

// Renew updates the record. The error wraps [run.ErrIncomplete] if another coordinator has the run, and
// [run.ErrCancelled] if the run is cancelled. After any other error the claim holds as far as is known. A
// deleted record is created again.
func (c *Claim) Renew(ctx context.Context, state run.State, done, lost uint64) error {
	c.own.State, c.own.Done, c.own.Lost = state, done, lost
	for {
		stored, err := c.registry.put(ctx, c.own)
		if stored || err != nil {
			return err
		}
		current, err := c.registry.get(ctx, c.own.Run)
		switch {
		case err != nil && !errors.Is(err, ErrNoRecord):
			return err
		case current.State == run.Cancelled:
			return cancelled(c.own.Run)
		case current.Epoch > c.own.Epoch, current.Epoch == c.own.Epoch && current.claim != c.own.claim:
			return fmt.Errorf("%w: %s has run %s, with epoch %d after %d",
				run.ErrIncomplete, current.Owner, c.own.Run, current.Epoch, c.own.Epoch)
		}
		c.own.revision = current.revision
	}
}
