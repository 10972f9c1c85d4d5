package runstore_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/testkit"
)

// Cancelling a run on which a process works says that it is cancelled, although that process does it,
// and leaves no request. Only the second time it was cancelled already.
func TestCancelOfAnActiveRun(t *testing.T) {
	folder := t.TempDir()
	_, l := newRun(t, folder)
	name := l.Header().Run
	var log bytes.Buffer
	store, err := runstore.New(folder, zerolog.New(&log))
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
		log.Reset()
		if err := store.Cancel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), want) || store.CancelRequested(name) {
			t.Errorf("it logged %q, want %s; still requested: %v", log.String(), want, store.CancelRequested(name))
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
