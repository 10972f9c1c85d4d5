package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

func seconds(s float64) queens.Seconds {
	return queens.Seconds{Duration: time.Duration(s * float64(time.Second))}
}

var measured = time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC)

// running returns a snapshot of a run that has not ended.
func running() queens.Snapshot {
	return queens.Snapshot{
		Run: "n20-aa", N: 20, Method: queens.Prefixes, Symmetry: queens.Full, State: queens.Running,
		At: measured, Done: 104, Tasks: 308, WorkDone: 0.4264,
		Solutions: (*queens.Decimal)(big.NewInt(16130085116)), Elapsed: seconds(282), Redundancy: 1,
		SpotCheck: 0.01,
		TimeToGo:  &queens.TimeToGo{Least: seconds(1448), Most: seconds(1765)},
		Remaining: &queens.Remaining{ThreadSeconds: 33000},
		Rate:      &queens.Rate{PerSecond: 206435540},
		Live: &queens.Live{
			Waiting: 140, Held: 64, Machines: 2, Workers: 3, Threads: 17, IdleThreads: 1,
		},
		Checks: &queens.Checks{Checked: 4, Recorded: 100}, Join: "worker --join /home/a/join.token",
		WorkerList: []queens.Worker{
			{Machine: testkit.Machine("node-17"), Label: "node-17/a1", Process: "a1", Kernel: "avx512",
				Threads: 8, Rate: &queens.Rate{PerSecond: 9.8e7}, Tasks: 40, Held: 16, Longest: seconds(1.2)},
			{
				Machine: testkit.Machine("node-17"), Label: "node-17/b2", Process: "b2", Kernel: "avx512",
				Threads: 8, Rate: &queens.Rate{PerSecond: 9.7e7}, Tasks: 41, Held: 16, Longest: seconds(3),
				LastSeen: seconds(14),
			},
			{Machine: testkit.Machine("attic"), Label: "attic/c3", Process: "c3", Kernel: "generic",
				Threads: 1},
		},
	}
}

// troubled returns the snapshot of running, with everything that a page rarely shows.
func troubled() queens.Snapshot {
	s := running()
	s.Disputes, s.Recounts, s.Recounting, s.Refused, s.Lost = 2, 1, 1, 7, 3
	s.Waits = &queens.Wait{Reason: queens.OtherMachine, Since: measured.Add(-time.Minute),
		Why: `a machine "/<b>" has counted all`}
	s.Banned = []queens.Ban{{Machine: testkit.Machine("basement"), Task: 1234, Count: 5678,
		Recount: 5680}}
	s.Placed, s.Symmetry, s.Redundancy, s.TimeToGo, s.Workers = []queens.Square{{Row: 0, Column: 3}},
		queens.None, 2, nil, 300
	return s
}

// complete returns a snapshot of the same run at its end.
func complete() queens.Snapshot {
	s := running()
	s.Done, s.WorkDone, s.TimeToGo = 308, 1, nil
	s.Solutions = (*queens.Decimal)(big.NewInt(39029188884))
	s.SetTotal(big.NewInt(39029188884),
		queens.Confirmation{Published: true, Tasks: 308, Checked: 4, Redundancy: 1, Machines: 2})
	return s
}

// stopped returns what the ledger says about a run that was stopped.
func stopped() queens.Snapshot {
	s := running()
	s.Method = queens.Halves
	s.State, s.Live, s.Checks, s.TimeToGo, s.Remaining, s.WorkerList, s.Join = queens.Stopped, nil,
		nil, nil, nil, nil, ""
	s.Resume = "/opt/coordinator resume n20-aa --listen 0.0.0.0:4222"
	return s
}

// history returns the history of a run whose rate falls to a third in the middle.
func history() (points []progress.Point) {
	found := 0.0
	for i := range 95 {
		points = append(points,
			progress.Point{Elapsed: time.Duration(i) * 3 * time.Second, Solutions: found})
		if rate := 6e8; i >= 30 && i < 60 {
			found += rate / 3
		} else {
			found += rate
		}
	}
	return points
}

