package run

import "context"

// Lease is a worker's hold on one task. A task whose lease runs out is given to
// another worker.
type Lease interface {
	// Redelivered reports whether the queue has given out the task before: whoever took it
	// then has handed it back, or has vanished.
	Redelivered() bool
	// Extend asks for the whole length of the lease again, from now on.
	Extend() error
	// Ack gives the task up for good, its result being stored, and waits for
	// the confirmation.
	Ack(ctx context.Context) error
	// Release hands the task back, for another worker to take at once.
	Release() error
}
