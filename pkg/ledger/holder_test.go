package ledger_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// A ledger has one writer, or readers. Who comes too late is told who has it, and does
// not take it for a run that can be resumed.
func TestLocked(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, at(1), result(1, 1, 1))
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, how func(string) (*ledger.Ledger, error)) ledger.Holder {
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
	for what, how := range map[string]func(string) (*ledger.Ledger, error){"another writer": ledger.Open, "a reader beside a writer": ledger.View} {
		h := refused(what, how)
		if h.PID != os.Getpid() || h.Host != host || h.Since.IsZero() || h.Updated.Before(h.Since) {
			t.Errorf("%s: the holder is %+v", what, h)
		}
		text := (&ledger.LockedError{Folder: folder, Holder: h}).Error()
		for _, part := range []string{folder, host, h.Since.Format(time.RFC3339)} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not say %s", text, part)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "holder.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := refused("beside an unreadable holder.json", ledger.Open); h != (ledger.Holder{}) {
		t.Errorf("the holder is %+v", h)
	}
	closed(t, l)
	reader := open(t, ledger.View, folder)
	if h := refused("a writer beside a reader", ledger.Open); h != (ledger.Holder{}) {
		t.Errorf("a reader is named as the holder: %+v", h)
	}
	closed(t, reader)
	open(t, ledger.Open, folder)
}

// holder.json says how far the writer has come, at most every 2 s, and is gone when the
// writer is.
func TestHolderIsRefreshed(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "holder.json")
	holder := func() ledger.Holder {
		t.Helper()
		var h ledger.Holder
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &h)
		}
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	synctest.Test(t, func(t *testing.T) {
		l := create(t, folder, 100)
		start := time.Now()
		for _, c := range []struct {
			wait time.Duration
			done uint64
			age  time.Duration
		}{
			{0, 0, 0},
			{1999 * time.Millisecond, 0, 0},
			{time.Millisecond, 3, 2 * time.Second},
			{time.Second, 3, 2 * time.Second},
			{time.Second, 5, 4 * time.Second},
			{time.Hour, 6, time.Hour + 4*time.Second},
		} {
			time.Sleep(c.wait)
			task := l.Len()
			accept(t, l, at(task+1), result(task, 1, 1))
			if h := holder(); h.Done != c.done || !h.Updated.Equal(start.Add(c.age)) || !h.Since.Equal(start) {
				t.Errorf("%d results, %v after the start: the holder is %+v", l.Len(), time.Since(start), h)
			}
		}
		closed(t, l)
	})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("closed, holder.json is still there: %v", err)
	}
}

// A holder.json that can't be written changes nothing.
func TestHolderInTheWay(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "holder.json", "in", "the", "way"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := create(t, folder, 10)
	accept(t, l, at(1), result(1, 1, 1))
	closed(t, l)
}
