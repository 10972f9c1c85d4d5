package session_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/session"
)

// A run moves from the embedded server to another with its ledger alone. The store of the embedded one is
// gone when the run has ended.
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
	result, err := count(t, store.Path(), func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		cfg.URL = server.ClientURL()
		return session.Resume(ctx, cfg, name, false)
	})
	if err != nil || result.Total.String() != "92" {
		t.Errorf("the total is %v, error %v", result.Total, err)
	}
	if _, err := os.Stat(store.ServerFolder(name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store of the embedded server is left: %v", err)
	}
}
