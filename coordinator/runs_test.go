//go:build unix

package main_test

import (
	"path/filepath"
	"testing"
)

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
