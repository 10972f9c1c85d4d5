package runstore_test

import (
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/runstore"
)

// The disk of a run has free space, and a folder that does not exist has none.
func TestFree(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	free, err := store.Free("")
	if err != nil || free == 0 {
		t.Errorf("%d bytes are free, error %v", free, err)
	}
	if free, err := store.Free("n8-missing"); err == nil {
		t.Errorf("a run that does not exist has %d free bytes", free)
	}
}
