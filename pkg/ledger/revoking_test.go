package ledger

import (
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/run"
)

// A ledger whose process was killed in a quarantine says so to readers, until a writer has revoked its results.
func TestRevokingIsTold(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "r")
	l, err := Create(folder, headerOf(4))
	if err != nil {
		t.Fatal(err)
	}
	r := run.Result{Task: 1, Count: 7, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true}
	if _, err := l.Accept([]run.Result{r}, 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	record := quarantine{QuarantinedKey: run.QuarantinedKey{Key: "liar", At: time.Now()}, Revoking: true}
	if err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, quarantineBucket, []byte("liar"), record) }); err != nil {
		t.Fatal(err)
	}
	for _, open := range []struct {
		revoking bool
		results  uint64
		open     func() (*Ledger, error)
	}{
		{true, 1, func() (*Ledger, error) { return OpenReadOnly(folder) }},
		{false, 0, func() (*Ledger, error) {
			l, err := Open(t.Context(), folder, nil)
			if err == nil {
				_, _, err = l.Revoke()
			}
			return l, err
		}},
		{false, 0, func() (*Ledger, error) { return OpenReadOnly(folder) }},
	} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = open.open(); err != nil {
			t.Fatal(err)
		}
		if l.IsRevoking() != open.revoking || l.Len() != open.results {
			t.Errorf("it is revoking: %v, with %d results", l.IsRevoking(), l.Len())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
