package runstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// activeRun creates a run in a store in a folder, and returns its ledger, which is open for writing.
func activeRun(t *testing.T, folder string) (*Store, *ledger.Ledger) {
	t.Helper()
	store, err := New(folder, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	return store, newLedger(t, store, 12, 3)
}

// accept accepts a result of the next task.
func accept(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	r := run.Result{Task: l.Len(), Hash: 1, Count: l.Len(), Attempt: 1, Worker: "w", Kernel: "generic"}
	at := run.StreamPosition{Created: time.Unix(1, 0), Sequence: l.Len() + 1}
	if _, err := l.Accept([]run.Result{r}, 0, at); err != nil {
		t.Fatal(err)
	}
}

// serve lets others ask this process, which works on a run, until the function that it returns is called.
func serve(t *testing.T, store *Store, l *ledger.Ledger) (c *Control, stop func()) {
	t.Helper()
	c = store.NewControl(l.Header().Run, func() {})
	c.Listen(l)
	stop = sync.OnceFunc(c.Close)
	t.Cleanup(stop)
	return c, stop
}

// backup backs a run up, and returns how many tasks the backup has.
func backup(t *testing.T, store *Store, name, file string) uint64 {
	t.Helper()
	c, err := store.Backup(t.Context(), name, file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != c.Done || l.Header().Run != name {
		t.Errorf("a backup of run %s with %d tasks has %d of run %s", name, c.Done, l.Len(), l.Header().Run)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c.Done
}

// A run is backed up while a process works on it, after that process was killed, and after it has
// ended; also where the path of the socket would be too long.
func TestBackup(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{"short path": "", "long path": strings.Repeat("/a-folder-with-a-long-name", 6)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, l := activeRun(t, t.TempDir()+folder)
			name, file := l.Header().Run, filepath.Join(t.TempDir(), "backup")
			accept(t, l)
			_, stop := serve(t, store, l)
			for want := uint64(1); want < 4; want++ {
				if got := backup(t, store, name, file); got != want {
					t.Errorf("the backup of an active run has %d tasks, want %d", got, want)
				}
				accept(t, l)
			}
			stop()
			if left, err := filepath.Glob(filepath.Join(store.Folder(name), "*.sock")); err != nil || len(left) > 0 {
				t.Errorf("%q is left (%v)", left, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if got := backup(t, store, name, file); got != 4 {
				t.Errorf("the backup of a run that has ended has %d tasks, want 4", got)
			}
		})
	}
}

// The socket that a killed process leaves prevents neither a backup nor the next process.
func TestBackupAfterAKill(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	name, file := l.Header().Run, filepath.Join(t.TempDir(), "backup")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(store.Folder(name), "control.sock")})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := errors.Join(listener.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	backup(t, store, name, file)
	control := store.NewControl(name, func() {})
	if l, err = store.Work(t.Context(), control); err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	accept(t, l)
	if got := backup(t, store, name, file); got != 1 {
		t.Errorf("the backup has %d tasks, want 1", got)
	}
}

// If the process that works on the run ends in the middle of a copy, the backup is made from the
// file.
func TestBackupSurvivesTheCoordinator(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	name := l.Header().Run
	accept(t, l)
	listener, err := net.Listen("unix", filepath.Join(store.Folder(name), "control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = http.ReadRequest(bufio.NewReader(conn))
			_, failed := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\nhalf")
			err = errors.Join(err, failed, listener.Close(), l.Close(), conn.Close())
		}
		ended <- err
	}()
	if got := backup(t, store, name, filepath.Join(t.TempDir(), "backup")); got != 1 {
		t.Errorf("the backup has %d tasks, want 1", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A reader that takes nothing delays neither the run nor its end.
func TestStalledBackup(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	_, stop := serve(t, store, l)
	for range 3 {
		conn, err := net.Dial("unix", filepath.Join(store.Folder(l.Header().Run), "control.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET /backup HTTP/1.1\r\nHost: run\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		accept(t, l)
	}
	stop()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// What can't be backed up, and where no backup can be, is refused; what is there stays.
func TestRefusedBackup(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	accept(t, l)
	name := l.Header().Run
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for file, want := range map[string]error{
		store.Ledger(name):                    ErrNotBackup,
		folder:                                ErrNotBackup,
		"/dev/null":                           ErrNotBackup,
		filepath.Join(folder, "none", "file"): fs.ErrNotExist,
	} {
		if _, err := store.Backup(t.Context(), name, file); !errors.Is(err, want) {
			t.Errorf("to %s: error %v, want %v", file, err, want)
		}
	}
	file := filepath.Join(folder, "backup")
	if _, err := store.Backup(t.Context(), "n12-none", file); !errors.Is(err, ErrNoRun) {
		t.Errorf("of no run: %v", err)
	}
	backup(t, store, name, file)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(store.Path(), "n12-other")
	if err := os.Rename(store.Folder(name), other); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Backup(t.Context(), "n12-other", file); err == nil || !strings.Contains(err.Error(), "is of run "+name) {
		t.Errorf("of a folder with another name: %v", err)
	}
	if err := os.Truncate(filepath.Join(other, ledger.File), 20_000); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Backup(t.Context(), "n12-other", file); !errors.As(err, new(*ledger.DamagedError)) {
		t.Errorf("of a damaged ledger: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	held, l := activeRun(t, t.TempDir()) // it gives no copies
	if _, err := held.Backup(ctx, l.Header().Run, file); !errors.Is(err, context.Canceled) {
		t.Errorf("of an active run: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the backup before has changed: %v", err)
	}
}

// A restored run is one of the store, unless the store has it already.
func TestRestore(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	accept(t, l)
	name, file := l.Header().Run, filepath.Join(t.TempDir(), "backup")
	_, stop := serve(t, store, l)
	backup(t, store, name, file)
	stop()
	if _, err := store.Restore(file); !errors.Is(err, ErrHasLedger) {
		t.Errorf("restored over a run: %v", err)
	}
	elsewhere, err := New(filepath.Join(t.TempDir(), "new"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	c, err := elsewhere.Restore(file)
	if err != nil || c.Run != name || c.Done != 1 {
		t.Fatalf("restored %+v, error %v", c, err)
	}
	if newest, err := elsewhere.NewestUnfinished(); err != nil || newest != name {
		t.Errorf("the run to resume is %q, error %v, want %s", newest, err, name)
	}
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.Restore(file); !errors.Is(err, ErrDamagedBackup) {
		t.Errorf("restored from another file: %v", err)
	}
}

// A backup replaces no ledger of another run of the store.
func TestBackupReplacesNoLedger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, l := activeRun(t, folder)
	_, other := activeRun(t, folder)
	accept(t, l)
	if err := errors.Join(l.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	name, target := l.Header().Run, store.Ledger(other.Header().Run)
	if _, err := store.Backup(t.Context(), name, target); !errors.Is(err, ErrNotBackup) {
		t.Errorf("over the ledger of another run: %v", err)
	}
	again, err := store.OpenReadOnly(other.Header().Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
