package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// How a coordinator loses its run, or does not find one. Errors wrap these.
var (
	// ErrTakenOver: a newer coordinator has the run. It wraps [run.ErrIncomplete].
	ErrTakenOver = fmt.Errorf("%w: another coordinator has taken it over", run.ErrIncomplete)
	// ErrCancelled: the run was cancelled, for good.
	ErrCancelled = run.ErrCancelled
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
// leaves out those that it cannot read, and counts them as rejected. It needs no permission to change
// anything.
func (r Registry) Records(ctx context.Context) ([]run.Record, error) {
	var records []run.Record
	err := r.each(ctx, func(name string, data []byte) {
		s, err := decodeRecord(name, data)
		if err != nil {
			r.bus.rejected.add(runsBucket+"."+name, data, err)
			return
		}
		records = append(records, s.Record)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(records, func(a, b run.Record) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Run, b.Run))
	})
	return records, nil
}

// Names returns the names of the runs that have a record, in no order.
func (r Registry) Names(ctx context.Context) (names []string, err error) {
	err = r.each(ctx, func(name string, _ []byte) {
		if queens.ValidateRun(name) == nil {
			names = append(names, name)
		}
	})
	return names, err
}

// each calls yield with what the bucket has, one after the other: it has little more than the runs
// that are active.
func (r Registry) each(ctx context.Context, yield func(name string, data []byte)) error {
	for next := uint64(1); ; {
		request, err := json.Marshal(map[string]any{"seq": next, "next_by_subj": bucketSubject + ">"})
		if err != nil {
			return err
		}
		m, err := r.direct(ctx, directGet, request)
		if m == nil || err != nil {
			return err
		}
		sequence, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil || sequence < next {
			return bucketError(fmt.Errorf("a message without its sequence: %w", err))
		}
		next = sequence + 1
		if m.Header.Get("KV-Operation") == "" {
			yield(strings.TrimPrefix(m.Header.Get(jetstream.SubjectHeader), bucketSubject), m.Data)
		}
	}
}

// Cancel marks a run as cancelled, so that its coordinator ends it, and removes its chunks
// with their consumer, and its results. The record remains until [Registry.Delete], so that a coordinator that is
// away learns of it when it comes back. The error wraps [ErrNoRecord] if there is no
// record; missing streams are no error.
func (r Registry) Cancel(ctx context.Context, name string) error {
	return r.bus.resetHint(RecordsPart, r.bus.untilSettled(ctx, func() error { return r.cancel(ctx, name) }))
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
