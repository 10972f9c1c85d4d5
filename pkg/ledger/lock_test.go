package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// writeStaleLockInfo writes the holder.json that a killed writer leaves.
func writeStaleLockInfo(t *testing.T, folder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, lockInfoFile), []byte(`{"pid":1,"host":"elsewhere"}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lockHolder returns the holder that a LockedError names, and its text.
func lockHolder(t *testing.T, folder string) (LockInfo, string) {
	t.Helper()
	l, err := OpenReadOnly(folder)
	if err == nil {
		_ = l.Close()
	}
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Readers {
		t.Fatalf("the error is %v", err)
	}
	return locked.Holder, err.Error()
}

// holder.json names a writer as soon as it has the lock. It never names a writer that was killed before, even
// if it can't be replaced.
func TestLockInfoWhileOpening(t *testing.T) {
	folder := sampleLedger(t)
	for _, inTheWay := range []bool{false, true} {
		writeStaleLockInfo(t, folder)
		if inTheWay {
			path := filepath.Join(folder, lockInfoFile)
			if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "in the way"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(t.Context(), folder, func(*Ledger) {
			h, text := lockHolder(t, folder)
			if inTheWay && h != (LockInfo{}) || !inTheWay && (h.PID != os.Getpid() || !strings.Contains(text, "in use by process")) {
				t.Errorf("with the lock, the holder is %+v: %s", h, text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A ledger that can't be opened leaves no holder.json.
func TestNoLockInfoOfADamagedLedger(t *testing.T) {
	folder := sampleLedger(t)
	writeStaleLockInfo(t, folder)
	editBolt(t, folder, func(tx *bbolt.Tx) error { return tx.Bucket(progressBucket).Delete(progressKey) })
	var damaged *DamagedError
	if _, err := openWriter(folder); !errors.As(err, &damaged) {
		t.Fatalf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, lockInfoFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("holder.json is there: %v", err)
	}
	if _, err := OpenReadOnly(folder); !errors.As(err, &damaged) {
		t.Errorf("it is still locked: %v", err)
	}
}
