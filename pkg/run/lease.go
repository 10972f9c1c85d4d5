package run

import "context"

// Lease is a worker's hold on one task. When a lease expires the task is delivered to
// another worker.
type Lease interface {
	// Redelivered reports whether the task was delivered before: that worker has released
	// it, or was lost.
	Redelivered() bool
	// Extend restarts the lease with its full length.
	Extend() error
	// Ack removes the task from the queue, once its result is stored, and waits for the
	// confirmation.
	Ack(ctx context.Context) error
	// Release returns the task to the queue, for another worker to take at once.
	Release() error
}
