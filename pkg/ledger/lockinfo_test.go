package ledger_test

import (
	"bytes"
	"context"
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
		if !errors.As(err, &locked) || errors.Is(err, run.ErrIncomplete) || locked.Folder != folder {
			t.Fatalf("%s: the error is %v", what, err)
		}
		return locked.Holder
	}
	for what, how := range map[string]func(string) (*ledger.Ledger, error){
		"another writer": openWriter, "a reader beside a writer": ledger.OpenReadOnly, "a tolerant reader beside a writer": ledger.OpenTolerant,
	} {
		h := refused(what, how)
		if h.PID != os.Getpid() || h.Host != host || h.Since.IsZero() {
			t.Errorf("%s: the holder is %+v", what, h)
		}
		text := (&ledger.LockedError{Folder: folder, Holder: h}).Error()
		for _, part := range []string{folder, strconv.Itoa(h.PID), host, h.Since.Format(time.RFC3339)} {
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
	stale := []byte(`{"pid":1,"host":"elsewhere"}`)
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
	if _, err := ledger.Open(ctx, folder, nil); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
}

// Only the writer has a holder.json, which says where it answers others. Methods that a coordinator's event loop
// calls write no file but the ledger. Close removes holder.json for good.
func TestLockInfo(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 100)
	socket := func() string {
		t.Helper()
		_, err := ledger.OpenTolerant(folder)
		var locked *ledger.LockedError
		if !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() {
			t.Fatalf("the error is %v", err)
		}
		return locked.Holder.Socket
	}
	if got := socket(); got != "" {
		t.Errorf("the socket is %q before it is said", got)
	}
	l.SetSocket("a.sock")
	before, err := os.ReadFile(filepath.Join(folder, "holder.json"))
	if err != nil || socket() != "a.sock" {
		t.Errorf("the holder is %s, error %v", before, err)
	}
	accept(t, l, position(1), result(1, 1, 1))
	if after, err := os.ReadFile(filepath.Join(folder, "holder.json")); !bytes.Equal(after, before) || err != nil {
		t.Errorf("a result later, the holder is %s, error %v", after, err)
	}
	closed(t, l)
	l.SetSocket("b.sock")
	if names := listing(t, folder); !slices.Equal(names, []string{"ledger.db"}) {
		t.Errorf("closed, the folder has %s", names)
	}
	l = open(t, openWriter, folder)
	if got := socket(); got != "" {
		t.Errorf("the socket of the next writer is %q", got)
	}
	closed(t, l)
	open(t, ledger.OpenReadOnly, folder).SetSocket("c.sock")
	if names := listing(t, folder); !slices.Equal(names, []string{"ledger.db"}) {
		t.Errorf("with a reader, the folder has %s", names)
	}
}
