package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// PublishResult stores a result, and returns when the server has confirmed it.
func (b *Bus) PublishResult(ctx context.Context, r *queens.Result) error {
	data, err := encodeResult(r)
	if err != nil {
		return err
	}
	_, err = b.publish(ctx, resultsStream, resultSubject(r.Run), b.resultMessageID(r), data)
	return err
}

// Results calls each with every result of a run after that position, and with where
// the result stands, and goes on with new ones until ctx ends; then it returns nil.
// It begins with the first on the server where the stream is not the one of the
// position, or has lost its end since. Results come in the order of their positions;
// some may come again, from the first, after a stream was replaced.
//
// It calls caughtUp once, when all that was there at the beginning has been passed on
// or is gone. Both functions are called one at a time.
//
// Streams that vanish are made anew. What can't be read is refused and counted.
func (b *Bus) Results(ctx context.Context, run string, after run.StreamPosition, each func(r queens.Result, at run.StreamPosition), caughtUp func()) error {
	r := reader{bus: b, run: run, at: after, each: each, caughtUp: caughtUp}
	for {
		err := r.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if b.limiter.Allow("results") {
			b.log.Warn().Err(err).Msg("can't read results, trying again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// reader reads the results of one run, across all faults of the server.
type reader struct {
	bus      *Bus
	run      string
	at       run.StreamPosition // of the last message read, whether it was a result or not
	each     func(queens.Result, run.StreamPosition)
	caughtUp func() // nil once it was called
	last     uint64 // the run's last message when the reader began, for caughtUp
	full     bool   // the stream was nearly full at the last look
}

// checkEvery is how often a reader of results looks whether the streams are still
// the ones that it began with.
const checkEvery = 2 * time.Second

var errReplaced = errors.New("the stream of results was replaced")

// read reads until something fails or is not what it was. It sets up the streams and
// looks after them from then on: the coordinator of every run is a reader, so they
// are there while there is a run.
func (r *reader) read(ctx context.Context) error {
	stream, err := r.look(ctx)
	if err != nil {
		return err
	}
	if info := stream.CachedInfo(); !r.isMine(info) {
		r.at = run.StreamPosition{Created: info.Created}
	}
	if err := r.begin(ctx, stream); err != nil {
		return err
	}
	consumer, err := r.bus.js.OrderedConsumer(ctx, resultsStream, jetstream.OrderedConsumerConfig{
		FilterSubjects:   []string{resultSubject(r.run)},
		DeliverPolicy:    jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:      r.at.Sequence + 1,
		MaxResetAttempts: 1,
		// The server drops the consumer of a reader that has died so long after.
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	defer r.bus.drop(ctx, consumer)
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		if err := r.deliverUntil(ctx, messages, time.Now().Add(checkEvery)); err != nil {
			return err
		}
		stream, err := r.look(ctx)
		if err != nil {
			return err
		}
		// A consumer goes on by itself with a stream that took the other's place, from
		// where it was: it would miss the first messages.
		if !r.isMine(stream.CachedInfo()) {
			return errReplaced
		}
		if err := r.checkCaughtUp(ctx, stream); err != nil {
			return err
		}
	}
}

// drop removes a reader's consumer, if the server is there to do it.
func (b *Bus) drop(ctx context.Context, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	if info == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackWait)
	defer cancel()
	_ = b.js.DeleteConsumer(ctx, info.Stream, info.Name) // else it goes by itself, in a while
}

// isMine reports whether the stream is the one that the reader reads: made at the same
// time, and not shorter than what was read of it, as after a crash of its server.
func (r *reader) isMine(info *jetstream.StreamInfo) bool {
	return info.Created.Equal(r.at.Created) && info.State.LastSeq >= r.at.Sequence
}

// begin notes up to where the reader has to catch up.
func (r *reader) begin(ctx context.Context, stream jetstream.Stream) error {
	if r.caughtUp == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	message, err := stream.GetLastMsgForSubject(ctx, resultSubject(r.run))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		r.last = 0
	case err != nil:
		return fmt.Errorf("last result in stream %s: %w", resultsStream, err)
	default:
		r.last = message.Sequence
	}
	r.tellCaughtUp()
	return nil
}

func (r *reader) tellCaughtUp() {
	if r.caughtUp != nil && r.at.Sequence >= r.last {
		r.caughtUp()
		r.caughtUp = nil
	}
}

// checkCaughtUp finds out that what was to be caught up with is not there any more.
func (r *reader) checkCaughtUp(ctx context.Context, stream jetstream.Stream) error {
	if r.caughtUp == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	next, err := stream.GetMsg(ctx, r.at.Sequence+1, jetstream.WithGetMsgSubject(resultSubject(r.run)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && next.Sequence > r.last:
		r.last = r.at.Sequence
		r.tellCaughtUp()
	case err != nil:
		return fmt.Errorf("next result in stream %s: %w", resultsStream, err)
	}
	return nil
}

// deliverUntil passes on what comes until the deadline.
func (r *reader) deliverUntil(ctx context.Context, messages jetstream.MessagesContext, deadline time.Time) error {
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
		metadata, err := message.Metadata()
		if err != nil {
			return err
		}
		r.at.Sequence = metadata.Sequence.Stream
		if result, err := decodeResult(message.Subject(), message.Data()); err != nil {
			r.bus.rejected.add(message.Subject(), message.Data(), err)
		} else {
			r.each(result, r.at)
		}
		r.tellCaughtUp()
	}
}

// look sets up what is missing and returns the stream of results with what it holds.
// A stream that was nearly full at the last look and still is gets a word: nobody has
// made room.
func (r *reader) look(ctx context.Context) (jetstream.Stream, error) {
	if err := r.bus.Ensure(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := r.bus.js.Stream(ctx, resultsStream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", resultsStream, err)
	}
	info := stream.CachedInfo()
	full := used(info) >= 0.9
	if full && r.full && r.bus.limiter.Allow("full") {
		r.bus.log.Warn().Uint64("bytes", info.State.Bytes).Int64("max_bytes", info.Config.MaxBytes).
			Uint64("messages", info.State.Msgs).Int64("max_messages", info.Config.MaxMsgs).
			Msg("the stream of results is full or nearly: workers hold theirs until it is purged or raised")
	}
	r.full = full
	return stream, nil
}

// used returns how much of what a stream may hold it has used, from 0 to 1: of its
// bytes or its messages, whichever is nearer to its limit.
func used(info *jetstream.StreamInfo) float64 {
	var share float64
	if most := info.Config.MaxBytes; most > 0 {
		share = float64(info.State.Bytes) / float64(most)
	}
	if most := info.Config.MaxMsgs; most > 0 {
		share = max(share, float64(info.State.Msgs)/float64(most))
	}
	return share
}
