package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
)

// Tasks is the coordinator's side of the task queue.
type Tasks struct{ bus *Bus }

// Publish stores a task for the workers and returns its sequence number in the stream.
// The same attempt published again by the same connection is stored once; after
// [Tasks.Purge] or [Tasks.Delete], a task needs a new attempt.
func (t Tasks) Publish(ctx context.Context, task *queens.Task) (sequence uint64, err error) {
	data, err := encodeTask(task)
	if err != nil {
		return 0, err
	}
	return t.bus.publish(ctx, tasksStream, taskSubject(task.Run), t.bus.taskMessageID(task), data)
}

// Has reports whether the task that this connection published at that sequence is still
// in the queue: waiting for a worker, or held by one. If it is not, its result was stored
// or the task is lost.
func (t Tasks) Has(ctx context.Context, task *queens.Task, sequence uint64) (bool, error) {
	ctx = requestContext{ctx}
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
	return message.Header.Get(jetstream.MsgIDHeader) == t.bus.taskMessageID(task), nil
}

// Delete removes the task that this connection published at that sequence, so that no
// worker gets it from then on. It is no error if the task is not there any more.
func (t Tasks) Delete(ctx context.Context, task *queens.Task, sequence uint64) error {
	ctx = requestContext{ctx}
	queued, err := t.Has(ctx, task, sequence)
	if err == nil && queued {
		err = (*t.bus.tasks.Load()).DeleteMsg(ctx, sequence)
	}
	// A worker may acknowledge it in between.
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("delete task %d of run %s: %w", task.ID, task.Run, err)
	}
	return nil
}

// Purge removes the run's tasks, including those that workers hold. A missing stream is
// no error.
func (t Tasks) Purge(ctx context.Context, run string) error {
	return t.bus.purge(ctx, tasksStream, taskSubject(run))
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
