package run

import (
	"context"
	"time"

	"nqueens/pkg/queens"
)

// Lease is a worker's hold on one chunk. When a lease expires the chunk is delivered to
// another worker.
type Lease interface {
	// Redelivered returns how often the chunk was delivered before: workers have released it,
	// or were lost.
	Redelivered() int
	// Extend restarts the lease with its full length.
	Extend() error
	// Ack removes the chunk from the queue, once its result is stored, and waits for the
	// confirmation.
	Ack(ctx context.Context) error
	// Release returns the chunk to the queue, for another worker to take at once.
	Release() error
	// Postpone returns the chunk to the queue, where nobody can take it before the delay has
	// passed.
	Postpone(delay time.Duration) error
}

// Loan is a chunk that a worker has taken from the queue.
type Loan struct {
	Chunk queens.Chunk
	Lease Lease
	// Queued is the number of chunks of the run that were waiting behind this one.
	Queued int
}
