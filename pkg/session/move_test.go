package session_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/session"
)

// A run that moves from the embedded server to another says so, and removes the store of the embedded
// one before it ends.
func TestMoveFromTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, err := session.Count(ctx, idle(store, func() { cancel(stop) }), mirror8)
	if err != nil {
		t.Fatal(err)
	}
	name := first.Name()
	if _, err := first.Run(ctx); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.ServerFolder(name)); err != nil {
		t.Fatalf("a stopped run keeps the store of its server: %v", err)
	}
	server := bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	var log bustest.Log // the connection may write to it after its end
	result, err := count(t, store.Path(), func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		cfg.URL, cfg.Log = server.ClientURL(), log.Logger()
		return session.Resume(ctx, cfg, name, false)
	})
	if err != nil || result.Total.String() != "92" {
		t.Errorf("the total is %v, error %v", result.Total, err)
	}
	if _, err := os.Stat(store.ServerFolder(name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store of the embedded server is left: %v", err)
	}
	for _, line := range []string{
		`"from":"embedded","to":"` + server.ClientURL() + `","message":"run moved to another server"`,
		`"server":"embedded","message":"removed what the run had left`,
	} {
		if len(log.Lines(line)) == 0 {
			t.Errorf("the log has no %s:\n%s", line, strings.Join(log.Lines(""), ""))
		}
	}
}

// A run that moves leaves alone what it had on the old server while the record there can't be read:
// it may be that of a coordinator of a newer program.
func TestMoveKeepsWhatMayBeAnothers(t *testing.T) {
	t.Parallel()
	start := func() *natsserver.Server {
		return bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	}
	old, now := start(), start()
	store := newStore(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cfg := idle(store, func() { cancel(stop) })
	cfg.Listen, cfg.URL = "", old.ClientURL()
	first, err := session.Count(ctx, cfg, mirror8)
	if err != nil {
		t.Fatal(err)
	}
	name := first.Name()
	if _, err := first.Run(ctx); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	_, admin := bustest.Admin(t, old)
	records, err := admin.KeyValue(t.Context(), "nq_runs")
	if err == nil {
		_, err = records.Put(t.Context(), name, []byte(`{"protocol":99}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := count(t, store.Path(), func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		cfg.URL = now.ClientURL()
		return session.Resume(ctx, cfg, name, false)
	})
	if err != nil || result.Total.String() != "92" {
		t.Errorf("the total is %v, error %v", result.Total, err)
	}
	if _, err := records.Get(t.Context(), name); err != nil {
		t.Errorf("the record of a newer program: %v", err)
	}
}
