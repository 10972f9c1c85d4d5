// Package identitytest gives tests keys of workers. Only tests import it.
package identitytest

import (
	"crypto/sha256"
	"testing"

	"github.com/nats-io/nkeys"

	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
)

// Of returns the key of a worker: the same for the same name.
func Of(t testing.TB, worker string) *identity.Identity {
	t.Helper()
	seed := sha256.Sum256([]byte(worker))
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed[:])
	if err != nil {
		t.Fatal(err)
	}
	text, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	id, err := identity.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Seal signs a result with the key of the worker that it names.
func Seal(t testing.TB, r *queens.ChunkResult) {
	t.Helper()
	if err := r.Seal(Of(t, r.Worker)); err != nil {
		t.Fatal(err)
	}
}
