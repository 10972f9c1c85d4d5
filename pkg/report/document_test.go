package report

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// survey returns the survey of a ledger in which two workers counted five tasks.
func survey(n int, placed ...queens.Square) *run.Survey {
	s := &run.Survey{
		Manifest: queens.Manifest{
			SplitVersion: 3, N: n, Symmetry: queens.None, Placed: placed, Tasks: 5, Hash: [32]byte{0xab},
			Classes: []queens.ClassPlan{{Depth: 2, Batch: 1}},
		},
		Created: time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC), State: run.Complete, Redundancy: 1, SpotCheck: run.AutoSpotCheck, Done: 5, CoreTime: 12 * time.Millisecond,
		Contributions: []run.Contribution{
			{Worker: "alpha", Key: "UAAAAAAAAAAAAAAA", Kernel: "avx2", Tasks: 3, CoreTime: milliseconds(9)},
			{Worker: run.Referee, Kernel: "generic", Tasks: 2, CoreTime: milliseconds(3)},
		},
		Kernels: []run.Contribution{
			{Kernel: "avx2", Tasks: 3, CoreTime: milliseconds(9)}, {Kernel: "generic", Tasks: 2, CoreTime: milliseconds(3)},
		},
	}
	return s
}

func milliseconds(n int) run.Seconds {
	return run.Seconds{Duration: time.Duration(n) * time.Millisecond}
}

// document returns the report of a complete run with placed queens.
func document() *Document {
	r := placedResult()
	d := &Document{
		Result: r, Survey: survey(r.N, r.Placed...), Folder: "/data/n8-a", Store: "/data", Again: "coordinator count 8 --new",
		Program: "coordinator v1", Machine: "here", Written: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
	}
	for i := range 10 {
		d.History = append(d.History, run.Sample{
			From: time.Duration(i) * time.Second, To: time.Duration(i+1) * time.Second, Solutions: float64(100 * (i % 4)), Threads: 2,
		})
	}
	return d
}

