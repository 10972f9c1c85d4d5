package report

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// levels are confirmations of each level, and how they are shown.
var levels = []struct {
	of     run.Confirmation
	level  run.Level
	row    string // of a table
	line   string // of verify
	object string // confirmed_by
}{
	{
		run.Confirmation{Published: true, Redundancy: 2, Tasks: 8, Checked: 8}, run.Published,
		"confirmed published the published total (OEIS A000170)", "confirmed by the published total (OEIS A000170)",
		`{"keys":2,"voters":0,"by_token":0,"tasks":8,"checked":8,"share":1,"missed":0,"unadmitted":0,"disagreements":0}`,
	},
	{
		run.Confirmation{Redundancy: 3, Tasks: 8, Checked: 8, Disagreements: 1}, run.Redundant,
		"confirmed redundant each task by 3 keys, 1 disagreement", "confirmed: each task by 3 keys, 1 disagreement",
		`{"keys":3,"voters":0,"by_token":0,"tasks":8,"checked":8,"share":1,"missed":0,"unadmitted":0,"disagreements":1}`,
	},
	{
		run.Confirmation{Redundancy: 2, Tasks: 8, Checked: 8, Voters: 4, ByToken: 3}, run.Redundant,
		"confirmed redundant each task by 2 keys, 0 disagreements; the join token admitted 3 of 4 keys",
		"confirmed: each task by 2 keys, 0 disagreements; the join token admitted 3 of 4 keys",
		`{"keys":2,"voters":4,"by_token":3,"tasks":8,"checked":8,"share":1,"missed":0,"unadmitted":0,"disagreements":0}`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 10_000_000, Checked: 120_000, Sampled: true}, run.Sampled,
		"confirmed sampled 120000 of 10000000 tasks, 0 disagreements; a rare wrong count may be unseen",
		"confirmed by a sample: 120000 of 10000000 tasks, 0 disagreements; a rare wrong count may be unseen",
		`{"keys":1,"voters":0,"by_token":0,"tasks":10000000,"checked":120000,"share":0.012,"missed":0,"unadmitted":0,"disagreements":0}`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8, Checked: 8, Sampled: true}, run.Sampled,
		"confirmed sampled each task twice, also by the coordinator, 0 disagreements",
		"confirmed by a sample: each task twice, also by the coordinator, 0 disagreements",
		`{"keys":1,"voters":0,"by_token":0,"tasks":8,"checked":8,"share":1,"missed":0,"unadmitted":0,"disagreements":0}`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8, Checked: 1, Missed: 2}, run.None,
		"confirmed none not independently confirmed; 2 spot checks were not made", "not independently confirmed; 2 spot checks were not made",
		`{"keys":1,"voters":0,"by_token":0,"tasks":8,"checked":1,"share":0.125,"missed":2,"unadmitted":0,"disagreements":0}`,
	},
	{
		run.Confirmation{Tasks: 10_000_000, Checked: 1, Sampled: true, Unadmitted: 10_000_000 - 1}, run.None,
		"confirmed none not independently confirmed; counted by unadmitted keys: 9999999 of 10000000 tasks",
		"not independently confirmed; counted by unadmitted keys: 9999999 of 10000000 tasks",
		`{"keys":0,"voters":0,"by_token":0,"tasks":10000000,"checked":1,"share":1e-7,"missed":0,"unadmitted":9999999,"disagreements":0}`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8}, run.None,
		"confirmed none not independently confirmed", "not independently confirmed",
		`{"keys":1,"voters":0,"by_token":0,"tasks":8,"checked":0,"share":0,"missed":0,"unadmitted":0,"disagreements":0}`,
	},
}

// Every output with a total says what stands behind it: tables, JSON objects, lines of the log and
// of verify, and the list of runs. A total that is not confirmed, or by a sample only, has a warning.
func TestEveryOutputSaysHowSureATotalIs(t *testing.T) {
	for _, c := range levels {
		object := `"confirmed":"` + string(c.level) + `","confirmed_by":` + c.object
		confirmed := NewConfirmed(&c.of, true)
		r := placedResult()
		r.Confirmed = confirmed
		p := run.Progress{Run: "n8-a", N: 8, State: run.Complete, Total: big.NewInt(92), Solutions: big.NewInt(92), Confirmation: c.of}
		v := audit.Verification{Run: "n8-a", Total: (*Decimal)(big.NewInt(92)), Verified: true, Confirmation: c.of}
		listed := []ListedRun{{Run: "n8-a", N: 8, State: "complete", Confirmed: &confirmed, Ledger: "/runs/n8-a"}}
		var fields strings.Builder
		for i, of := range []string{"keys", "voters", "by_token", "checked", "share", "missed", "unadmitted", "disagreements"} {
			var values map[string]json.Number
			if err := json.Unmarshal([]byte(c.object), &values); err != nil {
				t.Fatal(err)
			}
			fields.WriteString([]string{`"`, `,"`}[min(i, 1)] + of + `":` + values[of].String())
		}
		logged := `"confirmed":"` + string(c.level) + `",` + fields.String()
		for what, output := range map[string]struct {
			write func(b *strings.Builder) error
			says  string
		}{
			"the table of a count":      {func(b *strings.Builder) error { return r.WriteTable(b, false) }, c.row},
			"the object of a count":     {func(b *strings.Builder) error { return r.Write(b, true) }, object},
			"the log of a count":        {func(b *strings.Builder) error { r.Log(zerolog.New(b)); return nil }, logged},
			"the log of a finished run": {func(b *strings.Builder) error { r.LogTotal(zerolog.New(b)); return nil }, logged},
			"the table of watch":        {func(b *strings.Builder) error { return WriteProgressTable(b, &p, false) }, c.row},
			"the object of watch":       {func(b *strings.Builder) error { return WriteProgress(b, &p) }, object},
			"the log of watch":          {func(b *strings.Builder) error { LogEnd(zerolog.New(b), &p); return nil }, logged},
			"the lines of verify":       {func(b *strings.Builder) error { return WriteVerification(b, &v, false) }, c.line},
			"the object of verify":      {func(b *strings.Builder) error { return WriteVerification(b, &v, true) }, object},
			"the list of runs":          {func(b *strings.Builder) error { return WriteRuns(b, listed, false) }, " confirmed: " + string(c.level)},
			"the object of a run":       {func(b *strings.Builder) error { return WriteRuns(b, listed, true) }, object},
		} {
			got := written(t, output.write)
			if !strings.Contains(words(got), output.says) {
				t.Errorf("%s: %s does not have %s", what, got, output.says)
			}
			if !strings.Contains(what, "log") {
				continue
			}
			if warns := strings.Contains(got, `"level":"warn"`) && strings.Contains(got, "the total is "+c.line+"; coordinator verify "); warns != (c.level == run.None || c.level == run.Sampled && c.of.Checked < c.of.Tasks) {
				t.Errorf("%s: a warning %v with level %s: %s", what, warns, c.level, got)
			}
		}
	}
}