// The pages equal the golden files.
func TestPages(t *testing.T) {
	for name, s := range map[string]queens.Snapshot{
		"running": running(), "troubled": troubled(), "complete": complete(), "stopped": stopped(),
	} {
		var b bytes.Buffer
		v := &view{Snapshot: &s, Served: true, Version: "v1", Chart: newChart(history()),
			now: measured.Add(time.Second)}
		if err := templates.ExecuteTemplate(&b, "page", v); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/"+name+".html", b.String())
	}
}

// The page can be drawn in any state, also without the values that may be missing.
func TestEveryStateIsDrawn(t *testing.T) {
	for _, state := range []queens.State{queens.Running, queens.Interrupted, queens.Stopped,
		queens.Contradicted} {
		for _, change := range []func(*queens.Snapshot){
			func(*queens.Snapshot) {},
			func(s *queens.Snapshot) { s.WorkerList, s.Workers, s.Threads, s.TimeToGo = nil, 0, 0, nil },
			func(s *queens.Snapshot) { s.Done, s.WorkDone, s.Rate = 0, 0, nil },
			func(s *queens.Snapshot) { s.Live, s.WorkerList = nil, nil },
			func(s *queens.Snapshot) {
				s.Live, s.Checks, s.WorkerList, s.TimeToGo, s.Remaining = nil, nil, nil, nil, nil
			},
			func(s *queens.Snapshot) { s.Waits = &queens.Wait{Reason: queens.NoWorkers} },
		} {
			s := running()
			s.State = state
			change(&s)
			s.Disclaim()
			var b bytes.Buffer
			err := Write(&b, &s, nil, "v1")
			page, found := b.String(), "no total</dd>"
			if state != queens.Contradicted {
				found = ">16,130,085,116</dd>"
			}
			if err != nil || !strings.Contains(page, "20 queens") || !strings.HasSuffix(page, "</html>\n") ||
				!strings.Contains(page, found) {
				t.Errorf("%s: %v\n%s", state, err, page)
			}
		}
	}
}

