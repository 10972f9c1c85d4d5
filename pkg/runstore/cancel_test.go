package runstore_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/testkit"
)

// Cancelling a run on which a process works says that it is cancelled, although that process does it,
// and leaves no request. Only the second time it was cancelled already; then Cancel removes what that process has left.
func TestCancelOfAnActiveRun(t *testing.T) {
	folder := t.TempDir()
	_, l := newRun(t, folder)
	name := l.Header().Run
	var log bustest.Log
	store, err := runstore.New(folder, log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // the process that works on the run
		for end := time.Now().Add(testkit.Stall); !store.CancelRequested(name) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if err := l.SetState(run.Cancelled); err != nil {
			ended <- err
			return
		}
		ended <- l.Close()
	}()
	for _, want := range []string{`"done":0,"message":"cancelled"`, `"message":"was cancelled already"`} {
		if err := store.Cancel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(store.ServerFolder(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the store of its server: %v", err)
		}
		if err := os.Mkdir(store.ServerFolder(name), 0o700); err != nil { // as a process leaves it that is killed at its end
			t.Fatal(err)
		}
		if len(log.Lines(want)) != 1 || store.CancelRequested(name) {
			t.Errorf("it logged %q, want %s; still requested: %v", log.Lines(""), want, store.CancelRequested(name))
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
