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
	share  string // of the tasks that are checked, in the log
}{
	{
		run.Confirmation{Published: true, Redundancy: 2, Tasks: 8, Checked: 8}, run.Published,
		"confirmed published the published total (OEIS A000170)", "confirmed by the published total (OEIS A000170)",
		`{"published":true,"keys":2,"tasks":8,"checked":8,"sampled":false,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":0}`, `"share":1`,
	},
	{
		run.Confirmation{Redundancy: 3, Tasks: 8, Checked: 8, Disputes: 1}, run.Redundant,
		"confirmed redundant each task by 3 keys, 1 dispute", "confirmed: each task by 3 keys, 1 dispute",
		`{"published":false,"keys":3,"tasks":8,"checked":8,"sampled":false,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":1}`, `"share":1`,
	},
	{
		run.Confirmation{Redundancy: 2, Tasks: 8, Checked: 8, Voters: 4, ByToken: 3}, run.Redundant,
		"confirmed redundant each task by 2 keys, 0 disputes; the join token admitted 3 of 4 keys",
		"confirmed: each task by 2 keys, 0 disputes; the join token admitted 3 of 4 keys",
		`{"published":false,"keys":2,"tasks":8,"checked":8,"sampled":false,"missed":0,"unadmitted":0,"voters":4,"by_token":3,"disputes":0}`, `"share":1`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 10_000_000, Checked: 120_000, Sampled: true}, run.Sampled,
		"confirmed sampled 120000 of 10000000 tasks, 0 disputes; a rare wrong count may be unseen",
		"confirmed by a sample: 120000 of 10000000 tasks, 0 disputes; a rare wrong count may be unseen",
		`{"published":false,"keys":1,"tasks":10000000,"checked":120000,"sampled":true,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":0}`, `"share":0.012`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8, Checked: 8, Sampled: true}, run.Sampled,
		"confirmed sampled each task twice, also by the coordinator, 0 disputes",
		"confirmed by a sample: each task twice, also by the coordinator, 0 disputes",
		`{"published":false,"keys":1,"tasks":8,"checked":8,"sampled":true,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":0}`, `"share":1`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8, Checked: 1, Missed: 2}, run.None,
		"confirmed none not independently confirmed; 2 spot checks were not made", "not independently confirmed; 2 spot checks were not made",
		`{"published":false,"keys":1,"tasks":8,"checked":1,"sampled":false,"missed":2,"unadmitted":0,"voters":0,"by_token":0,"disputes":0}`, `"share":0.125`,
	},
	{
		run.Confirmation{Tasks: 10_000_000, Checked: 1, Sampled: true, Unadmitted: 10_000_000 - 1}, run.None,
		"confirmed none not independently confirmed; counted by unadmitted keys: 9999999 of 10000000 tasks",
		"not independently confirmed; counted by unadmitted keys: 9999999 of 10000000 tasks",
		`{"published":false,"keys":0,"tasks":10000000,"checked":1,"sampled":true,"missed":0,"unadmitted":9999999,"voters":0,"by_token":0,"disputes":0}`, `"share":1e-7`,
	},
	{
		run.Confirmation{Redundancy: 1, Tasks: 8}, run.None,
		"confirmed none not independently confirmed", "not independently confirmed",
		`{"published":false,"keys":1,"tasks":8,"checked":0,"sampled":false,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":0}`, `"share":0`,
	},
}

