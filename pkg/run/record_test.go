package run_test

import (
	"math/big"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A record has a valid snapshot of its run, or none. Only that of a complete run has a total.
func TestRecordValidate(t *testing.T) {
	redundancy := 1
	validate := func(state run.State, change func(s *run.Snapshot)) error {
		s := &run.Snapshot{Run: "n8-a", N: 8, Symmetry: queens.Full, State: state, Tasks: 9, Solutions: decimal(0)}
		if state == run.Complete {
			s.SetTotal(big.NewInt(92), &run.Confirmation{Redundancy: 1, Tasks: 9})
		}
		change(s)
		r := run.Record{Run: "n8-a", State: state, Epoch: 1, Redundancy: redundancy, Manifest: queens.Manifest{N: 8, Symmetry: queens.Full, Tasks: 9}, Snapshot: s}
		if err := r.Validate(); err != nil {
			return err
		}
		if total := r.Total(); (total != nil) != (state == run.Complete) {
			t.Errorf("a run that is %s has the total %v", state, total)
		}
		return nil
	}
	by := func(c run.Confirmation) func(*run.Snapshot) {
		return func(s *run.Snapshot) { s.SetTotal(big.NewInt(92), &c) }
	}
	redundancy = 0
	absent := validate(run.Running, func(*run.Snapshot) {})
	redundancy = 2
	named := func(name string) error {
		r := run.Record{Run: name, State: run.Running, Epoch: 1, Redundancy: 1, Manifest: queens.Manifest{N: 8}}
		return r.Validate()
	}
	checkAll(t, []validity{
		{"without redundancy", absent, "the redundancy 0"},
		{"named by its side", named("n8-20261124-101500-abcd"), ""},
		{"named by another side", named("n27-20261124-101500-abcd"), "a manifest of n = 8"},
		{"named by a longer side", named("n88-20261124-101500-abcd"), "a manifest of n = 8"},
		{"named by a person", named("n27"), ""},
		{"running", validate(run.Running, func(*run.Snapshot) {}), ""},
		{"complete", validate(run.Complete, func(*run.Snapshot) {}), ""},
		{"of another run", validate(run.Running, func(s *run.Snapshot) { s.Run = "n8-b" }), "a snapshot says run n8-b"},
		{"of another board", validate(run.Running, func(s *run.Snapshot) { s.N = 9 }), "n = 9"},
		{"of more tasks", validate(run.Running, func(s *run.Snapshot) { s.Tasks = 10 }), "10 tasks"},
		{"ended otherwise", validate(run.Running, func(s *run.Snapshot) { s.State = run.Cancelled }), "the state running"},
		{"published", validate(run.Complete, by(run.Confirmation{Published: true, Redundancy: 1, Tasks: 9})), ""},
		{"more tasks than all", validate(run.Complete, by(run.Confirmation{Tasks: 10})), "10 tasks of 9"},
		{"more checked than all", validate(run.Complete, by(run.Confirmation{Tasks: 9, Checked: 10})), "10 are checked"},
		{"more missed than all", validate(run.Complete, by(run.Confirmation{Tasks: 9, Missed: 10})), "10 checks were missed"},
		{"a sample of nothing", validate(run.Complete, by(run.Confirmation{Tasks: 9, Sampled: true})), "a sample, with 0 tasks"},
		{"a sample without checks", validate(run.Complete, by(run.Confirmation{Tasks: 9, Checked: 1, Missed: 1, Sampled: true})), "1 checks missed"},
		{"more keys by token than all", validate(run.Complete, by(run.Confirmation{Tasks: 9, ByToken: 1})), "1 of them by token"},
		{"less than no key", validate(run.Complete, by(run.Confirmation{Redundancy: -1})), "negative redundancy"},
	})
}

// The level of a confirmation is the strongest that holds.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		of   run.Confirmation
		want run.Level
	}{
		{run.Confirmation{Published: true, Redundancy: 3, Tasks: 9, Checked: 9}, run.Published},
		{run.Confirmation{Redundancy: 2, Tasks: 9, Checked: 9}, run.Redundant},
		{run.Confirmation{Redundancy: 1, Tasks: 9, Checked: 1, Sampled: true}, run.Sampled},
		{run.Confirmation{Redundancy: 1, Tasks: 9, Checked: 8, Missed: 1}, run.None},
		{run.Confirmation{Tasks: 9, Checked: 1, Sampled: true, Unadmitted: 1}, run.None},
		{run.Confirmation{Redundancy: 1, Tasks: 9}, run.None},
		{run.Confirmation{Redundancy: 2}, run.None}, // of a run without tasks
		{run.Confirmation{}, run.None},
	} {
		if got := c.of.Level(); got != c.want {
			t.Errorf("%+v has the level %s, want %s", c.of, got, c.want)
		}
	}
}
