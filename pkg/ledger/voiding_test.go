package ledger

import (
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A ledger whose process was killed in a quarantine says so to readers, until a writer has opened it.
func TestVoidingIsTold(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "r")
	l, err := Create(folder, headerOf(4))
	if err != nil {
		t.Fatal(err)
	}
	r := queens.Result{Task: 1, Count: 7, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true}
	if _, err := l.Accept([]queens.Result{r}, nil, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	record := quarantine{Quarantined: Quarantined{Key: "liar", At: time.Now()}, Voiding: true}
	if err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, quarantineBucket, []byte("liar"), record) }); err != nil {
		t.Fatal(err)
	}
	for _, open := range []struct {
		voiding bool
		results uint64
		open    func() (*Ledger, error)
	}{
		{true, 1, func() (*Ledger, error) { return OpenReadOnly(folder) }},
		{false, 0, func() (*Ledger, error) { return Open(t.Context(), folder) }},
		{false, 0, func() (*Ledger, error) { return OpenReadOnly(folder) }},
	} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = open.open(); err != nil {
			t.Fatal(err)
		}
		if l.IsVoiding() != open.voiding || l.Len() != open.results {
			t.Errorf("it is voiding: %v, with %d results", l.IsVoiding(), l.Len())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
