package bus

import (
	"context"
	"errors"
	"fmt"

	"nqueens/pkg/run"

	"github.com/nats-io/nats.go/jetstream"
)

// Tasks is the coordinator's side of the task queue.
type Tasks struct{ bus *Bus }

// Publish stores a chunk for the workers and returns its sequence number in the stream. The
// same chunk, published again within dedupWindow, is stored once; after [Tasks.Purge] or
// [Tasks.Delete], its tasks need a chunk with another id.
func (t Tasks) Publish(ctx context.Context, c *run.Chunk) (sequence uint64, err error) {
	data, err := encodeChunk(c)
	if err != nil {
		return 0, err
	}
	sequence, err = t.bus.publish(ctx, tasksStream, taskSubject(c.Run), data, jetstream.WithMsgID(chunkMessageID(c.Run, c.ID)))
	if ctx.Err() == nil {
		t.bus.outages.note(TasksPart, "publish", t.bus.isOutage(err) && isUnsettled(err)) // other errors are of the chunk
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
		taken, err = t.taken(ctx, run, sequence)
	}
	if err = done(err); err != nil {
		return false, false, fmt.Errorf("look for chunk %016x of run %s: %w", chunk, run, err)
	}
	return queued, taken, nil
}

// taken reports whether a worker has taken the chunk at a sequence.
func (t Tasks) taken(ctx context.Context, run string, sequence uint64) (bool, error) {
	stream, err := t.stream(ctx)
	if err != nil {
		return false, err
	}
	consumer, err := stream.Consumer(ctx, run)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return sequence <= consumer.CachedInfo().Delivered.Stream, nil
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

// Remove removes the run's consumer and its chunks, including those that workers hold.
// Workers that wait for chunks of the run learn of it. What does not exist is no error.
func (t Tasks) Remove(ctx context.Context, run string) error {
	return errors.Join(t.bus.deleteConsumer(ctx, run), t.Purge(ctx, run))
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
