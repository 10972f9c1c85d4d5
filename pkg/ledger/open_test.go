package ledger_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A reader accepts nothing, and changes no file.
func TestOpenReadOnlyWritesNothing(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, position(1), result(1, 1, 1))
	closed(t, l)
	names, before := listing(t, folder), fileBytes(t, folder)
	l = open(t, ledger.OpenReadOnly, folder)
	if _, err := l.Accept([]run.Result{result(2, 1, 1)}, 0, position(2)); err == nil || errors.Is(err, run.ErrIncomplete) {
		t.Errorf("it accepts: %v", err)
	}
	if err := l.SetState(run.Complete); err == nil {
		t.Error("it takes a state")
	}
	if got := contentsOf(t, l); len(got.Results) != 1 || got.State != run.Running {
		t.Errorf("it has %+v", got)
	}
	closed(t, l)
	if !slices.Equal(listing(t, folder), names) || !bytes.Equal(fileBytes(t, folder), before) {
		t.Errorf("there were %v, there are %v", names, listing(t, folder))
	}
}

// A ledger is created once, and only its owner can read it. A failed Create leaves nothing,
// and a ledger that does not exist can't be opened.
func TestCreate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	for _, how := range []func(string) (*ledger.Ledger, error){openWriter, ledger.OpenReadOnly, ledger.OpenTolerant} {
		if _, err := how(folder); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, run.ErrIncomplete) {
			t.Errorf("with no ledger the error is %v", err)
		}
	}
	for _, spoil := range []func(*ledger.Header){
		func(h *ledger.Header) { h.Run = "Not A Run" },
		func(h *ledger.Header) { h.Manifest.N = 0 },
		func(h *ledger.Header) { h.Manifest.Tasks = 1<<32 + 1 },
	} {
		h := header(10)
		spoil(&h)
		if _, err := ledger.Create(folder, h); err == nil {
			t.Errorf("a ledger of run %q with %d tasks is made", h.Run, h.Manifest.Tasks)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a ledger that can't be made leaves a folder: %v", err)
	}
	l := create(t, folder, 10)
	accept(t, l, position(1), result(1, 1, 1))
	if _, err := ledger.Create(folder, header(10)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a ledger in use, the error is %v", err)
	}
	closed(t, l)
	if _, err := ledger.Create(folder, header(10)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a ledger, the error is %v", err)
	}
	if got := listing(t, folder); !slices.Equal(got, []string{file}) {
		t.Errorf("there are %v", got)
	}
	for path, want := range map[string]fs.FileMode{folder: 0o700, filepath.Join(folder, file): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if got := open(t, ledger.OpenReadOnly, folder); got.Len() != 1 {
		t.Errorf("it has %d results, want 1", got.Len())
	}
}

// Nobody else can open a new ledger for writing before Create returns it.
func TestCreateKeepsTheLedger(t *testing.T) {
	for range 20 {
		folder := t.TempDir()
		var failed atomic.Bool
		refused := make(chan error, 1)
		go func() {
			defer close(refused)
			for !failed.Load() {
				other, err := openWriter(folder)
				if !errors.Is(err, fs.ErrNotExist) {
					if err == nil {
						err = other.Close()
					}
					refused <- err
					return
				}
			}
		}()
		l, err := ledger.Create(folder, header(10))
		failed.Store(err != nil)
		if err != nil {
			t.Error(err)
		}
		var locked *ledger.LockedError
		if err := <-refused; !errors.As(err, &locked) || locked.Readers {
			t.Errorf("the other's error is %v", err)
		}
		if l != nil {
			closed(t, l)
		}
	}
}

// After Close, all that needs the file fails, and closing again does nothing.
func TestClosed(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	accept(t, l, position(1), result(1, 1, 1))
	closed(t, l)
	closed(t, l)
	_, acceptErr := l.Accept(nil, 0, position(1))
	_, _, resultErr := l.Result(1)
	_, _, otherErr := l.Result(2)
	for what, err := range map[string]error{
		"Accept": acceptErr, "SetState": l.SetState(run.Running), "Result": resultErr,
		"Result of another": otherErr,
	} {
		if err == nil {
			t.Errorf("%s gives no error", what)
		}
	}
	for r, err := range l.Range(0, math.MaxUint64) {
		if err == nil {
			t.Errorf("Range gives %v", r)
		}
	}
	if !l.Has(1) || l.Len() != 1 {
		t.Error("what was in memory is gone")
	}
}

// A ledger may come from somebody else: what it says of workers and keys can be shown in a terminal.
func TestForeignTextsCanBeShown(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	r := result(1, 10, 1)
	r.Worker, r.Kernel = "a\x1b[2J", strings.Repeat("k", 200)
	accept(t, l, position(1), r)
	if err := l.Quarantine(run.QuarantinedKey{Key: "k", Reason: "\u202ereason"}); err != nil {
		t.Fatal(err)
	}
	l = reopened(t, l, folder)
	got, _, err := l.Result(1)
	if err != nil || got.Worker != "a?[2J" || len(got.Kernel) != queens.MaxNameBytes {
		t.Errorf("worker %q, kernel %q: %v", got.Worker, got.Kernel, err)
	}
	if reason := l.Quarantined()[0].Reason; reason != "?reason" {
		t.Errorf("the reason is %q", reason)
	}
}
