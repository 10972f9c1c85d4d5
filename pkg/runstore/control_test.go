package runstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A process answers before it has read its ledger: it can be stopped and cancelled; what needs the ledger is refused
// for now. What nobody can ask is refused for good.
func TestControlBeforeTheLedgerIsRead(t *testing.T) {
	t.Parallel()
	store, err := New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Create(queens.Manifest{N: 2, Symmetry: queens.None, SplitVersion: 1}, ledger.Trust{Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it is only locked
	name, stops := l.Header().Run, 0
	c := store.NewControl(name, func() { stops++ })
	c.listen(l)
	const key = "UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA"
	ask := func(path string) error { return store.request(t.Context(), name, path, time.Minute) }
	if err := ask("lift?key=" + key); !isNotReady(err) {
		t.Errorf("a lift is answered with %v", err)
	}
	if _, err := store.askStatus(name); !isNotReady(err) {
		t.Errorf("a status is answered with %v", err)
	}
	if i := store.Inspect(name); i.Locked == nil || i.Err != nil || i.Hash != "" || i.Status() != string(run.Running) {
		t.Errorf("the run is %+v", i)
	}
	if err := store.receiveCopy(t.Context(), name, io.Discard); !isNotReady(err) {
		t.Errorf("a copy is answered with %v", err)
	}
	if err := errors.Join(ask("stop"), ask("stop"), ask("cancel"), ask("cancel")); err != nil || stops != 1 {
		t.Errorf("it was stopped %d times, error %v", stops, err)
	}
	if err := c.AwaitCancel(t.Context()); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("it was cancelled with %v", err)
	}
	c.serve(l)
	defer c.ServeLifts(func(_ context.Context, key string) error { return l.Lift(key) })()
	for path, want := range map[string]int{
		"none": http.StatusNotFound, "backup": http.StatusMethodNotAllowed, "lift?key=x": http.StatusBadRequest,
		"lift?key=" + key: http.StatusConflict,
	} {
		if err := ask(path); !isRefused(err, want) {
			t.Errorf("%s is answered with %v, want %d", path, err, want)
		}
	}
	c.Close()
	if err := ask("stop"); !errors.Is(err, errNoSocket) {
		t.Errorf("after its end, the process answers with %v", err)
	}
}