// A report is one file: it contains its style, has no script, and names no other file.
func TestReportIsOneFile(t *testing.T) {
	s := complete()
	var b bytes.Buffer
	if err := Write(&b, &s, history(), "v1"); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"<script", "href=", "src=", "refresh", "url("} {
		if strings.Contains(b.String(), no) {
			t.Errorf("the report has %q", no)
		}
	}
	for _, want := range []string{"39,029,188,884", "--ink:", "default-src &#39;none&#39;",
		`<path d="M0 100V`} {
		if !strings.Contains(b.String(), want) &&
			!strings.Contains(b.String(), strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// Texts from outside are never markup, and the page has nothing that its policy forbids: inline
// scripts, styles and handlers.
func TestMarkup(t *testing.T) {
	s := troubled()
	s.WorkerList[0].Kernel, s.Run = `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page",
		&view{Snapshot: &s, Served: true, now: measured}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script>") || strings.Contains(b.String(), "<img") ||
		strings.Contains(b.String(), "<b>") {
		t.Error("a text from outside became markup")
	}
	if found := regexp.MustCompile(`<[^>]* (style|on\w+)=`).FindString(b.String()); found != "" ||
		strings.Contains(b.String(), "<style") {
		t.Errorf("the page has %q, or a style of its own", found)
	}
	script, err := files.ReadFile("script.js")
	if lines := bytes.Count(script, []byte("\n")); err != nil || lines > 70 ||
		bytes.Contains(script, []byte("innerHTML =")) {
		t.Errorf("the script has %d lines, or writes markup", lines)
	}
}

// If the numbers are old, the page says so within 5 s.
func TestSilent(t *testing.T) {
	s := running()
	for age, want := range map[time.Duration]string{
		0: "", silentAfter: "",
		silentAfter + time.Second/
			10: "The coordinator has been silent for 4s. The numbers are older than that.",
	} {
		v := &view{Snapshot: &s, Served: true, now: measured.Add(age)}
		if got := v.Silent(); got != want {
			t.Errorf("after %v: %q, want %q", age, got, want)
		}
	}
	var b bytes.Buffer
	old := &view{Snapshot: &s, Served: true, now: measured.Add(time.Minute)}
	err := templates.ExecuteTemplate(&b, "page", old)
	if page := b.String(); err != nil || !strings.Contains(page, `class="state silent">silent<`) ||
		strings.Contains(page, "time to go") || strings.Contains(page, "running") {
		t.Errorf("the page of a silent coordinator (%v):\n%s", err, page)
	}
	ended := complete()
	if got := (&view{Snapshot: &ended, Served: true, now: measured.Add(time.Hour)}).Silent(); got !=
		"" {
		t.Errorf("of a run that has ended: %q", got)
	}
	if silentAfter > 4*time.Second {
		t.Error("with a second between two fetches, that is more than 5 s")
	}
}

// The text for screen readers changes seldom: after each tenth of the work, and at the end.
func TestSay(t *testing.T) {
	s := running()
	said := make(map[string]bool)
	for i := range 1000 {
		s.WorkDone = queens.Fraction(i) / 1000
		said[(&view{Snapshot: &s, now: measured}).Say()] = true
	}
	ended := complete()
	if got := (&view{Snapshot: &ended}).Say(); len(said) != 10 ||
		got != "Complete: 39029188884 solutions." {
		t.Errorf("%d sentences while the run counts, and %q", len(said), got)
	}
}

// The metrics equal the golden files, and follow the conventions of Prometheus. A coordinator has 8
// to 28 of them.
func TestMetrics(t *testing.T) {
	s := running()
	text := runMetrics(&s, `v1 "x"`)
	testkit.Golden(t, "testdata/metrics.txt", text)
	testkit.Golden(t, "testdata/worker-metrics.txt", workerMetrics(Worker{
		Machine: "node-17", Process: "a1", Kernel: "avx512", Version: "v1", Threads: 8, Busy: 7,
		Tasks: 123, Connected: true,
	}))
	names := regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1)
	if len(names) < 8 || len(names) > 28 {
		t.Errorf("%d metrics", len(names))
	}
	for _, m := range names {
		if !strings.HasPrefix(m[1], "nqueens_") ||
			strings.HasSuffix(m[1], "_total") != (m[2] == "counter") {
			t.Errorf("metric %s is a %s", m[1], m[2])
		}
	}
	s.TimeToGo, s.Remaining, s.Solutions, s.Rate = nil, nil, nil, nil
	unknown := runMetrics(&s, "")
	if strings.Contains(unknown, "time_to_go") || strings.Contains(unknown, "remaining") ||
		strings.Contains(unknown, "nqueens_solutions ") || strings.Contains(unknown, "per_second") {
		t.Errorf("what is unknown is not absent:\n%s", unknown)
	}
	s.Live, s.Checks = nil, nil
	unknown = runMetrics(&s, "")
	for _, name := range []string{"workers", "threads", "machines", "held", "waiting", "banned",
		"disputes", "recorded"} {
		if strings.Contains(unknown, name) {
			t.Errorf("%s is unknown and exported:\n%s", name, unknown)
		}
	}
	s.Waits = &queens.Wait{Reason: queens.NoServer, Since: measured.Add(-time.Minute)}
	if waits := runMetrics(&s, ""); !strings.Contains(waits,
		`nqueens_waiting_seconds{for="no_server"} 60`+"\n") {
		t.Errorf("the run waits for a server:\n%s", waits)
	}
}

// A worker answers with a line for people, its metrics, and its health.
func TestWorker(t *testing.T) {
	worker := Worker{
		Machine: "node-17", Process: "a1", Kernel: "avx2", Version: "v1", Threads: 8, Busy: 7,
		Tasks: 1234,
		Waits: []Wait{{"avx2", queens.Wait{Reason: queens.NoServer, Why: "the server is full"}}},
	}
	s, err := ListenWorker("127.0.0.1:0", func() Worker { return worker })
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "worker node-17/a1, kernel avx2, version v1: 8 threads, 7 busy, 1,234 tasks counted, not " +
			"connected; waiting for a server: " +
			"the server is full; what helps: start the server, or correct its address\n",
		"healthz": "ok\n",
		"metrics": workerMetrics(worker),
	} {
		if status, body, _ := get(t, s, path, ""); status != http.StatusOK || body != want {
			t.Errorf("/%s is %d %q, want %q", path, status, body, want)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A chart covers the time of the run with at most 150 steps, and has round labels.
func TestChart(t *testing.T) {
	if newChart(nil) != nil || newChart(history()[:3]) != nil ||
		newChart(make([]progress.Point, 100)) != nil {
		t.Error("there is a chart without enough history")
	}
	c := newChart(history())
	labels := func(marks []mark) (all []string) {
		for _, m := range marks {
			all = append(all, m.Label+"@"+m.At)
		}
		return all
	}
	rows := []string{"50.0 M/s@75.00%", "100 M/s@50.00%", "150 M/s@25.00%", "200 M/s@0.00%"}
	if got := labels(c.Rows); !slices.Equal(got, rows) {
		t.Errorf("rows %q, want %q", got, rows)
	}
	ticks := []string{"0s@0.00%", "1m@21.28%", "2m@42.55%", "3m@63.83%", "4m@85.11%"}
	if got := labels(c.Ticks); !slices.Equal(got, ticks) {
		t.Errorf("ticks %q, want %q", got, ticks)
	}
	if want := "Solutions per second from 0s to 4m42s of the run: at most 200 M/s, now 200 M/s."; c.Description != want {
		t.Errorf("%q, want %q", c.Description, want)
	}
	isBetween := strings.HasPrefix(c.Path, "M0 100V0.0H10.6V0.0H21.3") &&
		strings.HasSuffix(c.Path, "H1000.0V100Z")
	if !isBetween || !strings.Contains(c.Path, "V66.7") {
		t.Errorf("path %s", c.Path)
	}
	var long []progress.Point
	for i := range 1000 {
		long = append(long, progress.Point{Elapsed: time.Duration(i) * 3 * time.Hour,
			Solutions: float64(i) * 1e18})
	}
	if steps := strings.Count(newChart(long).Path, "H"); steps < 100 || steps > maxSteps+1 {
		t.Errorf("%d steps", steps)
	}
}

// For each reason to wait, page, metrics and JSON say the reason, since when, and what would help.
func TestEveryWaitIsShown(t *testing.T) {
	for _, reason := range queens.Reasons() {
		s := running()
		s.Waits = &queens.Wait{Reason: reason, Since: measured.Add(-time.Minute)}
		var drawn strings.Builder
		if err := Write(&drawn, &s, nil, "v1"); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		var read queens.Snapshot
		if err := json.Unmarshal(encoded, &read); err != nil {
			t.Fatal(err)
		}
		page := html.UnescapeString(drawn.String())
		metric := fmt.Sprintf("nqueens_waiting_seconds{for=%q} 60\n", reason)
		if !strings.Contains(page, s.Waits.Text()+" for 1m") ||
			!strings.Contains(page, s.Waits.Advice()) ||
			!strings.Contains(runMetrics(&s, ""), metric) ||
			read.Waits.Reason != reason || !read.Waits.Since.Equal(s.Waits.Since) ||
			read.Waits.Help != s.Waits.Advice() {
			t.Errorf("%s is not shown everywhere:\n%s\n%s\n%s", reason, page, runMetrics(&s, ""), encoded)
		}
	}
}
