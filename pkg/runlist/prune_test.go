package runlist_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
)

// registry is a server with records.
type registry struct {
	records []run.Record
	deleted []string
	broken  string // a run that can't be deleted
}

var errBroken = errors.New("broken")

func (r *registry) Records(context.Context) ([]run.Record, error) { return r.records, nil }
func (r *registry) Delete(_ context.Context, name string) error {
	if name == r.broken {
		return errBroken
	}
	r.deleted = append(r.deleted, name)
	return nil
}

// From a server, only what ended runs left is removed, also of those that have ended elsewhere, long enough after
// their end that their coordinators know of it. A dry run removes nothing, and an error does not keep other runs.
func TestPruneServer(t *testing.T) {
	r := &registry{records: []run.Record{
		record("running", run.Running, 0, 0), record("dead", run.Running, 24*time.Hour, 0), record("stopped", run.Stopped, 24*time.Hour, 0),
		record("moved", run.Running, 3*time.Hour, 0), record("moved-and-active", run.Running, run.StaleAfter/2, 0),
		record("old", run.Cancelled, 24*time.Hour, 0), record("complete", run.Complete, time.Hour, 0), record("contradicted", run.Contradicted, time.Hour, 0),
		record("just-cancelled", run.Cancelled, run.StaleAfter/2, 0),
	}}
	ended := func(name string) run.State {
		if strings.HasPrefix(name, "moved") {
			return run.Complete
		}
		return run.Stopped
	}
	prune := func(olderThan time.Duration, dryRun bool) (names []string, err error) {
		r.deleted = nil
		err = runlist.PruneServer(t.Context(), "nats://a:4222", r, func(_ string, at time.Time) bool { return at.Before(time.Now().Add(-olderThan)) }, dryRun, ended, func(p runstore.Pruned) {
			if p.Server != "nats://a:4222" {
				t.Errorf("of run %s: %+v", p.Run, p)
			}
			names = append(names, p.Run)
		})
		return names, err
	}
	all := []string{"contradicted", "complete", "old", "moved"}
	if names, err := prune(0, true); err != nil || !slices.Equal(names, all) || r.deleted != nil {
		t.Errorf("a dry run names %q and removes %q (%v), want %q named", names, r.deleted, err, all)
	}
	if names, err := prune(2*time.Hour, false); err != nil || !slices.Equal(names, all[2:]) || !slices.Equal(r.deleted, all[2:]) {
		t.Errorf("of the old ones it names %q and removes %q (%v), want %q", names, r.deleted, err, all[2:])
	}
	r.broken = "complete"
	if names, err := prune(0, false); !errors.Is(err, errBroken) || !slices.Equal(names, []string{"contradicted", "old", "moved"}) || !slices.Equal(r.deleted, names) {
		t.Errorf("with an error it names %q and removes %q (%v)", names, r.deleted, err)
	}
}
