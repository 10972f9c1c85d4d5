package audit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// twice creates a ledger in a folder in which two admitted keys agree on each task of a run of n = 7, as
// the run requires, and returns it with the keys.
func twice(t *testing.T, folder string) (l *ledger.Ledger, keys [2]string, results []run.Result) {
	t.Helper()
	m, results := run7(t)
	l, err := ledger.Create(folder, ledger.Header{Run: "r", Manifest: m, Trust: ledger.Trust{Redundancy: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		signed := sign(t, &m, newIdentity(t), results)
		keys[i] = signed[0].Key
		if _, err := l.Accept(signed, 0, run.StreamPosition{Sequence: uint64(i) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	return l, keys, results
}

// While results of a quarantined key count, because the process that revoked them was killed, there is no
// total, whether the ledger is read at that moment or the revoked results are few. When a writer has revoked
// the rest, what is lacking decides.
func TestNoTotalWhileResultsAreRevoked(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "r")
	l, keys, results := twice(t, folder)
	if total, err := Total(t.Context(), l, nil); err != nil || total.Int64() != 40 {
		t.Fatalf("the total is %v (%v)", total, err)
	}
	if err := l.Quarantine(run.QuarantinedKey{Key: keys[0]}); err != nil {
		t.Fatal(err)
	}
	refused := func(l *ledger.Ledger, want string) {
		t.Helper()
		total, err := Total(t.Context(), l, nil)
		if total != nil || !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), want) {
			t.Errorf("the total is %v (%v), want no total and %q", total, err, want)
		}
	}
	for range 2 {
		if err := CheckQuarantines(l); !errors.Is(err, run.ErrIncomplete) {
			t.Errorf("the error is %v", err)
		}
		refused(l, "results of a quarantined key still count")
		if err := l.Close(); err != nil { // before anything is revoked
			t.Fatal(err)
		}
		var err error
		if l, err = ledger.OpenReadOnly(folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Revoke(); err != nil {
		t.Fatal(err)
	}
	if err := CheckQuarantines(l); err != nil || l.Len() != uint64(len(results)) {
		t.Errorf("after Revoke, %d of %d tasks have results (%v)", l.Len(), len(results), err)
	}
	refused(l, "fewer than 2 admitted keys agree")
	m := l.Header().Manifest
	if _, err := l.Accept(sign(t, &m, newIdentity(t), results), 0, run.StreamPosition{Sequence: 3}); err != nil {
		t.Fatal(err)
	}
	if total, err := Total(t.Context(), l, nil); err != nil || total.Int64() != 40 {
		t.Errorf("confirmed again, the total is %v (%v)", total, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whichever bit of a confirmation flips, a reader refuses the ledger. A writer removes the results of the task, and
// there is no total until it is counted again: nothing crashes, and no total relies on it.
func TestDamagedConfirmations(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "r")
	l, _, results := twice(t, folder)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, ledger.File)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(at, bit int) (refused, lacking bool) {
		data := slices.Clone(sound)
		data[at] ^= 1 << bit
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		total := func(open func() (*ledger.Ledger, error)) error {
			l, err := open()
			if err != nil {
				return err
			}
			defer func() { _ = l.Close() }()
			total, err := Total(t.Context(), l, nil)
			if err == nil && (total.Int64() != 40 || l.Confirmation(nil).Redundancy != 2) {
				t.Errorf("bit %d of byte %d: the total is %v, with %+v", bit, at, total, l.Confirmation(nil))
			}
			return err
		}
		reader := total(func() (*ledger.Ledger, error) { return ledger.OpenReadOnly(folder) })
		writer := total(func() (*ledger.Ledger, error) { return ledger.Open(t.Context(), folder, nil) })
		for _, err := range []error{reader, writer} {
			if err != nil && !errors.Is(err, run.ErrIncomplete) {
				t.Errorf("bit %d of byte %d: the error is %v", bit, at, err)
			}
		}
		return reader != nil, writer != nil
	}
	for _, r := range results {
		key := append(binary.BigEndian.AppendUint64(nil, r.Task), 0, 1)
		record := binary.BigEndian.AppendUint64(key, r.Hash) // up to its numbers and checksum
		noticed := 0
		for at := 0; ; { // old pages have it too
			next := bytes.Index(sound[at:], record)
			if next < 0 {
				break
			}
			at += next
			bit := int(r.Task) % 8
			for i := range len(record) + 12 {
				refused, lacking := try(at+i, bit)
				if refused != lacking {
					t.Errorf("task %d, byte %d: the reader refuses: %v; no total: %v", r.Task, i, refused, lacking)
				}
				if refused {
					noticed++
				}
			}
			at++
		}
		if noticed < len(record) {
			t.Errorf("of the confirmation of task %d, %d bytes are protected", r.Task, noticed)
		}
	}
}
