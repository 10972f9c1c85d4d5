package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A ledger has one writer, or readers. A LockedError names the holder, and does not say
// that the run can be resumed.
func TestLocked(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, position(1), result(1, 1, 1))
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, how func(string) (*ledger.Ledger, error)) ledger.LockInfo {
		t.Helper()
		l, err := how(folder)
		if err == nil {
			closed(t, l)
		}
		var locked *ledger.LockedError
		if !errors.As(err, &locked) || errors.Is(err, queens.ErrIncomplete) || locked.Folder != folder {
			t.Fatalf("%s: the error is %v", what, err)
		}
		return locked.Holder
	}
	for what, how := range map[string]func(string) (*ledger.Ledger, error){
		"another writer": openWriter, "a reader beside a writer": ledger.OpenReadOnly, "a tolerant reader beside a writer": ledger.OpenTolerant,
	} {
		h := refused(what, how)
		if h.Run != runName || h.Tasks != 10 || h.PID != os.Getpid() || h.Host != host || h.Since.IsZero() || h.Updated.Before(h.Since) {
			t.Errorf("%s: the holder is %+v", what, h)
		}
		text := (&ledger.LockedError{Folder: folder, Holder: h}).Error()
		for _, part := range []string{folder, runName, strconv.Itoa(h.PID), host, h.Since.Format(time.RFC3339)} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not say %s", text, part)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "holder.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := refused("beside an unreadable holder.json", openWriter); h != (ledger.LockInfo{}) {
		t.Errorf("the holder is %+v", h)
	}
	closed(t, l)
	open(t, openWriter, folder)
}

// A writer waits up to 2 s for readers. Then the error says that they are reading, and
// names no holder, whatever a killed writer has left.
func TestOpenWaitsForReaders(t *testing.T) {
	folder := t.TempDir()
	closed(t, create(t, folder, 10))
	stale := []byte(`{"run":"other","pid":1,"host":"elsewhere"}`)
	if err := os.WriteFile(filepath.Join(folder, "holder.json"), stale, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			reads time.Duration
			waits time.Duration
		}{{3 * time.Second, 2 * time.Second}, {1990 * time.Millisecond, 2 * time.Second}, {0, 0}, {time.Millisecond, 20 * time.Millisecond}} {
			readers := []*ledger.Ledger{open(t, ledger.OpenReadOnly, folder), open(t, ledger.OpenTolerant, folder)}
			ended := make(chan struct{})
			if c.reads == 0 {
				closed(t, readers[0])
				closed(t, readers[1])
			}
			go func() {
				defer close(ended)
				time.Sleep(c.reads)
				for _, r := range readers {
					closed(t, r)
				}
			}()
			start := time.Now()
			l, err := openWriter(folder)
			if waited := time.Since(start); waited != c.waits {
				t.Errorf("readers read for %v, it waits for %v, want %v", c.reads, waited, c.waits)
			}
			var locked *ledger.LockedError
			switch {
			case err == nil:
				closed(t, l)
			case !errors.As(err, &locked) || !locked.Readers || locked.Holder != (ledger.LockInfo{}) || !strings.Contains(err.Error(), "being read"):
				t.Errorf("readers read for %v, the error is %v", c.reads, err)
			}
			if (err == nil) != (c.reads < c.waits || c.reads == 0) {
				t.Errorf("readers read for %v, the error is %v", c.reads, err)
			}
			<-ended
		}
	})
}

// The wait for readers ends with its context.
func TestOpenEndsWithItsContext(t *testing.T) {
	folder := t.TempDir()
	closed(t, create(t, folder, 10))
	open(t, ledger.OpenReadOnly, folder)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	if _, err := ledger.Open(ctx, folder); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
}

// Of writers that wait for the same reader one gets the ledger. The others fail with its
// name and do not wait for it.
func TestWritersBesideAReader(t *testing.T) {
	folder := t.TempDir()
	closed(t, create(t, folder, 10))
	synctest.Test(t, func(t *testing.T) {
		reader := open(t, ledger.OpenReadOnly, folder)
		type outcome struct {
			ledger *ledger.Ledger
			err    error
		}
		outcomes := make(chan outcome)
		for range 5 {
			go func() {
				l, err := openWriter(folder)
				outcomes <- outcome{l, err}
			}()
		}
		start := time.Now()
		time.Sleep(time.Second)
		closed(t, reader)
		var winner *ledger.Ledger
		for range 5 {
			o := <-outcomes
			switch {
			case o.err == nil && winner == nil:
				winner = o.ledger
			case !errors.As(o.err, new(*ledger.LockedError)) || time.Since(start) > 2*time.Second:
				t.Errorf("after %v: %v", time.Since(start), o.err)
			}
		}
		if winner == nil {
			t.Fatal("none gets it")
		}
		closed(t, winner)
	})
}