// Every output with a total says what stands behind it: tables, JSON objects, lines of the log and
// of verify, and the list of runs. A total that is not confirmed, or by a sample only, has a warning.
func TestEveryOutputSaysHowSureATotalIs(t *testing.T) {
	for _, c := range levels {
		object := `"confirmed":"` + string(c.level) + `","confirmed_by":` + c.object
		confirmed := c.of.Confirmed(true)
		r := placedResult()
		r.Confirmed = confirmed
		p := run.Snapshot{
			Run: "n8-a", N: 8, State: run.Complete, Total: decimal(92), Solutions: decimal(92), Confirmed: &confirmed,
		}
		v := audit.Verification{Run: "n8-a", Total: decimal(92), Verified: true, Confirmed: c.of.Confirmed(true)}
		listed := []ListedRun{{Snapshot: p, Status: "complete", Ledger: "/runs/n8-a"}}
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.object), &values); err != nil {
			t.Fatal(err)
		}
		field := func(name string) string { return `"` + name + `":` + string(values[name]) }
		fields := strings.Join([]string{
			field("keys"), field("voters"), field("by_token"), field("checked"), c.share, field("missed"), field("unadmitted"),
		}, ",")
		logged := `"confirmed":"` + string(c.level) + `",` + fields
		for what, output := range map[string]struct {
			write func(b *strings.Builder) error
			says  string
		}{
			"the table of a count":      {func(b *strings.Builder) error { return r.WriteTable(b, false) }, c.row},
			"the object of a count":     {func(b *strings.Builder) error { return r.Write(b, true) }, object},
			"the log of a count":        {func(b *strings.Builder) error { r.Log(zerolog.New(b)); return nil }, logged},
			"the log of a finished run": {func(b *strings.Builder) error { r.LogTotal(zerolog.New(b)); return nil }, logged + "," + field("disputes")},
			"the table of watch":        {func(b *strings.Builder) error { return LastResult(&p).WriteTable(b, false) }, c.row},
			"the object of watch":       {func(b *strings.Builder) error { return WriteSnapshot(b, &p) }, object},
			"the log of watch":          {func(b *strings.Builder) error { LastResult(&p).LogTotal(zerolog.New(b)); return nil }, logged + "," + field("disputes")},
			"the lines of verify":       {func(b *strings.Builder) error { return WriteVerification(b, &v, false) }, c.line},
			"the object of verify":      {func(b *strings.Builder) error { return WriteVerification(b, &v, true) }, object},
			"the list of runs":          {func(b *strings.Builder) error { return WriteRuns(b, listed, false) }, "- " + string(c.level)},
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
	c := run.Confirmation{Redundancy: 2, Tasks: 8, Checked: 8, Disputes: 1}
	r := placedResult()
	r.Total, r.End, r.Confirmed = nil, Contradicted, c.Confirmed(false)
	object := `"confirmed":"none","confirmed_by":{"published":false,"keys":2,"tasks":8,"checked":8,"sampled":false,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":1}`
	if got := written(t, func(b *strings.Builder) error { return r.Write(b, true) }); !strings.Contains(got, object) {
		t.Errorf("the object is %s", got)
	}
	if got := written(t, func(b *strings.Builder) error { r.Log(zerolog.New(b)); return nil }); strings.Contains(got, "confirmed") {
		t.Errorf("the log is %s", got)
	}
	p := run.Snapshot{Run: "n8-a", N: 8, State: run.Running, Solutions: decimal(9)}
	if got := written(t, func(b *strings.Builder) error { return WriteSnapshot(b, &p) }); strings.Contains(got, `"confirmed":"`) {
		t.Errorf("the object of a run that counts is %s", got)
	}
	listed := []ListedRun{{Snapshot: p, Status: "running"}}
	if got := written(t, func(b *strings.Builder) error { return WriteRuns(b, listed, true) }); strings.Contains(got, `"confirmed":"`) {
		t.Errorf("the object in the list is %s", got)
	}
}

// The table of the largest board is at most 80 columns wide, whatever stands behind its total.
func TestSummaryFitsTheTerminal(t *testing.T) {
	total, _ := new(big.Int).SetString("130000000000000000000000", 10) // about that of n = 32
	for _, c := range levels {
		r := Result{N: queens.MaxN, Total: (*run.Decimal)(total), Run: "n32-20261120-170938-7274", Confirmed: c.of.Confirmed(true)}
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
	at := time.Unix(1e9, 0)
	listed := func(status string, s run.Snapshot) ListedRun {
		s.Run, s.N, s.Tasks = name, 16, 12345
		return ListedRun{Snapshot: s, Status: status}
	}
	total := run.Confirmed{Level: run.Published, By: run.Confirmation{Published: true}}
	cluster := "tls://one.counter.example.org:4222,tls://two.counter.example.org:4222,tls://three.counter.example.org:4222"
	fast := listed("running", run.Snapshot{
		At: at, Done: 12344, WorkDone: 0.9999, Rate: 19.3e12, ETA: eta(3*time.Hour+20*time.Minute, 3*time.Hour+40*time.Minute),
		Bottleneck: run.ByMessages, Workers: 1234567, Sharing: []string{strings.Repeat("n", 64), "n8"},
		Placed: []queens.Square{{Row: 10, Column: 11}, {Row: 12, Column: 13}},
	})
	fast.Ledger, fast.Server, fast.Owner = strings.Repeat("/folder", 30), cluster, strings.Repeat("host", 40)+", process 1234567"
	long := fast
	long.Run = strings.Repeat("n", 64)
	runs := []ListedRun{
		listed("complete", run.Snapshot{At: at, Done: 12345, WorkDone: 1, Elapsed: run.Seconds{Duration: 99 * time.Hour}, Total: decimal(666090624), Confirmed: &total}),
		listed("contradicted", run.Snapshot{At: at, Done: 12345, WorkDone: 1}),
		listed("interrupted", run.Snapshot{At: at, Done: 1}),
		fast, long,
	}
	runs[2].Server = cluster
	got := written(t, func(b *strings.Builder) error { return WriteRuns(b, runs, false) })
	for line := range strings.Lines(got) {
		if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > 80 {
			t.Errorf("%d columns: %s", columns, line)
		}
	}
	for _, want := range []string{"666090624", "published", "99.9%", "19.3 T/s", "3h20m to 3h40m left", "bounded by", "sharing 1,234,567 workers"} {
		if !strings.Contains(got, want) {
			t.Errorf("the list does not have %s:\n%s", want, got)
		}
	}
}
