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

// PublishTask stores a task for the workers and returns its place in the queue. The
// same attempt published again by the same connection is stored once; after
// [Bus.PurgeTasks] or [Bus.Withdraw], a task needs a new attempt.
func (b *Bus) PublishTask(ctx context.Context, task *queens.Task) (place uint64, err error) {
	data, err := encodeTask(task)
	if err != nil {
		return 0, err
	}
	return b.publish(ctx, tasksStream, taskSubject(task.Run), b.taskMessageID(task), data)
}

// HasTask reports whether the task that was published at that place is still
// there: waiting for a worker, or held by one. If it is not, either its result was
// stored or the task is lost. It knows only tasks that this connection published.
func (b *Bus) HasTask(ctx context.Context, task *queens.Task, place uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := b.tasksStream(ctx)
	if err != nil {
		return false, err
	}
	message, err := stream.GetMsg(ctx, place)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A stream that was made anew counts its places from 1 again.
	return message.Header.Get(jetstream.MsgIDHeader) == b.taskMessageID(task), nil
}

// tasksStream returns the stream of tasks. It is looked up once: its handle serves
// a stream of the same name that takes its place as well.
func (b *Bus) tasksStream(ctx context.Context) (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks == nil {
		stream, err := b.js.Stream(ctx, tasksStream)
		if err != nil {
			return nil, err
		}
		b.tasks = stream
	}
	return b.tasks, nil
}

// Queue is one worker's access to the tasks of all runs.
type Queue struct {
	bus     *Bus
	iter    jetstream.MessagesContext
	limiter ratelimit.Limiter // of log messages
}

// Queue returns an access to the tasks, for one goroutine.
func (b *Bus) Queue() *Queue {
	return &Queue{bus: b}
}

// lookEvery is how often to look for what is not there yet.
const lookEvery = time.Second

// otherVersionDelay keeps a task that this program can't read away from it for a
// while, so that a worker that can may take it.
const otherVersionDelay = 5 * time.Second

// Next waits for a task and takes it. It asks the server for no more than it
// returns. When ctx ends, it hands back what was already on its way and returns
// the cause; the queue must not be used again then.
//
// What can't be read is refused, counted, and never returned. Streams that do not
// exist (yet, or any more) are waited for.
func (q *Queue) Next(ctx context.Context) (queens.Task, run.Lease, error) {
	for {
		message, err := q.next(ctx)
		if err != nil {
			return queens.Task{}, nil, err
		}
		task, err := decodeTask(message.Subject(), message.Data())
		if err == nil {
			return task, lease{message}, nil
		}
		q.bus.rejected.add(message.Subject(), message.Data(), err)
		if errors.As(err, new(versionError)) {
			_ = message.NakWithDelay(otherVersionDelay) // else the lease lapses
		} else {
			_ = message.TermWithReason("unreadable") // else it comes again, and is refused again
		}
	}
}

func (q *Queue) next(ctx context.Context) (jetstream.Msg, error) {
	for {
		err := q.open(ctx)
		if err == nil {
			var message jetstream.Msg
			if message, err = q.receive(ctx); err == nil {
				return message, nil
			}
		}
		q.handBack()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if text := q.waitingFor(err); q.limiter.Allow(text) {
			q.bus.log.Info().AnErr("reason", err).Msg(text)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery + rand.N(lookEvery/2)):
		}
	}
}

// waitingFor says what a queue waits for that got an error instead of a task.
func (q *Queue) waitingFor(err error) string {
	switch {
	case !q.bus.conn.IsConnected():
		return "waiting for the server"
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound):
		return "waiting for a coordinator to set up the task queue"
	}
	return "the task queue does not answer, trying again"
}

// A request for a task that nobody answers (its consumer was deleted, say) is
// noticed after two heartbeats missed, and made again.
const (
	pullExpiry    = 10 * time.Second
	pullHeartbeat = 2 * time.Second
)

// open subscribes to the workers' consumer where that is not done yet. Its
// iterator asks for one message at a time, and only when asked for one.
func (q *Queue) open(ctx context.Context) error {
	if q.iter != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	consumer, err := q.bus.js.Consumer(ctx, tasksStream, workerConsumer)
	if err != nil {
		return err
	}
	q.iter, err = consumer.Messages(jetstream.PullMaxMessages(1),
		jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	return err
}

// nudges are how long to wait before Next is called again. To call it too early does
// no harm; each call that is open-ended must be left alone, to notice missed heartbeats.
var nudges = [...]time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}

// receive waits for a message, and calls Next again when none comes soon. The iterator
// makes no request while it is still busy with the one before: an answer that is
// quicker than that leaves Next waiting for what nobody was asked for (nats.go 1.55,
// pullSubscription.checkPending). The next call asks.
func (q *Queue) receive(ctx context.Context) (jetstream.Msg, error) {
	for _, nudge := range nudges {
		message, err := q.receiveWithin(ctx, nudge)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return message, err
		}
	}
	return q.iter.Next(jetstream.NextContext(ctx))
}

func (q *Queue) receiveWithin(ctx context.Context, d time.Duration) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return q.iter.Next(jetstream.NextContext(ctx))
}

// handBackWait bounds the time to end a subscription, which takes an exchange with
// a server that may be gone.
const handBackWait = 500 * time.Millisecond

// handBack ends the subscription, and returns a message that the server sent
// before it knew, so that nobody waits for its lease to lapse.
func (q *Queue) handBack() {
	if q.iter == nil {
		return
	}
	q.iter.Drain()
	for {
		message, err := q.iter.Next(jetstream.NextMaxWait(handBackWait))
		if err != nil {
			break
		}
		_ = message.Nak() // else the lease lapses
	}
	q.iter = nil
}

// lease is a worker's hold on a task message.
type lease struct{ message jetstream.Msg }

// Redelivered goes by the server's count of deliveries.
func (l lease) Redelivered() bool {
	metadata, err := l.message.Metadata()
	return err == nil && metadata.NumDelivered > 1
}

func (l lease) Extend() error  { return l.message.InProgress() }
func (l lease) Release() error { return l.message.Nak() }

func (l lease) Ack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.message.DoubleAck(ctx)
}