// Only WriteLockInfo writes holder.json, with what Accept and others have noted; methods that a coordinator's
// event loop calls write no file but the ledger. Close removes holder.json for good.
func TestWriteLockInfo(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "holder.json")
	text := func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	synctest.Test(t, func(t *testing.T) {
		l := create(t, folder, 100)
		start := time.Now()
		for i := range uint64(3) {
			before := text()
			time.Sleep(time.Hour)
			accept(t, l, position(i), signedBy("a", 2*i, 1), signedBy("b", 2*i+1, 1))
			l.SetSnapshot(&run.Snapshot{Rate: float64(i), Workers: 1, WorkerList: []run.Worker{{Name: "a"}}})
			if text() != before || !slices.Equal(listing(t, folder), []string{"holder.json", "ledger.db"}) {
				t.Errorf("before WriteLockInfo there is %s", text())
			}
			l.WriteLockInfo()
			var h ledger.LockInfo
			if err := json.Unmarshal([]byte(text()), &h); err != nil {
				t.Fatal(err)
			}
			if h.Done != 2*i+2 || h.Snapshot == nil || h.Snapshot.Rate != float64(i) || h.Snapshot.WorkerList != nil || !h.Updated.Equal(time.Now()) || !h.Since.Equal(start) {
				t.Errorf("%d results, %v after the start: the holder is %+v", l.Len(), time.Since(start), h)
			}
		}
		if _, err := quarantine(l, ledger.Quarantined{Key: "a"}); err != nil {
			t.Fatal(err)
		}
		if l.WriteLockInfo(); !strings.Contains(text(), `"done":3,`) {
			t.Errorf("with 3 results of a key void, the holder is %s", text())
		}
		closed(t, l)
		l.SetSnapshot(&run.Snapshot{})
		l.WriteLockInfo()
	})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("closed, holder.json is still there: %v", err)
	}
}

// WriteLockInfo may be called while another goroutine uses and closes the ledger.
func TestWriteLockInfoMeanwhile(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 100)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				l.WriteLockInfo()
			}
		}
	}()
	for task := range uint64(100) {
		accept(t, l, position(task), result(task, 1, 1))
		l.SetSnapshot(&run.Snapshot{Done: task})
	}
	closed(t, l)
	close(stop)
	<-ended
	if names := listing(t, folder); !slices.Equal(names, []string{"ledger.db"}) {
		t.Errorf("closed, the folder has %s", names)
	}
}

// A holder.json that can't be written is ignored.
func TestLockInfoThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "holder.json", "in", "the", "way"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := create(t, folder, 10)
	accept(t, l, position(1), result(1, 1, 1))
	closed(t, l)
}

// A LockedError has the URL of the run's server once the writer has set it.
func TestLockInfoHasTheServer(t *testing.T) {
	const url = "nats://127.0.0.1:4222"
	folder := t.TempDir()
	l := create(t, folder, 10)
	server := func() string {
		t.Helper()
		_, err := ledger.OpenTolerant(folder)
		var locked *ledger.LockedError
		if !errors.As(err, &locked) || locked.Holder.Run != runName || locked.Holder.PID != os.Getpid() {
			t.Fatalf("the error is %v", err)
		}
		return locked.Holder.Server
	}
	if got := server(); got != "" {
		t.Errorf("the server is %q, before it is said", got)
	}
	l.SetServerURL(url)
	if got := server(); got != url {
		t.Errorf("the server is %q, want %q", got, url)
	}
	accept(t, l, position(1), result(1, 1, 1))
	if got := server(); got != url {
		t.Errorf("a result later the server is %q", got)
	}
	closed(t, l)
	l = open(t, openWriter, folder)
	if got := server(); got != "" {
		t.Errorf("the server of the next writer is %q, before it is said", got)
	}
	closed(t, l)

	reader := open(t, ledger.OpenReadOnly, folder)
	reader.SetServerURL(url)
	if _, err := os.Stat(filepath.Join(folder, "holder.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader wrote holder.json: %v", err)
	}
}

// The ledger remembers the server that the run used last.
func TestServer(t *testing.T) {
	const url = "nats://127.0.0.1:4222"
	folder := t.TempDir()
	l := create(t, folder, 10)
	if got := l.Server(); got != "" {
		t.Errorf("the server of a new ledger is %q", got)
	}
	for _, server := range []string{"embedded", url, url} {
		if err := l.SetServer(server); err != nil || l.Server() != server {
			t.Errorf("the server is %q, want %q, error %v", l.Server(), server, err)
		}
	}
	closed(t, l)
	for _, how := range []func(string) (*ledger.Ledger, error){ledger.OpenReadOnly, openWriter} {
		l = open(t, how, folder)
		if got := l.Server(); got != url {
			t.Errorf("the server is %q in the file, want %q", got, url)
		}
		closed(t, l)
	}
}
