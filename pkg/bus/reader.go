package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/parallel"
	"nqueens/pkg/run"
)

// resultReader reads the results of one run, across all faults of the server.
type resultReader struct {
	bus       *Bus
	run       string
	at        run.StreamPosition // of the last message read, even if it was rejected
	each      func(run.ChunkResult, run.StreamPosition)
	caughtUp  func(asOf time.Time)
	asOf      time.Time     // the reader catches up with the results stored until then; zero: it does not
	catchUpTo uint64        // sequence of the run's last message at asOf, or of the last one that is left of those
	full      bool          // the stream was nearly full at the last check
	waited    time.Duration // since the last message, or since there was none to wait for
	patience  time.Duration // how long to wait for messages that are there
	consumer  string        // the name of the consumer that delivers
}

// checkInterval is how often a reader checks that the streams are still the ones that it
// began with.
const checkInterval = 2 * time.Second

// minPatience is how long a reader waits at least for a result that the server has, before it
// makes another consumer. In a cluster, a consumer lives on one of the servers and is lost with it,
// which the client does not notice. The time doubles while nothing is read: a server that is only
// slow gets fewer requests.
const (
	minPatience = 3 * time.Second
	maxPatience = time.Minute
)

// errUndelivered says that the consumer was lost.
var errUndelivered = errors.New("the server has results that it does not deliver")

var errReplaced = errors.New("the stream of results was replaced")

// errReset says that the client has made another consumer, which may have skipped results if the server
// has lost some meanwhile.
var errReset = errors.New("another consumer delivers the results")

// read reads until something fails or the stream is replaced. It creates the streams and
// the run's consumer, and checks them from then on: the coordinator of every run is a
// reader, so they exist while there is a run.
func (r *resultReader) read(ctx context.Context) error {
	stream, err := r.ensureAndStat(ctx)
	if err != nil {
		return err
	}
	if err := r.checkPosition(ctx, stream); errors.Is(err, errReplaced) {
		r.at = run.StreamPosition{Created: stream.CachedInfo().Created}
	} else if err != nil {
		return err
	}
	consumer, err := ask(ctx, r.bus, func(ctx context.Context) (jetstream.Consumer, error) {
		return r.bus.js.OrderedConsumer(ctx, resultsStream, jetstream.OrderedConsumerConfig{
			FilterSubjects:   []string{resultSubject(r.run)},
			DeliverPolicy:    jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:      r.at.Sequence + 1,
			MaxResetAttempts: 1,
			// The server removes the consumer of a dead reader after this time.
			InactiveThreshold: 30 * time.Second,
		})
	})
	if err != nil {
		return err
	}
	defer r.deleteConsumer(ctx, consumer)
	r.consumer = consumer.CachedInfo().Name
	r.asOf, r.waited, r.patience = time.Time{}, 0, max(r.patience, minPatience)
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		// The consumer ends with its server. So while it delivers, the server has lost nothing since this. It would
		// continue with a stream that replaced the first, at the same sequence: it would miss the first messages.
		if err := r.checkPosition(ctx, stream); err != nil {
			return err
		}
		if err := r.checkCaughtUp(ctx, stream); err != nil {
			return err
		}
		if err := r.deliverUntil(ctx, messages, time.Now().Add(checkInterval)); err != nil {
			return err
		}
		if stream, err = r.ensureAndStat(ctx); err != nil {
			return err
		}
	}
}

// arrival is a message that was read.
type arrival struct {
	message  jetstream.Msg
	metadata *jetstream.MsgMetadata
	result   run.ChunkResult
	err      error // of decoding it
}

// deliverUntil passes on what comes until the deadline, in order. All cores decode: that verifies a signature, which
// takes longer than all else.
func (r *resultReader) deliverUntil(ctx context.Context, messages jetstream.MessagesContext, deadline time.Time) error {
	until, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var failed error // of reading
	arrivals := func(yield func(*arrival) bool) {
		for {
			asked := time.Now()
			message, err := messages.Next(jetstream.NextContext(until))
			if errors.Is(err, context.DeadlineExceeded) {
				r.waited += time.Since(asked)
				return
			}
			var metadata *jetstream.MsgMetadata
			if err == nil {
				metadata, err = message.Metadata()
			}
			if err == nil && metadata.Consumer != r.consumer {
				err = errReset
			}
			if err != nil {
				failed = err
				return
			}
			r.waited, r.patience = 0, minPatience
			if !yield(&arrival{message: message, metadata: metadata}) {
				return
			}
		}
	}
	err := parallel.InOrder(ctx, arrivals, func(_ context.Context, a *arrival) (*arrival, error) {
		a.result, a.err = decodeResult(a.message.Subject(), a.message.Data())
		return a, nil
	}, func(a *arrival) error {
		r.deliver(a)
		return nil
	})
	return cmp.Or(failed, err)
}

