package natsserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A full disk is a failure, whatever the server's log says. The disk is /dev/full, linked as
// the second file of a stream's messages.
func TestFullDiskIsAFailure(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := bustest.Start(t, natsserver.Config{StoreDir: folder, Log: zerolog.Nop()})
	conn, js := bustest.Admin(t, server)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LETTERS", Subjects: []string{"letter"}, MaxBytes: 100_000}); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "jetstream", "*", "streams", "LETTERS", "msgs"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the stream's messages are in %q (error %v)", found, err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(found[0], "2.blk")); err != nil {
		t.Fatal(err)
	}

	failed := make(chan error, 1)
	go func() { failed <- server.Failure(t.Context()) }()
	for range 10 {
		if err := conn.Publish("letter", make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-failed:
		if !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), folder) {
			t.Errorf("error %v", err)
		}
	case <-time.After(testkit.Stall):
		t.Errorf("no failure within %v", testkit.Stall)
	}
}
