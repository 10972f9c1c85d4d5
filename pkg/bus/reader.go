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

// resultReader reads the results of one run, across all faults of the server.
type resultReader struct {
	bus       *Bus
	run       string
	at        run.StreamPosition // of the last message read, even if it was rejected
	each      func(queens.Result, run.StreamPosition)
	caughtUp  func() // nil once it was called
	catchUpTo uint64 // sequence of the run's last message when reading began
	full      bool   // the stream was nearly full at the last check
}

// checkInterval is how often a reader checks that the streams are still the ones that it
// began with.
const checkInterval = 2 * time.Second

var errReplaced = errors.New("the stream of results was replaced")

// read reads until something fails or the stream is replaced. It creates the streams and
// checks them from then on: the coordinator of every run is a reader, so they exist while
// there is a run.
func (r *resultReader) read(ctx context.Context) error {
	ctx = requestContext{ctx}
	stream, err := r.ensureAndStat(ctx)
	if err != nil {
		return err
	}
	if info := stream.CachedInfo(); !r.sameStream(info) {
		r.at = run.StreamPosition{Created: info.Created}
	}
	if err := r.markCatchUp(ctx, stream); err != nil {
		return err
	}
	consumer, err := r.bus.js.OrderedConsumer(ctx, resultsStream, jetstream.OrderedConsumerConfig{
		FilterSubjects:   []string{resultSubject(r.run)},
		DeliverPolicy:    jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:      r.at.Sequence + 1,
		MaxResetAttempts: 1,
		// The server removes the consumer of a dead reader after this time.
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	defer r.deleteConsumer(ctx, consumer)
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		if err := r.deliverUntil(ctx, messages, time.Now().Add(checkInterval)); err != nil {
			return err
		}
		stream, err := r.ensureAndStat(ctx)
		if err != nil {
			return err
		}
		// The consumer would continue with a stream that replaced the first, at the same
		// sequence: it would miss the first messages.
		if !r.sameStream(stream.CachedInfo()) {
			return errReplaced
		}
		if err := r.checkCaughtUp(ctx, stream); err != nil {
			return err
		}
	}
}

// deliverUntil passes on what comes until the deadline.
func (r *resultReader) deliverUntil(ctx context.Context, messages jetstream.MessagesContext, deadline time.Time) error {
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
		r.signalCaughtUp()
	}
}

// deleteConsumer removes the reader's consumer, if the server can be reached; else the
// server removes it by itself after a while.
func (r *resultReader) deleteConsumer(ctx context.Context, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	if info == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	_ = r.bus.js.DeleteConsumer(ctx, info.Stream, info.Name)
}

// ensureAndStat creates what is missing and returns the stream of results with its state.
// It warns of a stream that was nearly full at the last check and still is: nobody
// has made room.
func (r *resultReader) ensureAndStat(ctx context.Context) (jetstream.Stream, error) {
	stream, err := r.bus.ensure(ctx)
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	full := fillRatio(info) >= 0.9
	if full && r.full && r.bus.limiter.Allow("full") {
		r.bus.log.Warn().Uint64("bytes", info.State.Bytes).Int64("max_bytes", info.Config.MaxBytes).
			Uint64("messages", info.State.Msgs).Int64("max_messages", info.Config.MaxMsgs).
			Msg("the results stream is nearly full: workers hold their results until it is purged or its limit is raised")
	}
	r.full = full
	return stream, nil
}

// sameStream reports whether the stream is the one that is being read: created at the same
// time, and not shorter than what was read, as it may be after a crash of its server.
func (r *resultReader) sameStream(info *jetstream.StreamInfo) bool {
	return info.Created.Equal(r.at.Created) && info.State.LastSeq >= r.at.Sequence
}

// markCatchUp notes the last message to catch up with.
func (r *resultReader) markCatchUp(ctx context.Context, stream jetstream.Stream) error {
	if r.caughtUp == nil {
		return nil
	}
	message, err := stream.GetLastMsgForSubject(ctx, resultSubject(r.run))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		r.catchUpTo = 0
	case err != nil:
		return fmt.Errorf("last result in stream %s: %w", resultsStream, err)
	default:
		r.catchUpTo = message.Sequence
	}
	r.signalCaughtUp()
	return nil
}

// checkCaughtUp notices that the messages to catch up with are gone.
func (r *resultReader) checkCaughtUp(ctx context.Context, stream jetstream.Stream) error {
	if r.caughtUp == nil {
		return nil
	}
	next, err := stream.GetMsg(ctx, r.at.Sequence+1, jetstream.WithGetMsgSubject(resultSubject(r.run)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && next.Sequence > r.catchUpTo:
		r.catchUpTo = r.at.Sequence
		r.signalCaughtUp()
	case err != nil:
		return fmt.Errorf("next result in stream %s: %w", resultsStream, err)
	}
	return nil
}

func (r *resultReader) signalCaughtUp() {
	if r.caughtUp != nil && r.at.Sequence >= r.catchUpTo {
		r.caughtUp()
		r.caughtUp = nil
	}
}
