package runlist_test

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
)

var started = time.Date(2026, 11, 20, 15, 30, 12, 0, time.UTC)

// snapshot is of a run with half of its work done, at a rate.
func snapshot(name string, state run.State, rate float64) run.Snapshot {
	return run.Snapshot{Run: name, N: 8, State: state, At: started, Done: 3, Tasks: 9, WorkDone: 0.5, Rate: rate}
}

// record returns the record of a run on a server, updated that long ago.
func record(name string, state run.State, age time.Duration, rate float64) run.Record {
	return run.Record{
		Run: name, State: state, Manifest: queens.Manifest{N: 8, Tasks: 9}, Owner: "far away",
		Snapshot: new(snapshot(name, state, rate)), Created: started, Updated: time.Now().Add(-age),
	}
}

// A run that is known here and on the server is listed once: as its ledger says, unless the server
// knows that it is active elsewhere, or has ended.
func TestOneEntryARun(t *testing.T) {
	listed := func(state, server, owner string, rate float64) report.ListedRun {
		return report.ListedRun{
			Snapshot: snapshot("n8-a", run.State(state), rate), Status: state,
			Created: started, Ledger: "/runs/n8-a", Server: server, Owner: owner,
		}
	}
	for _, c := range []struct {
		name   string
		local  report.ListedRun
		record run.Record
		state  string
		rate   float64
	}{
		{"active here", listed("running", "", "here", 7), record("n8-a", run.Running, 0, 5), "running", 7},
		{"active elsewhere", listed("interrupted", "", "", 0), record("n8-a", run.Running, 0, 5), "running", 5},
		{"cancelled elsewhere", listed("stopped", "", "", 0), record("n8-a", run.Cancelled, time.Hour, 0), "cancelled", 0},
		{"stopped", listed("stopped", "", "", 0), record("n8-a", run.Stopped, 0, 0), "stopped", 0},
		{"interrupted", listed("interrupted", "", "", 0), record("n8-a", run.Running, time.Hour, 5), "interrupted", 0},
		{"complete", listed("complete", "", "", 0), record("n8-a", run.Running, time.Hour, 5), "complete", 0},
		{"unreadable", report.ListedRun{Snapshot: run.Snapshot{Run: "n8-a"}, Status: "unreadable", Ledger: "/runs/n8-a"}, record("n8-a", run.Stopped, 0, 0), "unreadable", 0},
	} {
		runs := runlist.Merge([]report.ListedRun{c.local}, runlist.OnServer("nats://a:4222", false, []run.Record{c.record}))
		if len(runs) != 1 {
			t.Errorf("%s: %d entries", c.name, len(runs))
			continue
		}
		r := runs[0]
		if r.Status != c.state || r.WorkDone != 0.5 || r.Rate != c.rate || r.Ledger != "/runs/n8-a" || r.Server != "nats://a:4222" || r.N != 8 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// A server without keys says no total but the published one, and no server another than that: of a run, local or not,
// whose record anybody may have written.
func TestNoForgedTotals(t *testing.T) {
	for _, c := range []struct {
		n     int
		total int64
		open  bool
		want  run.Level // empty for no total
	}{
		{8, 92, true, run.Published}, {8, 92, false, run.Published}, {8, 93, true, ""}, {8, 93, false, ""},
		{30, 93, true, ""}, {30, 93, false, run.Redundant},
	} {
		r := record("n-a", run.Complete, time.Hour, 0)
		r.Manifest.N, r.Snapshot.N = c.n, c.n
		r.Snapshot.SetTotal(big.NewInt(c.total), &run.Confirmation{Redundancy: 2, Tasks: 9, Voters: 2})
		here := report.ListedRun{Snapshot: snapshot("n-a", run.Stopped, 0), Status: string(run.Stopped), Created: started}
		for _, local := range [][]report.ListedRun{nil, {here}} {
			got := runlist.Merge(local, runlist.OnServer("nats://a:4222", c.open, []run.Record{r}))[0]
			if (got.Total != nil) != (c.want != "") || (got.Confirmed != nil) != (c.want != "") || got.Total != nil && got.Level != c.want {
				t.Errorf("%+v: listed with the total %v, confirmed %+v", c, got.Total, got.Confirmed)
			}
		}
	}
}

// Runs of both sides are listed, the newest first.
func TestNewestFirst(t *testing.T) {
	at := func(name string, hours int) report.ListedRun {
		return report.ListedRun{Snapshot: run.Snapshot{Run: name}, Created: started.Add(time.Duration(hours) * time.Hour)}
	}
	runs := runlist.Merge([]report.ListedRun{at("d", 4), at("b", 2)}, []report.ListedRun{at("c", 3), at("a", 1), at("b", 2)})
	var names []string
	for _, r := range runs {
		names = append(names, r.Run)
	}
	if want := []string{"d", "c", "b", "a"}; !slices.Equal(names, want) {
		t.Errorf("listed %q, want %q", names, want)
	}
}

// The active runs of a server share its workers. One whose coordinator is silent is
// interrupted, and has no rate.
func TestRunsOfAServer(t *testing.T) {
	runs := runlist.OnServer("nats://a:4222", false, []run.Record{
		record("n8-a", run.Running, 0, 5), record("n8-b", run.Running, 0, 5), record("n8-c", run.Running, time.Minute, 5),
	})
	for i, want := range []struct {
		state   string
		rate    float64
		sharing []string
	}{{"interrupted", 0, nil}, {"running", 5, []string{"n8-a"}}, {"running", 5, []string{"n8-b"}}} {
		if got := runs[i]; got.Status != want.state || got.Rate != want.rate || got.WorkDone != 0.5 || !slices.Equal(got.Sharing, want.sharing) {
			t.Errorf("run %s: state %s, rate %v, sharing %q, want %+v", got.Run, got.Status, got.Rate, got.Sharing, want)
		}
	}
}

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