// deliver passes on the result of a message.
func (r *resultReader) deliver(a *arrival) {
	r.at.Sequence, r.at.Stored = a.metadata.Sequence.Stream, a.metadata.Timestamp.UTC()
	if a.err != nil {
		r.bus.rejected.add(a.message.Subject(), a.message.Data(), a.err)
	} else {
		r.each(a.result, r.at)
	}
	r.signalCaughtUp()
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
// If a stream was nearly full at the last check and still is, nobody has made room: it does, or else warns.
func (r *resultReader) ensureAndStat(ctx context.Context) (jetstream.Stream, error) {
	stream, err := r.bus.keep(ctx, r.run)
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	full := fillRatio(info) >= 0.9
	removed := false
	if full && r.full {
		removed, err = r.bus.Results().purgeUnknown(ctx, r.run)
	}
	if full && r.full && !removed && r.bus.limiter.Allow("full") {
		r.bus.log.Warn().Err(err).Uint64("bytes", info.State.Bytes).Int64("max_bytes", info.Config.MaxBytes).
			Uint64("messages", info.State.Msgs).Int64("max_messages", info.Config.MaxMsgs).
			Msg("the results stream is nearly full: workers hold their results until it is purged or its limit is raised")
	}
	r.full = full
	return stream, nil
}

// checkPosition returns errReplaced unless the stream still has what was read: otherwise it is another one,
// or the server has lost its end, and may have stored other results under the same sequences.
func (r *resultReader) checkPosition(ctx context.Context, stream jetstream.Stream) error {
	holds, err := r.bus.holdsPosition(ctx, stream, r.at)
	switch {
	case err != nil:
		return fmt.Errorf("last result read from stream %s: %w", resultsStream, err)
	case holds:
		return nil
	case !r.at.Created.IsZero() && r.bus.limiter.Allow("replaced"):
		r.bus.log.Warn().Uint64("sequence", r.at.Sequence).
			Msg("the stream of results does not have the last result that was read: the server has lost some, or somebody has removed them; reading all results again")
	}
	return errReplaced
}

// holdsPosition reports whether a stream, whose state is known, is that of the position, and still has the
// message at the position. A position before the first message proves nothing and needs no proof.
func (b *Bus) holdsPosition(ctx context.Context, stream jetstream.Stream, at run.StreamPosition) (bool, error) {
	if info := stream.CachedInfo(); !info.Created.Equal(at.Created) || info.State.LastSeq < at.Sequence {
		return false, nil
	}
	if at.Sequence == 0 {
		return true, nil
	}
	message, err := b.rawMessage(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return stream.GetMsg(ctx, at.Sequence) })
	return message != nil && message.Time.Equal(at.Stored), err
}

// rawMessage asks for a message of a stream, and returns nil if there is none.
func (b *Bus) rawMessage(ctx context.Context, get func(ctx context.Context) (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	message, err := ask(ctx, b, get)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return message, err
}

// checkCaughtUp notes up to which result the reader has to come to have caught up, unless it has noted that before. It
// returns an error if what the stream has does not come.
func (r *resultReader) checkCaughtUp(ctx context.Context, stream jetstream.Stream) error {
	now, last := time.Now(), uint64(0)
	message, err := r.bus.rawMessage(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return stream.GetLastMsgForSubject(ctx, resultSubject(r.run))
	})
	if err != nil {
		return fmt.Errorf("last result in stream %s: %w", resultsStream, err)
	}
	if message != nil {
		last = message.Sequence
	}
	if r.asOf.IsZero() {
		r.asOf, r.catchUpTo = now, last
	}
	r.catchUpTo = min(r.catchUpTo, last) // those after it are gone
	r.signalCaughtUp()
	switch {
	case r.asOf.IsZero():
		r.waited = 0 // for nothing
	case r.waited > r.patience:
		r.patience = min(2*r.patience, maxPatience)
		return errUndelivered
	}
	return nil
}

func (r *resultReader) signalCaughtUp() {
	if !r.asOf.IsZero() && r.at.Sequence >= r.catchUpTo {
		asOf := r.asOf
		r.asOf = time.Time{}
		r.bus.outages.note(ResultsPart, "read", false)
		r.caughtUp(asOf)
	}
}
