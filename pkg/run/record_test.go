package run_test

import (
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Only the record of a complete run says what stands behind a total: no more tasks than the run
// has, and a published total only where one is published.
func TestConfirmationOfARecord(t *testing.T) {
	validate := func(state run.State, n int, c run.Confirmation) error {
		r := run.Record{State: state, Manifest: queens.Manifest{N: n, Tasks: 9}, Confirmation: c}
		return r.ValidateConfirmation()
	}
	checkAll(t, []validity{
		{"nothing", validate(run.Running, 8, run.Confirmation{}), ""},
		{"nothing behind it", validate(run.Complete, 8, run.Confirmation{Redundancy: 1, Tasks: 9}), ""},
		{"published", validate(run.Complete, 8, run.Confirmation{Published: true, Redundancy: 1, Tasks: 9}), ""},
		{"published, it claims", validate(run.Complete, 30, run.Confirmation{Published: true}), "none is published"},
		{"too early", validate(run.Running, 8, run.Confirmation{Tasks: 9}), "the state running"},
		{"more tasks than all", validate(run.Complete, 8, run.Confirmation{Tasks: 10}), "10 tasks of 9"},
		{"more checked than all", validate(run.Complete, 8, run.Confirmation{Tasks: 9, Checked: 10}), "10 are checked"},
		{"more missed than all", validate(run.Complete, 8, run.Confirmation{Tasks: 9, Missed: 10}), "10 checks were missed"},
		{"a sample of nothing", validate(run.Complete, 8, run.Confirmation{Tasks: 9, Sampled: true}), "a sample, with 0 tasks"},
		{"a sample without checks", validate(run.Complete, 8, run.Confirmation{Tasks: 9, Checked: 1, Missed: 1, Sampled: true}), "1 checks missed"},
		{"more keys by token than all", validate(run.Complete, 8, run.Confirmation{Tasks: 9, ByToken: 1}), "1 of them by token"},
		{"less than no key", validate(run.Complete, 8, run.Confirmation{Redundancy: -1}), "negative redundancy"},
	})
}

// Only the record of a complete run has a total: decimal digits, and nothing else.
func TestTotalOfARecord(t *testing.T) {
	parse := func(state run.State, total string) error {
		r := run.Record{State: state, Total: total}
		x, err := r.ParseTotal()
		if err == nil && total != "" && x.String() != total || err == nil && total == "" && x != nil {
			t.Errorf("the total %q is read as %v", total, x)
		}
		return err
	}
	checkAll(t, []validity{
		{"none", parse(run.Running, ""), ""},
		{"none yet", parse(run.Complete, ""), ""},
		{"zero", parse(run.Complete, "0"), ""},
		{"beyond 64 bits", parse(run.Complete, "227514171973736000000"), ""},
		{"too early", parse(run.Running, "92"), "the state running"},
		{"of a contradicted run", parse(run.Contradicted, "92"), "the state contradicted"},
		{"negative", parse(run.Complete, "-1"), "no number"},
		{"with a sign", parse(run.Complete, "+92"), "no number"},
		{"with a zero before it", parse(run.Complete, "092"), "no number"},
		{"with a space", parse(run.Complete, "92 "), "no number"},
		{"with underscores", parse(run.Complete, "9_2"), "no number"},
		{"hexadecimal", parse(run.Complete, "0x5c"), "no number"},
		{"a fraction", parse(run.Complete, "92.0"), "no number"},
		{"a sequence for terminals", parse(run.Complete, "\x1b[2J"), "no number"},
		{"giant", parse(run.Complete, strings.Repeat("9", 1<<20)), "no number"},
		{"beyond 256 bits", parse(run.Complete, strings.Repeat("9", 78)), "no number"},
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
