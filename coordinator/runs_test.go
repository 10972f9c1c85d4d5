//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list of runs has the server of an active run that workers can join, and its process; with
// --json also the folder of the ledger.
func TestRunsListTheServerOfAnActiveRun(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "12", "--depth", "2")
	run := coordinator.Await(counting)
	runs := func(args ...string) string {
		t.Helper()
		return start(t, "coordinator", append([]string{"runs", "--data", coordinator.Flag("--data")}, args...)...).ExpectExit(0)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if list, where := runs(), url+", "+host+", process "; !strings.Contains(list, where) {
		t.Errorf("runs prints %q, want %q in it", list, where)
	}
	folder := coordinator.Flag("--data") + "/" + run
	if list := runs("--json"); !strings.Contains(list, `"ledger":"`+folder+`","server":"`+url+`"`) {
		t.Errorf("runs prints %s, want the folder %s and the server %s", list, folder, url)
	}
}

// While a server does not say which runs it has, the beginning of a name names no run on this machine to cancel:
// the server may have another run that begins so. A whole name does.
func TestCancelByBeginningNeedsTheServer(t *testing.T) {
	long(t)
	data := t.TempDir()
	start(t, "coordinator", "count", "6", "--workers", "1", "--data", data).ExpectExit(0)
	found, err := filepath.Glob(filepath.Join(data, "n6-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the runs are %v (%v)", found, err)
	}
	run := filepath.Base(found[0])
	for _, name := range []string{run, run[:len(run)-4]} {
		cancel := start(t, "coordinator", "cancel", name, "--data", data, "--nats", "nats://127.0.0.1:1")
		cancel.ExpectExit(5)
		if here := cancel.Lines("is complete already") > 0; here != (name == run) {
			t.Errorf("cancel %s looks at the run on this machine: %v", name, here)
		}
	}
}
