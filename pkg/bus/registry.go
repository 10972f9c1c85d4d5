package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// How a coordinator loses its run, or does not find one. Errors wrap these.
var (
	// ErrTakenOver: a newer coordinator has the run. It wraps [queens.ErrIncomplete].
	ErrTakenOver = fmt.Errorf("%w: another coordinator has taken it over", queens.ErrIncomplete)
	// ErrCancelled: the run was cancelled, for good.
	ErrCancelled = queens.ErrCancelled
	// ErrNoRecord: the server has no record of the run.
	ErrNoRecord = errors.New("the server has no record of the run")
)

// Registry holds a record of each run: who coordinates it, and how far it is.
type Registry struct{ bus *Bus }

// Record returns the record of a run. The error wraps [ErrNoRecord] if there is none.
func (r Registry) Record(ctx context.Context, name string) (run.Record, error) {
	s, err := r.get(ctx, name)
	if err != nil {
		return run.Record{}, err
	}
	return s.Record, nil
}

// Records returns the records of all runs, in the order in which the runs began. It
// leaves out those that it cannot read, and counts them as rejected.
func (r Registry) Records(ctx context.Context) ([]run.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	bucket, err := r.bus.js.KeyValue(ctx, runsBucket)
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
	defer func() { _ = watcher.Stop() }() // fails if the connection ended first
	var records []run.Record
	for {
		select {
		case entry, open := <-watcher.Updates():
			switch {
			case !open:
				return nil, bucketError(errors.New("the connection has ended"))
			case entry == nil: // marks the end of the initial values
				slices.SortFunc(records, func(a, b run.Record) int {
					return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Run, b.Run))
				})
				return records, nil
			}
			s, err := decodeRecord(entry.Key(), entry.Value())
			if err != nil {
				r.bus.rejected.add(runsBucket+"."+entry.Key(), entry.Value(), err)
				continue
			}
			records = append(records, s.Record)
		case <-ctx.Done():
			return nil, bucketError(ctx.Err())
		}
	}
}

// Names returns the names of the runs that have a record, in no order. Unlike
// [Registry.Records] it creates no consumer: it needs no permission to change anything.
func (r Registry) Names(ctx context.Context) ([]string, error) {
	ctx = requestContext{ctx}
	stream, err := r.bus.js.Stream(ctx, bucketStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, bucketError(err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(bucketSubject+">"))
	if err != nil {
		return nil, bucketError(err)
	}
	var names []string
	for subject := range info.State.Subjects {
		if name := strings.TrimPrefix(subject, bucketSubject); queens.ValidateRun(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Cancel marks a run as cancelled, so that its coordinator ends it, and removes its chunks
// with their consumer, and its results. The record remains until [Registry.Delete], so that a coordinator that is
// away learns of it when it comes back. The error wraps [ErrNoRecord] if there is no
// record; missing streams are no error.
func (r Registry) Cancel(ctx context.Context, name string) error {
	return r.bus.untilSettled(ctx, func() error { return r.cancel(ctx, name) })
}

func (r Registry) cancel(ctx context.Context, name string) error {
	for stored := false; !stored; {
		s, err := r.get(ctx, name)
		if err != nil {
			return err
		}
		s.State = run.Cancelled
		if stored, err = r.put(ctx, s); err != nil {
			return err
		}
	}
	return errors.Join(r.bus.Tasks().Remove(ctx, name), r.bus.Results().Purge(ctx, name))
}

// Delete removes a run's chunks with their consumer, its results and its record, as far as it can. What does
// not exist is no error.
func (r Registry) Delete(ctx context.Context, name string) error {
	return errors.Join(r.bus.Tasks().Remove(ctx, name), r.bus.Results().Purge(ctx, name),
		r.bus.purge(ctx, bucketStream, bucketSubject+name)) // leaves no delete marker
}
