package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/testkit"
)

func seconds(s float64) queens.Seconds {
	return queens.Seconds{Duration: time.Duration(s * float64(time.Second))}
}

func decimal(x int64) *queens.Decimal { return (*queens.Decimal)(big.NewInt(x)) }

// underWay returns a snapshot of a run that has not ended.
func underWay() *queens.Snapshot {
	return &queens.Snapshot{
		Run: "n18-aa", N: 18, Method: queens.Prefixes, Symmetry: queens.Full, State: queens.Running,
		Done: 131, Tasks: 748, WorkDone: 0.21,
		Solutions: decimal(140_000_000), Elapsed: seconds(12.3456), Checks: new(queens.Checks),
		TimeToGo: &queens.TimeToGo{Least: seconds(80), Most: seconds(118)},
		Live:     &queens.Live{Machines: 2, Workers: 4, Threads: 8},
		Rate:     &queens.Rate{PerSecond: 98e6},
	}
}

// complete returns a snapshot of a complete run for n = 8, with what confirms the total.
func complete(total int64, c queens.Confirmation) *queens.Snapshot {
	c.Tasks, c.Published = 16, total == 92
	s := &queens.Snapshot{
		Run: "n8-aa", N: 8, Method: queens.Prefixes, Symmetry: queens.Full, Done: 16, Tasks: 16,
		WorkDone: 1, Solutions: decimal(total),
		Elapsed: seconds(252), Checks: new(queens.Checks),
	}
	s.SetTotal(big.NewInt(total), c)
	return s
}

// The JSON of a result has the fixed fields, and no others.
func TestResultJSON(t *testing.T) {
	for _, c := range []struct {
		unique *big.Int
		want   string
	}{
		{nil, "confirmed,confirmed_by,known,method,n,run,seconds,symmetry,tasks,total,workers"},
		{big.NewInt(12), "confirmed,confirmed_by,known,method,n,run,seconds,symmetry,tasks,total,unique,workers"},
	} {
		var b bytes.Buffer
		r := report.NewResult(complete(92, queens.Confirmation{Machines: 2, Checked: 3}), c.unique,
			1234567*time.Microsecond, 3)
		if err := r.Write(&b, true); err != nil {
			t.Fatal(err)
		}
		fields := make(map[string]json.RawMessage)
		if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, ","); got != c.want {
			t.Errorf("fields %s, want %s", got, c.want)
		}
		for name, want := range map[string]string{
			"n": "8", "total": `"92"`, "known": `"match"`, "seconds": "1.235", "workers": "3",
			"confirmed": `"published"`,
		} {
			if got := string(fields[name]); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}

// The text of a result is the total, and the number of fundamental solutions on a second line.
// Without a total, only a contradicted run has output, and only as JSON.
func TestResultText(t *testing.T) {
	contradicted := complete(93, queens.Confirmation{})
	contradicted.State, contradicted.Total, contradicted.Confirmed = queens.Contradicted, nil, nil
	for _, c := range []struct {
		name   string
		s      *queens.Snapshot
		unique *big.Int
		json   bool
		want   string
	}{
		{"a total", complete(92, queens.Confirmation{}), nil, false, "92\n"},
		{"with --unique", complete(92, queens.Confirmation{}), big.NewInt(12), false, "92\n12\n"},
		{"running", underWay(), nil, false, ""},
		{"running, JSON", underWay(), nil, true, ""},
		{"contradicted", contradicted, nil, false, ""},
		{"contradicted, JSON", contradicted, nil, true,
			`{"n":8,"total":null,"known":"none","run":"n8-aa","method":"prefixes","symmetry":"full","tasks":16,"seconds":1,"workers":2}` + "\n"},
	} {
		var b bytes.Buffer
		if err := report.NewResult(c.s, c.unique, time.Second, 2).Write(&b, c.json); err != nil ||
			b.String() != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, b.String(), c.want, err)
		}
	}
}

