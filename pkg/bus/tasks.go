package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
)

// Tasks is the coordinator's side of the task queue.
type Tasks struct{ bus *Bus }

// Publish stores a chunk for the workers and returns its sequence number in the stream. The
// same chunk, published again within dedupWindow, is stored once; after [Tasks.Purge] or
// [Tasks.Delete], its tasks need a chunk with another id.
func (t Tasks) Publish(ctx context.Context, c *queens.Chunk) (sequence uint64, err error) {
	data, err := encodeChunk(c)
	if err != nil {
		return 0, err
	}
	sequence, err = t.bus.publish(ctx, tasksStream, taskSubject(c.Run), chunkMessageID(c.Run, c.ID), data)
	if ctx.Err() == nil {
		t.bus.outages.note(publishedTasks, t.bus.isOutage(err) && isUnsettled(err)) // other errors are of the chunk
	}
	return sequence, err
}

// Has reports whether the chunk that was published at that sequence is still in the queue:
// waiting for a worker, or taken by one. If it is not, a worker has acknowledged it, or the
// chunk is lost. Taken says that a worker has taken it, and may have given it back since.
func (t Tasks) Has(ctx context.Context, run string, chunk, sequence uint64) (queued, taken bool, err error) {
	ctx, done := t.bus.request(ctx)
	queued, err = t.has(ctx, run, chunk, sequence)
	if err == nil && queued {
		var last uint64
		last, err = t.lastTaken(ctx, run)
		taken = sequence <= last
	}
	if err = done(err); err != nil {
		return false, false, fmt.Errorf("look for chunk %016x of run %s: %w", chunk, run, err)
	}
	return queued, taken, nil
}

// takenInterval is how long an answer of the server on which chunks are taken is good for others.
const takenInterval = time.Second

// lastTaken returns the sequence of the last chunk of a run that a worker has taken, as of less than
// takenInterval ago: no answer is good for longer, since a stream that was made again counts from 1 again.
func (t Tasks) lastTaken(ctx context.Context, run string) (uint64, error) {
	name := consumerName(run, t.bus.consumers.number(run))
	if last := t.bus.lastTaken.Load(); last != nil && last.consumer == name && time.Since(last.asOf) < takenInterval {
		return last.sequence, nil
	}
	stream, err := t.stream(ctx)
	if err != nil {
		return 0, err
	}
	consumer, err := stream.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	last := takenUpTo{consumer: name, sequence: consumer.CachedInfo().Delivered.Stream, asOf: time.Now()}
	t.bus.lastTaken.Store(&last)
	return last.sequence, nil
}

// takenUpTo says that workers have taken the chunks of a consumer up to a sequence.
type takenUpTo struct {
	consumer string
	sequence uint64
	asOf     time.Time
}

// Delete removes the chunk that was published at that sequence, so that no worker gets it
// from then on. It is no error if the chunk is not there any more.
func (t Tasks) Delete(ctx context.Context, run string, chunk, sequence uint64) error {
	ctx, done := t.bus.request(ctx)
	queued, err := t.has(ctx, run, chunk, sequence)
	if err == nil && queued {
		if err = (*t.bus.tasks.Load()).DeleteMsg(ctx, sequence); err != nil {
			// A worker may have acknowledged it in between: no error code of its own says so.
			if queued, failed := t.has(ctx, run, chunk, sequence); failed == nil && !queued {
				err = nil
			}
		}
	}
	if err = done(err); err != nil {
		return fmt.Errorf("delete chunk %016x of run %s: %w", chunk, run, err)
	}
	return nil
}

// Purge removes the run's chunks, including those that workers hold. A missing stream is no
// error.
func (t Tasks) Purge(ctx context.Context, run string) error {
	return t.bus.purge(ctx, tasksStream, taskSubject(run))
}

// Remove removes the run's consumers and its chunks, including those that workers hold.
// Workers that wait for chunks of the run learn of it. What does not exist is no error.
func (t Tasks) Remove(ctx context.Context, run string) error {
	return errors.Join(t.bus.removeConsumers(ctx, run), t.Purge(ctx, run))
}

func (t Tasks) has(ctx context.Context, run string, chunk, sequence uint64) (bool, error) {
	stream, err := t.stream(ctx)
	if err != nil {
		return false, err
	}
	message, err := stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A stream that was created again counts from 1 again.
	return message.Header.Get(jetstream.MsgIDHeader) == chunkMessageID(run, chunk), nil
}

// stream returns the stream of tasks. It is looked up once: its handle remains valid for
// another stream of the same name.
func (t Tasks) stream(ctx context.Context) (jetstream.Stream, error) {
	if stream := t.bus.tasks.Load(); stream != nil {
		return *stream, nil
	}
	stream, err := t.bus.js.Stream(ctx, tasksStream)
	if err == nil {
		t.bus.tasks.Store(&stream)
	}
	return stream, err
}
