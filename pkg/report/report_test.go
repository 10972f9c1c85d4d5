package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// written returns what a form writes.
func written(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// words returns a text with single spaces between its words.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// Values and remarks stand in columns.
func TestTable(t *testing.T) {
	got := written(t, func(b *strings.Builder) error {
		return writeTable(b, [][]string{
			{"solutions", "39,029,188,884", "matches the published value (OEIS A000170)"},
			{"time", "4m12s", ""},
			{"run", "n20-a", "again"},
		}, false)
	})
	want := "" +
		"solutions  39,029,188,884  matches the published value (OEIS A000170)\n" +
		"time       4m12s           \n" +
		"run        n20-a           again\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = written(t, func(b *strings.Builder) error { return writeTable(b, [][]string{{"time", "4m12s"}}, true) })
	if want := "\x1b[2mtime\x1b[0m  \x1b[1m4m12s\x1b[0m\n"; got != want {
		t.Errorf("in colors %q, want %q", got, want)
	}
}

// decimal returns a number of solutions.
func decimal(x int64) *run.Decimal { return (*run.Decimal)(big.NewInt(x)) }

// eta returns a remaining time.
func eta(least, most time.Duration) *run.ETA {
	return &run.ETA{Min: run.Seconds{Duration: least}, Max: run.Seconds{Duration: most}}
}

// placedResult is the result of a board with placed queens.
func placedResult() *Result {
	return &Result{
		N: 8, Total: decimal(1234), Known: queens.Unpublished, Run: "n8-a", Symmetry: queens.None,
		Placed: []queens.Square{{Row: 0, Column: 3}, {Row: 3, Column: 7}}, Tasks: 5, Seconds: 1.5, Workers: 2,
		End: Complete, Elapsed: 2 * time.Second, CoreTime: time.Minute,
		Confirmed: new(run.Confirmation{Redundancy: 1, Tasks: 5, Checked: 1, Sampled: true, Disputes: 1}).Confirmed(true),
		Count: &Count{
			Snapshot: run.Snapshot{
				Done: 5, Tasks: 5, WorkDone: 1, Solutions: decimal(1234), Elapsed: run.Seconds{Duration: 2 * time.Second}, Republished: 3,
			},
			Rate: 617, Resumed: 2, Refused: 1,
		},
	}
}

func TestResult(t *testing.T) {
	r := placedResult()
	for asJSON, want := range map[bool]string{
		false: "1234\n",
		true: `{"n":8,"total":"1234","known":"none","run":"n8-a","symmetry":"none","placed":[[0,3],[3,7]],"tasks":5,"seconds":1.5,"workers":2,"core_hours":0,` +
			`"confirmed":"sampled","confirmed_by":{"published":false,"keys":1,"tasks":5,"checked":1,"sampled":true,"missed":0,"unadmitted":0,"voters":0,"by_token":0,"disputes":1}}` + "\n",
	} {
		if got := written(t, func(b *strings.Builder) error { return r.Write(b, asJSON) }); got != want {
			t.Errorf("JSON %v: %s, want %s", asJSON, got, want)
		}
	}
	table := `solutions 1,234 confirmed sampled 1 of 5 tasks, 1 dispute; a rare wrong count may be unseen placed 2 beforehand, on 0,3 3,7 time 2s of the run, which was resumed with 2 tasks done ` +
		`rate 617 /s solutions core time 1m 0.0167 core-hours workers 2 that counted tasks 5 3 republished, 0 disputed run n8-a coordinator verify checks it again`
	if got := words(written(t, func(b *strings.Builder) error { return r.WriteTable(b, false) })); got != table {
		t.Errorf("table %q, want %q", got, table)
	}
	line := `{"level":"warn","run":"n8-a","message":"the total is confirmed by a sample: 1 of 5 tasks, 1 dispute; a rare wrong count may be unseen; coordinator verify n8-a --sample 100% counts every task again"}` + "\n" +
		`{"level":"info","run":"n8-a","end":"complete","done":5,"tasks":5,"percent":100,"solutions":"1234",` +
		`"elapsed_s":2,"core_time_s":60,"rate":617,"workers":2,"republished":3,"disputes":0,"placed":"0,3 3,7","resumed_from":2,"refused":1,` +
		`"total":"1234","known":"none","confirmed":"sampled","keys":1,"voters":0,"by_token":0,"checked":1,"share":0.2,"missed":0,"unadmitted":0,` +
		`"text":"1,234 solutions for n = 8 with 2 queens placed beforehand, confirmed by a sample: 1 of 5 tasks, 1 dispute; a rare wrong count may be unseen; run n8-a: 5 tasks in 2s, 617 /s, 2 workers","message":"run ended"}` + "\n"
	if got := written(t, func(b *strings.Builder) error { r.Log(zerolog.New(b)); return nil }); got != line {
		t.Errorf("log %s, want %s", got, line)
	}
}

// Of a run that was finished before, the table has only what its ledger tells.
func TestResultOfAFinishedRun(t *testing.T) {
	r := placedResult()
	r.Confirmed = new(run.Confirmation{Published: true}).Confirmed(true)
	r.N, r.Known, r.Placed, r.Unique, r.Count = 10, queens.Match, nil, decimal(92), nil
	want := `solutions 1,234 confirmed published the published total (OEIS A000170) fundamental 92 up to rotation and reflection ` +
		`time 2s core time 1m 0.0167 core-hours workers 2 that counted tasks 5 run n8-a coordinator verify checks it again`
	if got := words(written(t, func(b *strings.Builder) error { return r.WriteTable(b, false) })); got != want {
		t.Errorf("table %q, want %q", got, want)
	}
	r.CoreTime, r.CoreHours, r.KWh = 1234*time.Hour, 1234, 9.872
	if got := words(written(t, func(b *strings.Builder) error { return r.WriteTable(b, false) })); !strings.Contains(got, " 1,234 core-hours, 9.87 kWh ") {
		t.Errorf("table %q has no energy", got)
	}
	if got := written(t, func(b *strings.Builder) error { return r.Write(b, true) }); !strings.Contains(got, `"core_hours":1234,"kwh":9.872`) {
		t.Errorf("JSON %s has no energy", got)
	}
	if got := written(t, func(b *strings.Builder) error { return r.Write(b, true) }); !strings.Contains(got, `"unique":"92"`) {
		t.Errorf("JSON %s has no unique total", got)
	}
}

// Without a total nothing is written, except the JSON object of a contradiction.
func TestResultWithoutATotal(t *testing.T) {
	for _, c := range []struct {
		end    End
		asJSON bool
		writes bool
	}{{Stopped, false, false}, {Stopped, true, false}, {Contradicted, false, false}, {Contradicted, true, true}} {
		r := placedResult()
		r.Total, r.End = nil, c.end
		got := written(t, func(b *strings.Builder) error { return r.Write(b, c.asJSON) })
		if (got != "") != c.writes || c.writes && !strings.Contains(got, `"total":null`) {
			t.Errorf("%s, JSON %v: %q", c.end, c.asJSON, got)
		}
	}
}

// The total of a board with placed queens is shown as one, and that of a whole board does
// not mention them.
func TestProgressOfPlacedQueens(t *testing.T) {
	for _, c := range []struct {
		placed       []queens.Square
		says, object string
	}{
		{nil, "", ""},
		{[]queens.Square{{Row: 0, Column: 3}, {Row: 2, Column: 0}}, "placed 2 beforehand, on 0,3 2,0", `"n":8,"placed":[[0,3],[2,0]],`},
	} {
		p := run.Snapshot{Run: "n8-a", N: 8, Placed: c.placed, State: run.Complete, Total: decimal(5), Solutions: decimal(5)}
		table := words(written(t, func(b *strings.Builder) error { return LastResult(&p).WriteTable(b, false) }))
		if marked := strings.Contains(table, "placed"); marked != (c.says != "") || !strings.Contains(table, c.says) {
			t.Errorf("placed %v: the table is %q", c.placed, table)
		}
		object := written(t, func(b *strings.Builder) error { return WriteSnapshot(b, &p) })
		if marked := strings.Contains(object, "placed"); marked != (c.object != "") || !strings.Contains(object, c.object) {
			t.Errorf("placed %v: the object is %s", c.placed, object)
		}
	}
}

// What limits a run is said unless it is the search, which only JSON has.
func TestBottleneck(t *testing.T) {
	for bottleneck, want := range map[run.Bottleneck]string{"": "", run.BySearch: "", run.ByLedger: "bounded by the ledger"} {
		p := run.Snapshot{Run: "n8-a", N: 8, State: run.Running, Solutions: decimal(5), Bottleneck: bottleneck}
		if line := written(t, func(b *strings.Builder) error { LogSnapshot(zerolog.New(b), &p); return nil }); strings.Contains(line, `"bottleneck":"ledger"`) != (want != "") {
			t.Errorf("%q: log %s", bottleneck, line)
		}
		object := written(t, func(b *strings.Builder) error { return WriteSnapshot(b, &p) })
		if strings.Contains(object, `"bottleneck":"`+string(bottleneck)+`"`) != (bottleneck != "") {
			t.Errorf("%q: object %s", bottleneck, object)
		}
		r := ListedRun{Snapshot: p, Status: "running", Owner: "host"}
		if got := written(t, func(b *strings.Builder) error { return WriteRuns(b, []ListedRun{r}, false) }); strings.Contains(got, "host, bounded") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: list %s", bottleneck, got)
		}
	}
}