// page writes a document, checks what holds for each, and returns it.
func page(t *testing.T, d *Document) string {
	t.Helper()
	text := written(t, func(b *strings.Builder) error { return d.Write(b) })
	checkWellFormed(t, text)
	tags := strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1), "\n") + documentCSS
	for _, outside := range []string{`(?i)\b(src|href|action|srcset|poster|data)\s*=`, `(?i)url\(`, `(?i)@import`, `(?i)<(script|link|iframe|object|embed|img|base|form)\b`, `\son[a-z]+\s*=`} {
		if found := regexp.MustCompile(outside).FindString(tags); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	for _, wrong := range []string{"ZgotmplZ", "NaN", "Inf", "<no value>", "%!"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	return text
}

// void are the elements of the page without an end.
var void = map[string]bool{"meta": true, "wbr": true}

// checkWellFormed reads the page as XML: each element is closed in its order, no id is there twice, and what refers
// to an id finds it.
func checkWellFormed(t *testing.T, text string) {
	t.Helper()
	if !strings.HasPrefix(text, "<!doctype html>\n<html lang=\"en\">") {
		t.Errorf("the page begins with %.60q", text)
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, []string{"meta", "wbr"}, xml.HTMLEntity
	ids, refers := make(map[string]bool), make(map[string]bool)
	var open []string
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if !void[e.Name.Local] {
				open = append(open, e.Name.Local)
			}
			for _, a := range e.Attr {
				switch {
				case a.Name.Local == "id" && ids[a.Value]:
					t.Errorf("the id %s is there twice", a.Value)
				case a.Name.Local == "id":
					ids[a.Value] = true
				case a.Name.Local == "aria-labelledby":
					for id := range strings.FieldsSeq(a.Value) {
						refers[id] = true
					}
				case math.IsNaN(number(a.Value)) && (a.Name.Local == "x" || a.Name.Local == "width" || a.Name.Local == "height"):
					t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				t.Fatalf("</%s> closes %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are not closed", open)
	}
	for id := range refers {
		if !ids[id] {
			t.Errorf("nothing has the id %s", id)
		}
	}
}

// number returns a measure, or NaN.
func number(text string) float64 {
	x, ok := new(big.Float).SetString(strings.TrimSuffix(text, "%"))
	if !ok {
		return math.NaN()
	}
	f, _ := x.Float64()
	return f
}

// text returns what a reader sees of a page, with single spaces.
func text(page string) string {
	_, body, _ := strings.Cut(page, "<body>")
	return words(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(body, "<wbr>", ""), " ")))
}

func expect(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// The numbers of the page are those of the JSON object.
func TestDocumentAgreesWithTheResult(t *testing.T) {
	d := document()
	d.Result.Unique = decimal(163)
	r, s := d.Result, text(page(t, d))
	expect(t, s, "complete", "1,234 ways to complete 2 placed queens on a board of 8 × 8 squares", "plain digits: "+r.Total.String(),
		"Confirmed by a sample: 1 of 5 tasks, 1 dispute; a rare wrong count may be unseen", "fundamental solutions 163", "run "+r.Run, "symmetry none 1 class",
		"tasks 5 of prefixes of 2 rows", "workers 2 whose", "core time 1m", "time 2s of the count", "rate 617 /s",
		"level sampled", "published total none for this board", "keys that agree 1", "tasks checked 1 20.0%", "disputes 1",
		"required 1 key on each task, and spot checks of 1% of the tasks, within limits of the coordinator's time", "republished 3", "refused results 0",
		"placed queens 0,3 3,7 as row,column", "alpha UAAAAAAAAAAA… avx2 3 9ms 3ms 75.0%", "the coordinator, to settle disputes generic 2 3ms 1.5ms 25.0%",
		"coordinator verify n8-a --sample 100% --data /data", "coordinator ledger n8-a --data /data > subtotals.jsonl",
		"coordinator count 8 --new", "ledger /data/n8-a", "ab0000000000", "written by coordinator v1", "Solutions per second while a coordinator worked on the run, from 0s to 10s: between 0 /s and 300 /s, in the mean 130 /s.")
}

// The chart is that of the whole run, also where the command only reads a complete one.
func TestDocumentOfAFinishedRun(t *testing.T) {
	d := document()
	d.Result.Count = nil
	expect(t, text(page(t, d)), "from 0s to 10s: between 0 /s and 300 /s, in the mean 130 /s.", "Threads present: 2.")
}

// A total behind which nothing stands is never without the remark.
func TestDocumentOfAnUnconfirmedTotal(t *testing.T) {
	d := document()
	d.Result.Confirmed = new(run.Confirmation{Redundancy: 1, Tasks: 5}).Confirmed(true)
	expect(t, text(page(t, d)), "1,234", "Not independently confirmed.", "level none not independently confirmed")
}

// Without a total there is no number that could be taken for it, and the page says why and how to resume.
func TestDocumentWithoutATotal(t *testing.T) {
	for end, want := range map[End]string{
		Stopped:      "There is no total: 3 of 5 tasks are counted, 60.0% of the estimated work.",
		Incomplete:   "There is no total: 3 of 5 tasks are counted, 60.0% of the estimated work.",
		Cancelled:    "There is no total: 3 of 5 tasks are counted",
		Failed:       "There is no total: 3 of 5 tasks are counted",
		Contradicted: "There is no total: something contradicts it.",
	} {
		d := document()
		r := d.Result
		r.Total, r.End, d.Ended, d.Resume = nil, end, "this is <why>", "coordinator resume n8-a"
		r.Confirmed = new(run.Confirmation{}).Confirmed(false)
		d.Survey.Done, r.Count.Snapshot.WorkDone = 3, 0.6
		if end == Contradicted {
			r.Known = queens.Mismatch
		}
		s := text(page(t, d))
		expect(t, s, string(end), want, "The command ended with: this is <why>", "coordinator resume n8-a", "Counted are the ways to complete")
		if strings.Contains(s, "1,234") || strings.Contains(s, "1234") || strings.Contains(s, "sums the same") {
			t.Errorf("%s: the page has a total: %s", end, s)
		}
		if end == Contradicted {
			expect(t, s, "published total another")
		}
	}
}

// A run that nobody has counted anything of has a page too, without charts.
func TestDocumentOfAnEmptyLedger(t *testing.T) {
	d := document()
	d.Result.Total, d.Result.End, d.Result.Count, d.History = nil, Failed, nil, nil
	d.Survey = &run.Survey{Manifest: d.Survey.Manifest}
	s := text(page(t, d))
	expect(t, s, "No count is accepted yet", "started unknown")
	if strings.Contains(s, "Throughput") {
		t.Errorf("there is a chart of nothing: %s", s)
	}
}

// Names, reasons and errors may come from anybody: they are text. The reason why the command ended, which may quote
// an error of the server, has no characters that are not seen.
func TestHostileDocument(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>{{.Total}}</style>--><svg/onload=x>`
	d := document()
	s := d.Survey
	s.Contributions = append(s.Contributions, run.Contribution{Worker: evil, Key: evil, Kernel: evil, Tasks: math.MaxUint64, CoreTime: run.Seconds{Duration: math.MaxInt64}})
	s.Kernels[0].Kernel = evil
	s.Others, s.OtherWorkers, s.OtherKernels = run.Contribution{}, 3, 7
	s.Quarantined, s.QuarantinedCount = []run.QuarantinedKey{{Key: evil, Reason: evil}}, 500
	s.Disputes, s.DisputeCount = []run.Dispute{{Task: math.MaxUint64, Votes: slices.Repeat([]run.Result{{Worker: evil, Key: evil, Kernel: evil}}, 15)}}, 400
	d.Folder, d.Store, d.Machine, d.Program, d.Again = evil, evil, evil, evil, evil
	d.Ended = evil + "\u202e\x00"
	d.Result.Run, d.Result.End, d.Result.Total = evil, Failed, nil
	p := page(t, d)
	if strings.Contains(p, "\u202e") || strings.ContainsRune(p, 0) {
		t.Error("the page has invisible characters")
	}
	expect(t, text(p), "<script>alert(1)</script>", "quarantined", "And 499 more keys.", "And 399 more tasks.", "and 5 counts more", "3 others", "And 7 more kernels.")
}

// The page of a verification has what was recounted, and how to recount the same again.
func TestDocumentOfAVerification(t *testing.T) {
	d := document()
	d.Result, d.History = nil, nil
	v := &audit.Verification{
		Run: "n8-a", N: 8, Placed: d.Survey.Manifest.Placed, Verified: true, Total: decimal(1234), Known: queens.Unpublished, Done: 5, Tasks: 5,
		Signatures: audit.Signatures{Statements: 2, Signed: 7},
		Recounts:   audit.Recounts{Recounted: 4, Share: 0.25, Seed: math.MaxUint64, Kernels: []string{"avx2", "generic"}},
		Whole:      "mirror-image", Confirmed: run.Confirmed{Level: run.Redundant, By: run.Confirmation{Redundancy: 2, Tasks: 5, Checked: 5}},
	}
	d.Verification = v
	expect(t, text(page(t, d)), "Report of a verification", "verified", "1,234", "Confirmed: each task by 2 keys, 0 disputes.",
		"ledger 5 of 5 tasks", "signatures 2 statements all are right; 7 counts say the same", "recounted 4 tasks 25% of the work, with avx2, generic",
		"seed 18446744073709551615", "with the placed queens mirrored", "state complete of the run")
	v.Stopped, v.Verified, v.Whole = true, false, ""
	expect(t, text(page(t, d)), "stopped", "1,234", "stopped before the end")
	v.Stopped, v.Total, v.Done, d.Ended = false, nil, 3, "task 3 was counted 5"
	s := text(page(t, d))
	expect(t, s, "not verified", "The run is not verified", "task 3 was counted 5")
	if strings.Contains(s, "1,234") {
		t.Error("a run that is not verified has a total")
	}
	v.Err, d.Survey.Damaged = run.ErrContradiction, 2
	s = text(page(t, d))
	expect(t, s, "signatures 2 statements with 7 counts, until the command ended", "2 records damaged, which are left out")
	if strings.Contains(s, "right") {
		t.Errorf("signatures or checksums of a contradicted, damaged ledger are right: %s", s)
	}
	v.Stopped, v.Differing = true, 102
	v.Differences = []run.Difference{
		{Task: 3, Count: 5, Worker: "liar", Key: "UABCDEFGHIJKLMNOP", Kernel: "avx2", Recount: 4, RecountKernel: "generic"},
		{Task: 1234, Count: 6, Worker: run.Referee, Kernel: "generic", OtherTask: true, Recount: 6, RecountKernel: "avx2"},
	}
	expect(t, text(page(t, d)), "not verified", "102 differ; stopped before the end", "Recounts that differ",
		"3 5 liar UABCDEFGHIJK… avx2 accepted 3 4 this verification generic the recount",
		"1,234 6 the coordinator, to settle disputes generic accepted, but of another task 1,234 6 this verification avx2 the recount",
		"And 100 more tasks.")
}
