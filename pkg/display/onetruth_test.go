package display

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// At one snapshot, the display, the log, watch, and the list of runs, here and of a server, say the
// same share of the work, rate and time to go. The share is not that of the tasks.
func TestEveryOutputShowsTheSnapshot(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	classes, err := symmetry.Classes(12, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 12, queens.Full, classes, 3)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Create(m, ledger.Trust{Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p := run.Snapshot{
		Run: l.Header().Run, N: 12, Symmetry: queens.Full, State: run.Running, At: time.Now(), Done: m.Tasks / 2, Tasks: m.Tasks, WorkDone: 0.1 + 0.2,
		Solutions: (*run.Decimal)(big.NewInt(7)), Rate: 1.2345e9 / 7, ETA: &run.ETA{Min: run.Seconds{Duration: 1234567890123}, Max: run.Seconds{Duration: 2345678901234}}, Workers: 1, Threads: 1,
	}
	const work, rate, left = "30.0%", "176 M/s", "20m to 40m"
	const percent, perSecond, least, most = `"percent":30,`, `"rate":176357142.85714287`, `"eta_least_s":1234.567890123`, `"eta_most_s":2345.678901234`

	control := store.NewControl(p.Run, func() {})
	control.Listen(l)
	defer control.Close()
	control.SetSnapshot(&p)
	local, err := runlist.Local(store, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(run.Record{Run: p.Run, Manifest: m, State: run.Running, Snapshot: &p, Updated: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	var record run.Record
	if err := json.Unmarshal(sent, &record); err != nil {
		t.Fatal(err)
	}
	server := runlist.OnServer("nats://a:4222", false, []run.Record{record})

	var drawn, logged, watched strings.Builder
	for _, row := range (theme{}).layout(&p, "", 80, 24) {
		for _, s := range row {
			drawn.WriteString(s.text)
		}
	}
	report.LogSnapshot(zerolog.New(&logged), &p)
	if err := report.WriteSnapshot(&watched, &p); err != nil {
		t.Fatal(err)
	}
	list := func(runs []report.ListedRun, asJSON bool) string {
		var b strings.Builder
		if err := report.WriteRuns(&b, runs, asJSON); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, output := range []struct {
		name, text string
		want       []string
	}{
		{"the display", drawn.String(), []string{work, rate, left + " left"}},
		{"the log", logged.String(), []string{`"percent":30,`, `"rate":176357143`, left + " left", least, most}},
		{"watch --json", watched.String(), []string{percent, perSecond, least, most}},
		{"runs", list(local, false), []string{work, rate, left + " left"}},
		{"runs --json", list(local, true), []string{percent, perSecond, least, most}},
		{"runs --nats", list(server, false), []string{work, rate, left + " left"}},
		{"runs --nats --json", list(server, true), []string{percent, perSecond, least, most}},
		{"runs, here and on the server", list(runlist.Merge(local, server), false), []string{work, rate, left + " left"}},
	} {
		for _, want := range output.want {
			if strings.Count(output.text, want) != 1 {
				t.Errorf("%s does not say %s once: %s", output.name, want, output.text)
			}
		}
	}
}
