package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// Queue is a worker's side of the task queue: the tasks of all runs.
type Queue struct {
	bus     *Bus
	iter    jetstream.MessagesContext // nil until subscribed
	limiter ratelimit.Limiter         // of log messages
}

const (
	// retryInterval is the pause before something that failed is tried again.
	retryInterval = time.Second
	// otherVersionDelay keeps a task of another protocol version away from this program
	// for a while, so that a worker that can read it may take it.
	otherVersionDelay = 5 * time.Second
)

// A pull request that expires is repeated. One that nobody answers, for example because
// its consumer was deleted, is repeated after two missed heartbeats.
const (
	pullExpiry    = 10 * time.Second
	pullHeartbeat = 2 * time.Second
)

// nextTimeouts are the timeouts of the first calls of the iterator's Next. The iterator
// makes no request while it still handles the one before: if the answer is quicker than
// that, Next waits for a message that nobody requested (nats.go 1.55,
// pullSubscription.checkPending). The next call requests it. The last call must have no
// timeout, or missed heartbeats would go unseen.
var nextTimeouts = [...]time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}

// drainTimeout bounds the exchange that ends a subscription; the server may be gone.
const drainTimeout = 500 * time.Millisecond

// Next waits for a task and takes it. It requests no more than it returns. When ctx
// ends, it returns to the queue what was already on its way, and the cause as its error;
// the queue must not be used again then.
//
// It rejects and counts messages that it cannot read, and waits for streams that do not
// exist.
func (q *Queue) Next(ctx context.Context) (queens.Task, run.Lease, error) {
	for {
		message, err := q.nextMessage(ctx)
		if err != nil {
			return queens.Task{}, nil, err
		}
		task, err := decodeTask(message.Subject(), message.Data())
		if err == nil {
			return task, lease{message}, nil
		}
		q.bus.rejected.add(message.Subject(), message.Data(), err)
		if errors.As(err, new(versionError)) {
			_ = message.NakWithDelay(otherVersionDelay) // if this fails, the lease lapses
		} else {
			_ = message.TermWithReason("unreadable") // if this fails, it is delivered and rejected again
		}
	}
}

// nextMessage waits for a message, across all faults of the server, until ctx ends.
func (q *Queue) nextMessage(ctx context.Context) (jetstream.Msg, error) {
	for {
		message, err := q.receive(ctx)
		if err == nil {
			return message, nil
		}
		q.drain()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if text := q.waitingFor(err); q.limiter.Allow(text) {
			q.bus.log.Info().AnErr("reason", err).Msg(text)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval + rand.N(retryInterval/2)):
		}
	}
}

// waitingFor returns the log message for an error of receive.
func (q *Queue) waitingFor(err error) string {
	switch {
	case !q.bus.conn.IsConnected():
		return "waiting for the server"
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound):
		return "waiting for a coordinator to set up the task queue"
	}
	return "the task queue does not answer, trying again"
}

// receive waits for a message.
func (q *Queue) receive(ctx context.Context) (jetstream.Msg, error) {
	if err := q.subscribe(ctx); err != nil {
		return nil, err
	}
	for _, timeout := range nextTimeouts {
		short, cancel := context.WithTimeout(ctx, timeout)
		message, err := q.iter.Next(jetstream.NextContext(short))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return message, err
		}
	}
	return q.iter.Next(jetstream.NextContext(ctx))
}

// subscribe opens the iterator over the workers' consumer if there is none. It requests
// one message for each call of its Next.
func (q *Queue) subscribe(ctx context.Context) error {
	if q.iter != nil {
		return nil
	}
	consumer, err := q.bus.js.Consumer(requestContext{ctx}, tasksStream, workerConsumer)
	if err != nil {
		return err
	}
	q.iter, err = consumer.Messages(jetstream.PullMaxMessages(1),
		jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	return err
}

// drain ends the subscription and returns to the queue what the server had already sent,
// so that no other worker has to wait until its lease lapses.
func (q *Queue) drain() {
	if q.iter == nil {
		return
	}
	q.iter.Drain()
	for {
		message, err := q.iter.Next(jetstream.NextMaxWait(drainTimeout))
		if err != nil {
			break
		}
		_ = message.Nak() // if this fails, the lease lapses
	}
	q.iter = nil
}

// lease implements [run.Lease] with the acknowledgements of a message.
type lease struct{ message jetstream.Msg }

func (l lease) Redelivered() bool {
	metadata, err := l.message.Metadata()
	return err == nil && metadata.NumDelivered > 1
}

func (l lease) Extend() error  { return l.message.InProgress() }
func (l lease) Release() error { return l.message.Nak() }

func (l lease) Ack(ctx context.Context) error { return l.message.DoubleAck(requestContext{ctx}) }
