// Package identitytest gives tests keys of workers, and signs their results. Its functions panic
// where they would fail. Only tests import it.
package identitytest

import (
	"crypto/sha256"

	"github.com/nats-io/nkeys"

	"nqueens/pkg/identity"
	"nqueens/pkg/run"
)

// Of returns the key of a worker: the same for the same name.
func Of(worker string) *identity.Identity {
	seed := sha256.Sum256([]byte(worker))
	text := must(must(nkeys.FromRawSeed(nkeys.PrefixByteUser, seed[:])).Seed())
	return must(identity.Parse(text))
}

// Seal signs a result with the key of the worker that it names, and returns it.
func Seal(r *run.ChunkResult) *run.ChunkResult {
	if err := r.Seal(Of(r.Worker)); err != nil {
		panic(err)
	}
	return r
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
