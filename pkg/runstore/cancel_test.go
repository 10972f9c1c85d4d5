package runstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// withoutSocket makes a folder in which no process can make the socket of a run.
func withoutSocket(t *testing.T, store *Store, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(store.Folder(name), "control.sock", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// worksOn has a process work on a run that ends as asked, and returns its ledger and its end.
func worksOn(t *testing.T, store *Store, l *ledger.Ledger) (ended chan error) {
	t.Helper()
	stopped := make(chan struct{})
	control := store.NewControl(l.Header().Run, func() { close(stopped) })
	control.Listen(l)
	cancelled, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(cancelled)
		_ = control.AwaitCancel(t.Context()) // the run is cancelled, or the test has ended
	}()
	go func() {
		state := run.Stopped
		select {
		case <-stopped:
		case <-cancelled:
			state = run.Cancelled
		}
		err := l.SetState(state)
		control.Close()
		ended <- errors.Join(err, l.Close())
	}()
	return ended
}

// leavesNoRequest fails if a file with a request is left.
func leavesNoRequest(t *testing.T, store *Store, name string) {
	t.Helper()
	for _, file := range []string{"cancel", "stop"} {
		if _, err := os.Stat(filepath.Join(store.Folder(name), file)); err == nil {
			t.Errorf("%s is left", file)
		}
	}
}

// Cancelling a run on which a process works says that it is cancelled, although that process does it,
// and leaves no request. Only the second time it was cancelled already; then Cancel removes what that process has
// left. The same holds where the process has no socket.
func TestCancelOfAnActiveRun(t *testing.T) {
	t.Parallel()
	for _, socket := range []bool{true, false} {
		folder := t.TempDir()
		_, l := activeRun(t, folder)
		name := l.Header().Run
		var log testkit.Log
		store, err := New(folder, log.Logger())
		if err != nil {
			t.Fatal(err)
		}
		if !socket {
			withoutSocket(t, store, name)
		}
		ended := worksOn(t, store, l)
		if lines := log.Lines("has no socket"); len(lines) > 0 == socket {
			t.Errorf("with a socket %v, the process logs %q", socket, lines)
		}
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
			if len(log.Lines(want)) != 1 {
				t.Errorf("it logged %q, want %s", log.Lines(""), want)
			}
			leavesNoRequest(t, store, name)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A run stops when another process asks for it, at the socket or by a file; without a process there is
// nothing to stop. What an earlier process was asked for is void.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, socket := range []bool{true, false} {
		store, l := activeRun(t, t.TempDir())
		name := l.Header().Run
		if !socket {
			withoutSocket(t, store, name)
		}
		for _, old := range []string{"cancel", "stop"} {
			if err := os.WriteFile(filepath.Join(store.Folder(name), old), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ended := worksOn(t, store, l)
		leavesNoRequest(t, store, name)
		if err := store.Stop(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if i := store.Inspect(name); i.Status() != string(run.Stopped) {
			t.Errorf("the run is %s", i.Status())
		}
		leavesNoRequest(t, store, name)
		if err := store.Stop(t.Context(), name); !errors.Is(err, ErrNotActive) {
			t.Errorf("error %v of a run on which no process works", err)
		}
	}
}

// The socket is for the owner of the process alone, and its path in the lock file.
func TestSocket(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	serve(t, store, l)
	name := l.Header().Run
	info, err := os.Stat(filepath.Join(store.Folder(name), "control.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v (%v)", info.Mode(), err)
	}
	testkit.Eventually(t, "the lock file names the socket", func() bool {
		i := store.Inspect(name)
		return i.Locked != nil && i.Locked.Holder.Socket == "control.sock"
	})
}