// The summary says what was counted, what confirms it, and what was unusual.
func TestSummary(t *testing.T) {
	s := complete(93, queens.Confirmation{Checked: 16, Redundancy: 2, Verdicts: 1, Machines: 3,
		Witnesses: 3, Proven: 2, Banned: 1})
	s.N, s.Disputes, s.Recounts = 28, 1, 2
	s.SetTotal(big.NewInt(1e18), s.By)
	var b strings.Builder
	r := report.NewResult(s, nil, time.Second, 5)
	r.Verify = "VERIFY"
	if err := report.WriteTable(&b, r.Summary(7), false); err != nil {
		t.Fatal(err)
	}
	const want = `
solutions  1,000,000,000,000,000,000  n = 28
confirmed  redundant                  2 of 3 witnesses, one claimed by name, agree on every task but 1, which recounts decided
time       4m12s                      of the run, which went on with 7 tasks done
rate       3.97 P/s                   solutions, the mean of the run
tasks      16                         1 dispute, 2 recounts
workers    5                          on 3 machines
banned     1                          machines whose counts are void
run        n8-aa                      audit it again: VERIFY
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// Each level of confirmation has its own text.
func TestConfirmedBy(t *testing.T) {
	for want, c := range map[string]queens.Confirmation{
		"2 witnesses, both proven, agree on every task": {Checked: 16,
			Redundancy: 2, Witnesses: 2, Proven: 2},
		"2 witnesses, one claimed by name, agree on every task": {Checked: 16,
			Redundancy: 2, Witnesses: 2, Proven: 1},
		"2 witnesses, both claimed by name, agree on every task": {Checked: 16,
			Redundancy: 2, Witnesses: 2},
		"2 of 5 witnesses, all proven, agree on every task": {Checked: 16,
			Redundancy: 2, Witnesses: 5, Proven: 5},
		"2 of 5 witnesses, 3 claimed by name, agree on every task": {Checked: 16,
			Redundancy: 2, Witnesses: 5, Proven: 2},
		"recounts decided every task": {Checked: 16,
			Verdicts: 16},
		"3 of 16 tasks have a second count; a rare wrong count may be unseen": {Checked: 3,
			Redundancy: 1},
		"nothing confirms it": {Redundancy: 1},
		"2 witnesses, both proven, agree on every task but 2, which recounts decided": {
			Checked: 16, Redundancy: 2, Verdicts: 2, Witnesses: 2, Proven: 2,
		},
	} {
		if got := report.ConfirmedBy(complete(7, c).Confirmed); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
	if got := report.ConfirmedBy(complete(92, queens.Confirmation{}).Confirmed); got !=
		"it is the published total, OEIS A000170" {
		t.Errorf("the published total: %q", got)
	}
}

// The line about the progress has the share of the work, tasks, rate, workers, threads, and the
// time to go or what the run waits for.
func TestProgress(t *testing.T) {
	const done, fleet = "21.0%, 131 of 748 tasks", "; 98.0 M/s; 4 workers on 2 machines, 8 threads"
	for _, c := range []struct {
		change func(*queens.Snapshot)
		want   string
	}{
		{func(*queens.Snapshot) {}, done + fleet + "; 1m20s to 2m to go"},
		{func(s *queens.Snapshot) {
			s.TimeToGo, s.IdleThreads = nil, 1
		}, done + fleet + " (1 idle); time to go not known yet"},
		{func(s *queens.Snapshot) { s.PerSecond = 0 },
			strings.Replace(done+fleet, "98.0 M/s", "0 /s", 1) + "; 1m20s to 2m to go"},
		{func(s *queens.Snapshot) {
			s.Live, s.Rate, s.Waits = new(queens.Live), nil, &queens.Wait{Reason: queens.NoWorkers}
		}, done + "; waiting for workers"},
		{func(s *queens.Snapshot) { s.Disputes, s.Waits = 4, &queens.Wait{Reason: queens.Recounting} },
			done + fleet + "; waiting for recounts by the coordinator; 4 disputes"},
		{func(s *queens.Snapshot) { s.Live, s.Rate, s.Checks, s.TimeToGo = nil, nil, nil, nil },
			done + "; workers not known; time to go not known"},
		{func(s *queens.Snapshot) {
			s.Done, s.WorkDone = 748, 1
		}, "100.0%, 748 of 748 tasks" + fleet + "; auditing the ledger"},
		{func(s *queens.Snapshot) { s.State = queens.Stopped }, done + fleet + "; stopped"},
	} {
		s := underWay()
		c.change(s)
		if report.Progress(s) != c.want {
			t.Errorf("got  %s\nwant %s", report.Progress(s), c.want)
		}
	}
}

// The text about a stopped run says how to resume it, unless the ledger is gone.
func TestStopped(t *testing.T) {
	s := underWay()
	got := report.Stopped(s, s, "/data/n18-aa", "coordinator resume n18-aa")
	want := "done so far:  21.0%, 131 of 748 tasks\n" +
		"recorded in:  /data/n18-aa\n" +
		"time to go:   1m20s to 2m with 8 threads\n" +
		"to resume:    coordinator resume n18-aa\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = report.Stopped(s, nil, "", "coordinator resume n18-aa")
	if strings.Contains(got, "resume") || !strings.Contains(got, "the ledger was removed") {
		t.Errorf("of a ledger that is gone: %q", got)
	}
}

// lines returns the level and the text for people of each event in a log.
func lines(t *testing.T, b *bytes.Buffer) (lines []string) {
	t.Helper()
	for line := range bytes.Lines(b.Bytes()) {
		fields := make(map[string]any)
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		text, ok := fields[humanize.LogField].(string)
		if !ok {
			text = fields["message"].(string)
		}
		lines = append(lines, fields["level"].(string)+": "+text)
	}
	b.Reset()
	return lines
}

// Workers that join at the same time share a line. The progress is logged often at first, and then
// every minute.
func TestFollower(t *testing.T) {
	var b bytes.Buffer
	f := report.Follower{Log: zerolog.New(&b), Progress: true}
	s := underWay()
	join := func(process string, threads int) {
		s.WorkerList = append(slices.Clone(s.WorkerList), queens.Worker{
			Machine: testkit.Machine("host"), Label: "host/" + process, Process: process, Threads: threads,
		})
		s.Live = &queens.Live{Machines: 2, Workers: len(s.WorkerList), Threads: 8}
	}
	second := 0
	follow := func(seconds int) {
		for range seconds {
			c := *s
			f.Follow(time.Hour+time.Duration(second)*time.Second, &c)
			second++
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := lines(t, &b); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	progress := func() string { return "info: " + report.Progress(s) }
	join("a", 2)
	follow(5)
	expect("at the start", progress(), progress())
	for i := range 6 {
		join(string(rune('b'+i)), 1)
	}
	follow(3)
	expect("a burst", "info: 6 workers joined: host/b (1 thread), host/c (1 thread), host/d (1 "+
		"thread), host/e (1 thread) and 2 more; "+
		"now 7 workers on 2 machines, 8 threads", progress())
	s.WorkerList[1].LastSeen = seconds(20)
	follow(2)
	s.WorkerList = append(slices.Clone(s.WorkerList[:1]), s.WorkerList[3:]...)
	s.Live = &queens.Live{Machines: 2, Workers: 5, Threads: 8}
	s.Checks = &queens.Checks{
		Disputes: 2, Recounting: 2,
		Banned: []queens.Ban{{Machine: testkit.Machine("bad"), Task: 1234, Count: 5, Recount: 6}},
	}
	s.Waits = &queens.Wait{Reason: queens.OtherMachine, Why: "a redundancy of 2"}
	follow(2)
	expect("trouble", "info: "+
		"21.0%, 131 of 748 tasks; 98.0 M/s; 7 workers on 2 machines, 8 threads; 1m20s to 2m to go",
		"warn: 1 worker left: host/c (1 thread); 1 worker fell silent: host/b (1 thread); now 5 workers on 2 machines, 8 threads",
		"warn: counts of 2 more tasks differ; the coordinator recounts them",
		"error: machine bad is banned: it counted 5 in task 1,234, a recount 6; "+
			"its other counts are void: check its memory and its cooling",
		"warn: waiting for another witness: a redundancy of 2; what helps: start a worker on another machine, or of an invited user")
	follow(48)
	if got := lines(t, &b); len(got) != 5 {
		t.Errorf("%d lines in the rest of the first minute: %q", len(got), got)
	}
	follow(600)
	if got := lines(t, &b); len(got) != 10 || got[0] != progress() {
		t.Errorf("%d lines in ten minutes: %q", len(got), got)
	}
	s.State = queens.Complete
	s.WorkerList = nil
	follow(5)
	expect("at the end")
}

// The log of a result says the total and what confirms it.
func TestResultLog(t *testing.T) {
	var b bytes.Buffer
	report.NewResult(complete(92, queens.Confirmation{}), nil, time.Second, 1).Log(zerolog.New(&b))
	s := complete(93, queens.Confirmation{})
	s.N = 28
	s.SetTotal(big.NewInt(1e18), queens.Confirmation{Tasks: 16})
	r := report.NewResult(s, nil, time.Second, 1)
	r.Verify = "VERIFY"
	r.Log(zerolog.New(&b))
	stopped := underWay()
	stopped.State = queens.Stopped
	report.NewResult(stopped, nil, time.Second, 1).Log(zerolog.New(&b))
	want := []string{
		"info: 92 solutions for n = 8: it is the published total, OEIS A000170; run n8-aa took 4m12s",
		"info: 1,000,000,000,000,000,000 solutions for n = 28: nothing confirms it; run n8-aa took 4m12s; " +
			"to count every task again: VERIFY --sample 100%",
		"info: run n18-aa is stopped at 21.0%, 131 of 748 tasks",
	}
	if got := lines(t, &b); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// For each reason to wait, the log says the reason, since when, and what would help.
func TestEveryWaitIsLogged(t *testing.T) {
	for _, reason := range queens.Reasons() {
		var b bytes.Buffer
		s := underWay()
		s.State = queens.Stopped // looks at once
		s.Waits = &queens.Wait{Reason: reason, Since: time.Unix(1e9, 0).UTC()}
		f := report.Follower{Log: zerolog.New(&b)}
		f.Follow(0, s)
		for _, want := range []string{fmt.Sprintf(`"for":%q`, reason), `"since":"2001-09-09T01:46:40Z"`,
			fmt.Sprintf(`"help":%q`, s.Waits.Advice()), s.Waits.Sentence()} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the log of %s has no %s: %s", reason, want, b.String())
			}
		}
	}
}
