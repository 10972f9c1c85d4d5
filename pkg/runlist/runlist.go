// Package runlist lists runs: those of this machine, those of which a server has a record, and both
// together with one entry a run. It shows how far a run is as its coordinator measured it: of an
// active run by the latest snapshot, of one that nobody works on by its ledger or its record.
package runlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
)

// Local returns the runs on this machine, the newest first. It logs which can't be read. The error
// is that of [runstore.Store.List].
func Local(store *runstore.Store, log zerolog.Logger) ([]report.ListedRun, error) {
	infos, err := store.List()
	var runs []report.ListedRun
	for k := range infos {
		runs = append(runs, local(store, &infos[k], log))
	}
	return runs, err
}

// LocalRun returns a run on this machine.
func LocalRun(store *runstore.Store, name string, log zerolog.Logger) report.ListedRun {
	return local(store, new(store.Inspect(name)), log)
}

func local(store *runstore.Store, i *runstore.Info, log zerolog.Logger) report.ListedRun {
	if i.Err != nil {
		log.Warn().Err(i.Err).Str("run", i.Run).Msg("the run's ledger can't be read")
	}
	if i.Damaged > 0 {
		log.Warn().Str("run", i.Run).Int("records", i.Damaged).Msg("ignoring damaged records of the run's ledger")
	}
	r := report.ListedRun{
		Snapshot: i.Snapshot, Status: i.Status(), Created: i.Created, Ended: i.Ended, Ledger: store.Folder(i.Run),
	}
	switch {
	case i.Err != nil:
	case i.Locked != nil:
		h := &i.Locked.Holder
		r.Owner, r.Server = fmt.Sprintf("%s, process %d", h.Host, h.PID), i.Server
	default:
		r.WorkDone = run.Fraction(split.WorkDone(i.Manifest, nil, i.DoneByClass))
	}
	return r
}

// OnServer returns the runs of which a server has records, the newest first. On an open server anybody can write these:
// no total is from there but the published one.
func OnServer(server string, open bool, records []run.Record) []report.ListedRun {
	var runs []report.ListedRun
	for i := range records {
		r := &records[i]
		m := &r.Manifest
		listed := report.ListedRun{Status: string(r.State), Created: r.Created, Server: server, Owner: r.Owner}
		switch {
		case r.Snapshot == nil:
			listed.Snapshot = run.Snapshot{
				Run: r.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: r.State, Done: r.Done, Tasks: m.Tasks,
			}
		case r.IsActive() || r.State.Finished():
			listed.Snapshot = *r.Snapshot
		default:
			listed.Snapshot = r.Snapshot.Idle(r.State)
		}
		listed.NotePublished()
		if known := listed.Known(); known == queens.Mismatch || open && known != queens.Match {
			listed.Total, listed.Confirmed = nil, nil
		}
		listed.Sharing = otherActive(records, i)
		if r.State == run.Running && !r.IsActive() {
			listed.Status = runstore.Interrupted
		}
		runs = append(runs, listed)
	}
	slices.SortFunc(runs, newestFirst)
	return runs
}

// otherActive returns the names of the other active runs, if the run at index i is active: all
// workers of a server work for all of them.
func otherActive(records []run.Record, i int) (names []string) {
	for k := range records {
		if k != i && records[i].IsActive() && records[k].IsActive() && len(names) < run.MaxSharing {
			names = append(names, records[k].Run)
		}
	}
	slices.Sort(names)
	return names
}

// Merge returns the runs of this machine and those of a server, with one entry a run, the newest
// first. A run that is active says so in both; otherwise its ledger is the truth, unless the server
// knows that it is active elsewhere, or has ended.
func Merge(local, server []report.ListedRun) []report.ListedRun {
	runs := slices.Clone(local)
	for _, r := range server {
		i := slices.IndexFunc(runs, func(l report.ListedRun) bool { return l.Run == r.Run })
		if i < 0 {
			runs = append(runs, r)
			continue
		}
		l := &runs[i]
		switch l.Status {
		case runstore.Interrupted, string(run.Stopped):
			if r.Status == string(run.Running) || run.State(r.Status).Finished() {
				r.Ledger = l.Ledger
				*l = r
			}
		case runstore.Unreadable:
			r.Ledger, r.Status = l.Ledger, l.Status
			*l = r
		}
		if l.At.IsZero() {
			l.Snapshot = r.Snapshot
		}
		l.Server = cmp.Or(l.Server, r.Server)
		l.Owner = cmp.Or(l.Owner, r.Owner)
	}
	slices.SortFunc(runs, newestFirst)
	return runs
}

func newestFirst(a, b report.ListedRun) int {
	return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.Run, a.Run))
}

// Registry has the records of the runs on a server; see [bus.Registry].
type Registry interface {
	Records(ctx context.Context) ([]run.Record, error)
	// Delete removes all that the server has of a run.
	Delete(ctx context.Context, name string) error
}

// PruneServer removes from a server what it has of runs that have ended and are wanted, by their name and when
// they ended: chunks, results, the consumer and the record. It reports each, the newest first. With dryRun it removes
// nothing. The record of a run that has ended elsewhere does not say so: ended returns the state of such
// a run, or "". A run of a dead coordinator that can be resumed stays. So does one that ended within
// [run.StaleAfter]: its coordinator may still have to learn that it was cancelled. It continues after
// an error.
func PruneServer(ctx context.Context, server string, r Registry, wanted func(name string, ended time.Time) bool, dryRun bool, ended func(name string) run.State, each func(runstore.Pruned)) error {
	records, err := r.Records(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, record := range slices.Backward(records) {
		state := record.State
		if !state.Finished() {
			state = ended(record.Run)
		}
		if !state.Finished() || !wanted(record.Run, record.Updated) || time.Since(record.Updated) < run.StaleAfter {
			continue
		}
		if !dryRun {
			if err := r.Delete(ctx, record.Run); err != nil {
				failed = errors.Join(failed, fmt.Errorf("remove run %s from %s: %w", record.Run, server, err))
				continue
			}
		}
		each(runstore.Pruned{Run: record.Run, State: state, Ended: record.Updated, Server: server})
	}
	return failed
}
