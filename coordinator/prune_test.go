//go:build unix

package main_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// prune --nats removes from a server what a run left there whose coordinator died when the run had ended, and
// nothing of a run that can be resumed. Of one that was resumed on another server, the ledger says that it ended.
func TestPruneRemovesEndedRunsOfAServer(t *testing.T) {
	long(t)
	f := startFake(t)
	result := run.ChunkResult{
		Run: f.run, Worker: "w", Counted: time.Now(), Counts: []run.TaskCount{{Count: 1, Kernel: "generic", Elapsed: time.Second}},
	}
	if err := f.bus.Results().Publish(t.Context(), identitytest.Seal(&result)); err != nil {
		t.Fatal(err)
	}
	kept := *f
	kept.run = "n8-kept"
	kept.begin()
	f.end(run.Complete, big.NewInt(92))
	data := t.TempDir()
	prune := func(args ...string) string {
		t.Helper()
		r := clitest.Run(t, nil, append([]string{"coordinator", "prune", "--all", "--data", data, "--nats", f.server.url}, args...)...)
		if r.Code != 0 {
			t.Fatalf("exit %d: %s", r.Code, r.Stderr)
		}
		return r.Stdout
	}
	testkit.Eventually(t, "the run has been over for long enough", func() bool {
		elapse(t, time.Second) // each try is a process
		return prune("--dry-run") != ""
	})
	if _, err := f.bus.Registry().Record(t.Context(), f.run); err != nil {
		t.Errorf("after --dry-run: %v", err)
	}
	if removed := prune(); !strings.Contains(removed, f.run) || !strings.Contains(removed, "on the server") || strings.Contains(removed, kept.run) {
		t.Errorf("prune says\n%s", removed)
	}
	if _, err := f.bus.Registry().Record(t.Context(), f.run); !errors.Is(err, bus.ErrNoRecord) {
		t.Errorf("the record is still there: %v", err)
	}
	if _, err := f.bus.Registry().Record(t.Context(), kept.run); err != nil {
		t.Errorf("the other run is gone: %v", err)
	}
	createRun(t, data, kept.run, 8)
	if r := clitest.Run(t, nil, "coordinator", "cancel", kept.run, "--data", data); r.Code != 0 {
		t.Fatalf("exit %d: %s", r.Code, r.Stderr)
	}
	if removed := prune(); strings.Count(removed, kept.run) != 2 {
		t.Errorf("of a run that was cancelled here, prune says\n%s", removed)
	}
	if _, err := f.bus.Registry().Record(t.Context(), kept.run); !errors.Is(err, bus.ErrNoRecord) {
		t.Errorf("its record is still there: %v", err)
	}
}
