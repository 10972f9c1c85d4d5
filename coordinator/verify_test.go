package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// slowWriter takes three minutes for the first write.
type slowWriter struct{ written bool }

func (w *slowWriter) Write(p []byte) (int, error) {
	if !w.written {
		w.written = true
		time.Sleep(3*time.Minute + 2*time.Second)
	}
	return len(p), nil
}

// A command that writes what a ledger has logs after a second what it does, and again each minute,
// unless --no-progress is set.
func TestWritingIsLogged(t *testing.T) {
	folder := t.TempDir()
	run := emptyRun(t, folder)
	for _, command := range []struct {
		what string
		make func(*cli.App) *cobra.Command
	}{{"exporting the tasks", ledgerCommand}, {"writing the page", reportCommand}} {
		for noProgress, lines := range map[bool]int{false: 4, true: 0} {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				cmd := command.make(&cli.App{Log: zerolog.New(&log), NoProgress: noProgress})
				cmd.SetArgs([]string{run, "--data", folder})
				var out slowWriter
				cmd.SetOut(&out)
				if err := cmd.ExecuteContext(t.Context()); err != nil || !out.written {
					t.Errorf("%s: %v, written %v", command.what, err, out.written)
				}
				if got := strings.Count(log.String(), `"message":"`+command.what+`"`); got != lines {
					t.Errorf("without progress %v, %d lines of %q, not %d: %s", noProgress, got, command.what,
						lines, log.String())
				}
			})
		}
	}
}

// emptyRun makes a run of four queens without a result, and returns its name.
func emptyRun(t *testing.T, folder string) string {
	store, err := runs.NewStore(folder)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := symmetry.Classes(4, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := split.Plan(t.Context(), 4, queens.Full, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	log, state, err := store.Create(ledger.Header{Manifest: m, Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return state.Header().Run
}
