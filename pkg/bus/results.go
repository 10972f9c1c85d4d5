package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
)

// PublishResult stores a result, and returns when the server has confirmed it.
func (b *Bus) PublishResult(ctx context.Context, r *queens.Result) error {
	data, err := encodeResult(r)
	if err != nil {
		return err
	}
	_, err = b.publish(ctx, resultsStream, resultSubject(r.Run), resultMessageID(r), data)
	return err
}

// checkEvery is how often a reader of results looks whether the streams are still
// the ones that it began with.
const checkEvery = 2 * time.Second

var errReplaced = errors.New("the stream of results was replaced")

// Results calls each with every result of a run that is on the server, from the
// first stored, and goes on with new ones until ctx ends; then it returns nil.
// A result may come more than once: after a fault it begins at the first again.
// Streams that vanish are made anew. What can't be read is refused and counted.
func (b *Bus) Results(ctx context.Context, run string, each func(queens.Result)) error {
	for {
		err := b.readResults(ctx, run, each)
		if ctx.Err() != nil {
			return nil
		}
		if b.said.due("results") {
			b.log.Warn().Err(err).Msg("can't read results, trying again from the first")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// readResults reads until something fails or is not what it was. It sets up the
// streams and looks after them from then on: the coordinator of every run is a
// reader, so they are there while there is a run.
func (b *Bus) readResults(ctx context.Context, run string, each func(queens.Result)) error {
	created, err := b.ensureResults(ctx)
	if err != nil {
		return err
	}
	consumer, err := b.js.OrderedConsumer(ctx, resultsStream, jetstream.OrderedConsumerConfig{
		FilterSubjects:   []string{resultSubject(run)},
		DeliverPolicy:    jetstream.DeliverAllPolicy,
		MaxResetAttempts: 1,
		// The server drops the consumer so long after the reader has gone.
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		if err := b.deliverUntil(ctx, messages, time.Now().Add(checkEvery), each); err != nil {
			return err
		}
		switch now, err := b.ensureResults(ctx); {
		case err != nil:
			return err
		case !now.Equal(created):
			return errReplaced
		}
	}
}

// deliverUntil passes on what comes until the deadline.
func (b *Bus) deliverUntil(ctx context.Context, messages jetstream.MessagesContext, deadline time.Time, each func(queens.Result)) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		message, err := messages.Next(jetstream.NextContext(ctx))
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := decodeResult(message.Subject(), message.Data())
		if err != nil {
			b.rejected.add(message.Subject(), message.Data(), err)
			continue
		}
		each(r)
	}
}

// ensureResults sets up what is missing and returns the time at which the stream
// of results was made.
func (b *Bus) ensureResults(ctx context.Context) (time.Time, error) {
	if err := b.Ensure(ctx); err != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, resultsStream)
	if err != nil {
		return time.Time{}, fmt.Errorf("stream %s: %w", resultsStream, err)
	}
	info := stream.CachedInfo()
	if nearlyFull(info) && b.said.due("full") {
		b.log.Warn().Uint64("bytes", info.State.Bytes).Int64("max_bytes", info.Config.MaxBytes).
			Uint64("messages", info.State.Msgs).Int64("max_messages", info.Config.MaxMsgs).
			Msg("the stream of results is full or nearly: workers hold theirs until it is purged or raised")
	}
	return info.Created, nil
}

// nearlyFull reports whether a stream has used nine tenths of what it may hold.
func nearlyFull(info *jetstream.StreamInfo) bool {
	have, most := &info.State, &info.Config
	return most.MaxBytes > 0 && have.Bytes/9 >= uint64(most.MaxBytes)/10 ||
		most.MaxMsgs > 0 && have.Msgs*10 >= uint64(most.MaxMsgs)*9
}