func TestDetailsOfAListedRun(t *testing.T) {
	r := ListedRun{
		Snapshot: run.Snapshot{Run: "n8-a", N: 8, Placed: []queens.Square{{Row: 0, Column: 3}, {Row: 2, Column: 0}}},
		Status:   "running", Server: "nats://a:4222", Owner: "machine, process 7",
	}
	got := written(t, func(b *strings.Builder) error { return WriteRuns(b, []ListedRun{r}, false) })
	if want := "  nats://a:4222, machine, process 7, queens placed on 0,3 2,0\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}

// 100% means all tasks; what is not known has a question mark.
func TestRuns(t *testing.T) {
	at := time.Unix(1e9, 0)
	runs := []ListedRun{
		{Snapshot: run.Snapshot{Run: "a", At: at, Done: 99999, Tasks: 100000, WorkDone: 0.99999, Rate: 2.06e8, Workers: 12, Sharing: []string{"d", "e", "f"}}, Status: "running"},
		{Snapshot: run.Snapshot{Run: "d", Done: 1, Tasks: 2, Sharing: []string{"a"}}, Status: "running", Server: "s"},
		{
			Snapshot: run.Snapshot{
				Run: "b", At: at, WorkDone: 1, Elapsed: run.Seconds{Duration: 252 * time.Second}, Total: decimal(92), Confirmed: &run.Confirmed{Level: run.Published},
			},
			Status: "complete", Created: at,
		},
		{Snapshot: run.Snapshot{Run: "c"}, Status: "unreadable", Ledger: "/runs/c"},
	}
	want := "" +
		"RUN  STATE       TOTAL  STARTED       TOOK   CONFIRMED\n" +
		"a    running     99.9%  ?             -\n" +
		"  206 M/s, estimating, sharing 12 workers with d and 2 more\n" +
		"d    running     ?      ?             -\n" +
		"  s, sharing workers with a\n" +
		"b    complete    92     Sep  9  2001  4m12s  published\n" +
		"c    unreadable  ?      ?             -\n"
	if got := written(t, func(b *strings.Builder) error { return WriteRuns(b, runs, false) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := written(t, func(b *strings.Builder) error { return WriteRuns(b, nil, false) }); got != "" {
		t.Errorf("%q is written of no runs", got)
	}
	object := written(t, func(b *strings.Builder) error { return WriteRuns(b, runs[3:], true) })
	var fields map[string]any
	if err := json.Unmarshal([]byte(object), &fields); err != nil || fields["state"] != "unreadable" || fields["ledger"] != "/runs/c" {
		t.Errorf("got %s (error %v)", object, err)
	}
	for _, unknown := range []string{"n", "symmetry", "at", "solutions", "created", "server", "owner", "eta_least_s", "bottleneck", "confirmed"} {
		if _, there := fields[unknown]; there {
			t.Errorf("a run that can't be read has the field %s: %s", unknown, object)
		}
	}
}

// A recount that was stopped says what was verified until then, with a total and without.
func TestStoppedVerification(t *testing.T) {
	v := audit.Verification{Run: "r", Done: 30, Tasks: 32, Recounts: audit.Recounts{Recounted: 7, Share: 0.25, Kernels: []string{"a", "b"}, Seed: 5}, Stopped: true}
	line := "recounted: 7 of 30 tasks, 25% of the work, with a, b (--seed 5), all agree; stopped before the end\n"
	var out strings.Builder
	if err := WriteVerification(&out, &v, false); err != nil || out.String() != line {
		t.Errorf("without a total (error %v):\n%s", err, &out)
	}
	v.Total = decimal(40)
	out.Reset()
	if err := WriteVerification(&out, &v, false); err != nil || !strings.HasSuffix(out.String(), "\n"+line) || !strings.Contains(out.String(), "by class: 40\n") {
		t.Errorf("with a total (error %v):\n%s", err, &out)
	}
}

// Text about a run that is not verified says how much of it is done and why. Only the counts of an
// incomplete run agree.
func TestUnverified(t *testing.T) {
	v := audit.Verification{Run: "r", Done: 30, Tasks: 32, Recounts: audit.Recounts{Recounted: 7, Share: 0.25, Seed: 5}, Err: run.ErrIncomplete}
	var out strings.Builder
	want := "run r: 30 of 32 tasks, not verified: " + run.ErrIncomplete.Error() + "\nsignatures: 0 statements with 0 counts, all are right\n" +
		"recounted: 7 of 30 tasks, 25% of the work (--seed 5), all agree\n"
	if err := WriteVerification(&out, &v, false); err != nil || out.String() != want {
		t.Errorf("of an incomplete run (error %v):\n%s", err, &out)
	}
	out.Reset()
	v.Err = errors.Join(run.ErrIncomplete, run.ErrContradiction)
	if err := WriteVerification(&out, &v, false); err != nil || !strings.HasPrefix(out.String(), "run r: 30 of 32 tasks, not verified: ") || strings.Contains(out.String(), "agree") {
		t.Errorf("of a contradicted run (error %v):\n%s", err, &out)
	}
	out.Reset()
	v.Differing = 3
	if err := WriteVerification(&out, &v, false); err != nil || !strings.HasSuffix(out.String(), "\nrecounted: 7 of 30 tasks, 25% of the work (--seed 5), 3 differ\n") {
		t.Errorf("of a run with differences (error %v):\n%s", err, &out)
	}
}

// A verification that was stopped after it has found a difference says so, and has no total.
func TestStoppedAfterADifference(t *testing.T) {
	v := audit.Verification{
		Run: "r", Done: 30, Tasks: 32, Recounts: audit.Recounts{Recounted: 7, Differing: 1, Share: 0.25, Seed: 5}, Stopped: true,
		Err: fmt.Errorf("%w: task 3 was counted 5", run.ErrContradiction),
	}
	var out strings.Builder
	want := "run r: 30 of 32 tasks, not verified: " + v.Err.Error() + "\nrecounted: 7 of 30 tasks, 25% of the work (--seed 5), 1 differs; stopped before the end\n"
	if err := WriteVerification(&out, &v, false); err != nil || out.String() != want {
		t.Errorf("got (error %v)\n%s\nwant\n%s", err, &out, want)
	}
}
