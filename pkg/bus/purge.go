package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// TrimResults makes room for new results: those of the run up to that position, being in
// the ledger for good, are removed if the stream has used more than half of what it
// may hold. It does nothing where the stream is not the one of the position.
func (b *Bus) TrimResults(ctx context.Context, run string, at run.StreamPosition) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, resultsStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", resultsStream, err)
	}
	if info := stream.CachedInfo(); !info.Created.Equal(at.Created) || used(info) <= 0.5 {
		return nil
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(resultSubject(run)), jetstream.WithPurgeSequence(at.Sequence+1)); err != nil {
		return fmt.Errorf("purge accepted results of run %s from stream %s: %w", run, resultsStream, err)
	}
	return nil
}

// PurgeTasks removes the run's tasks from the queue, those that workers hold too. That
// there is no queue is no error.
func (b *Bus) PurgeTasks(ctx context.Context, run string) error {
	return b.purge(ctx, tasksStream, taskSubject(run))
}

// DeleteTask removes the task that this connection published at that place: nobody gets
// it, or gets it again, from then on. That it is not there any more is no error.
func (b *Bus) DeleteTask(ctx context.Context, task *queens.Task, place uint64) error {
	queued, err := b.HasTask(ctx, task, place)
	if err == nil && queued {
		err = b.deleteMessage(ctx, place)
	}
	if err != nil {
		return fmt.Errorf("withdraw task %d of run %s: %w", task.ID, task.Run, err)
	}
	return nil
}

func (b *Bus) deleteMessage(ctx context.Context, place uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := b.tasksStream(ctx)
	if err != nil {
		return err
	}
	if err := stream.DeleteMsg(ctx, place); !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	return nil // a worker was done with it in between
}

// DeleteRun removes a run's tasks, its results and its record from the server, as far as
// it can. What is not there is no error.
func (b *Bus) DeleteRun(ctx context.Context, run string) error {
	return errors.Join(b.PurgeTasks(ctx, run), b.purgeResults(ctx, run), b.removeRecord(ctx, run))
}

func (b *Bus) purgeResults(ctx context.Context, run string) error {
	return b.purge(ctx, resultsStream, resultSubject(run))
}

// purge removes the messages of a subject from a stream, if there is such a stream.
func (b *Bus) purge(ctx context.Context, stream, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := b.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("purge %s from stream %s: %w", subject, stream, err)
	}
	return nil
}
