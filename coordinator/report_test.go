package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// A report that can't be written says which command writes another.
func TestReportThatCannotBeWritten(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	r := reportFlag{filepath.Join(t.TempDir(), "gone", "n8.html")}
	for want, d := range map[string]*report.Document{
		"coordinator resume n8-a --report FILE --data " + store.Path() + " writes another": {Result: &report.Result{}},
		"coordinator verify n8-a --report FILE --data " + store.Path() + " writes another": {Verification: &audit.Verification{}},
	} {
		d.Survey = &run.Survey{}
		if err := r.write(&cli.App{Log: zerolog.Nop()}, d, store, "n8-a", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