// Nothing stands behind a total that is missing.
func TestWithoutATotalNothingIsConfirmed(t *testing.T) {
	c := run.Confirmation{Redundancy: 2, Tasks: 8, Checked: 8, Disagreements: 1}
	r := placedResult()
	r.Total, r.End, r.Confirmed = nil, Contradicted, NewConfirmed(&c, false)
	object := `"confirmed":"none","confirmed_by":{"keys":2,"voters":0,"by_token":0,"tasks":8,"checked":8,"share":1,"missed":0,"unadmitted":0,"disagreements":1}`
	if got := written(t, func(b *strings.Builder) error { return r.Write(b, true) }); !strings.Contains(got, object) {
		t.Errorf("the object is %s", got)
	}
	if got := written(t, func(b *strings.Builder) error { r.Log(zerolog.New(b)); return nil }); strings.Contains(got, "confirmed") {
		t.Errorf("the log is %s", got)
	}
	p := run.Progress{Run: "n8-a", N: 8, State: run.Running, Solutions: big.NewInt(9)}
	if got := written(t, func(b *strings.Builder) error { return WriteProgress(b, &p) }); strings.Contains(got, "confirmed") {
		t.Errorf("the object of a run that counts is %s", got)
	}
	listed := []ListedRun{{Run: "n8-a", N: 8, State: "running"}}
	if got := written(t, func(b *strings.Builder) error { return WriteRuns(b, listed, true) }); strings.Contains(got, "confirmed") {
		t.Errorf("the object in the list is %s", got)
	}
}

// The table of the largest board is at most 80 columns wide, whatever stands behind its total.
func TestSummaryFitsTheTerminal(t *testing.T) {
	total, _ := new(big.Int).SetString("130000000000000000000000", 10) // about that of n = 32
	for _, c := range levels {
		r := Result{N: queens.MaxN, Total: (*Decimal)(total), Run: "n32-20261120-170938-7274", Confirmed: NewConfirmed(&c.of, true)}
		for line := range strings.Lines(written(t, func(b *strings.Builder) error { return r.WriteTable(b, false) })) {
			if columns := len(strings.TrimSuffix(line, "\n")); columns > 80 {
				t.Errorf("%d columns: %s", columns, line)
			}
		}
	}
}

// A list of runs is at most 80 columns wide, whatever the runs are, and says what stands behind their
// totals.
func TestListOfRunsFitsTheTerminal(t *testing.T) {
	const name = "n16-20261120-170938-7274"
	c := NewConfirmed(&run.Confirmation{Published: true}, true)
	fast := NewPace(run.Pace{Done: 12344, WorkDone: 0.9999, Rate: 19.3e12, ETA: run.Range{Min: 3*time.Hour + 20*time.Minute, Max: 3*time.Hour + 40*time.Minute}})
	all := NewPace(run.Pace{Done: 12345, WorkDone: 1})
	cluster := "tls://one.counter.example.org:4222,tls://two.counter.example.org:4222,tls://three.counter.example.org:4222"
	runs := []ListedRun{
		{Run: name, N: 16, State: "complete", Done: 12345, Tasks: 12345, Pace: all, Confirmed: &c},
		{Run: name, N: 16, State: "contradicted", Done: 12345, Tasks: 12345, Pace: all},
		{Run: name, N: 16, State: "interrupted", Done: 1, Tasks: 12345, Pace: NewPace(run.Pace{Done: 1}), Server: cluster},
		{
			Run: name, N: 16, State: "running", Done: 12344, Tasks: 12345, Pace: fast, Ledger: strings.Repeat("/folder", 30), Server: cluster,
			Owner: strings.Repeat("host", 40) + ", process 1234567", Bound: run.ByMessages, Workers: 1234567, Sharing: []string{strings.Repeat("n", 64), "n8"},
			Placed: []queens.Square{{Row: 10, Column: 11}, {Row: 12, Column: 13}},
		},
		{Run: strings.Repeat("n", 64), N: 16, State: "running", Pace: fast},
	}
	got := written(t, func(b *strings.Builder) error { return WriteRuns(b, runs, false) })
	for line := range strings.Lines(got) {
		if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > 80 {
			t.Errorf("%d columns: %s", columns, line)
		}
	}
	for _, want := range []string{"100.0%", "confirmed: published", "99.9%", "19.3 T/s", "3h20m to 3h40m left", "bounded by", "sharing 1,234,567 workers"} {
		if !strings.Contains(got, want) {
			t.Errorf("the list does not have %s:\n%s", want, got)
		}
	}
}
