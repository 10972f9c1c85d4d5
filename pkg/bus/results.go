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

// Results is the stream of the workers' results, of all runs.
type Results struct{ bus *Bus }

// Publish stores a result, and returns when the server has confirmed it.
func (s Results) Publish(ctx context.Context, r *queens.ChunkResult) error {
	data, err := encodeResult(r)
	if err != nil {
		return err
	}
	_, err = s.bus.publish(ctx, resultsStream, resultSubject(r.Run), s.bus.resultMessageID(r), data)
	return err
}

// Read calls each with every result of a run after a position, and with the result's
// position, and continues with new results until ctx ends; then it returns nil. It
// begins with the first result if the stream does not have the result at the position: it is
// another one, or has lost its end since. Results come in the order of their positions; after a stream was
// replaced, some may come again, from the first.
//
// It calls caughtUp when every result that was there at the beginning has been passed to
// each or is gone, and then about every two seconds whenever that is so of every result that
// the server had stored at the time asOf of this process's clock. It makes one call at a
// time.
//
// It creates streams that are missing and the run's consumer, and rejects and counts
// messages that it cannot read.
func (s Results) Read(ctx context.Context, run string, after run.StreamPosition,
	each func(r queens.ChunkResult, at run.StreamPosition), caughtUp func(asOf time.Time),
) error {
	r := resultReader{bus: s.bus, run: run, at: after, each: each, caughtUp: caughtUp}
	for {
		err := r.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errReset) {
			continue
		}
		if s.bus.isOutage(err) {
			s.bus.outages.note(readResults, true)
		}
		if !errors.Is(err, errReplaced) && s.bus.limiter.Allow("results") {
			s.bus.log.Warn().Err(err).Msg("can't read results, trying again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryInterval):
		}
	}
}

// Trim makes room for new results. If the stream has used more than half of its limit,
// it removes the run's results before that position, which the ledger holds. It does
// nothing if the stream does not have the result at the position, which it keeps: it shows
// that the stream is still the same.
func (s Results) Trim(ctx context.Context, run string, at run.StreamPosition) (err error) {
	ctx, done := s.bus.request(ctx)
	defer func() { err = done(err) }()
	stream, err := s.bus.js.Stream(ctx, resultsStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", resultsStream, err)
	}
	if at.Sequence == 0 || fillRatio(stream.CachedInfo()) <= 0.5 {
		return nil
	}
	holds, err := holdsPosition(ctx, stream, at)
	if err == nil && holds {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(resultSubject(run)), jetstream.WithPurgeSequence(at.Sequence))
	}
	if err != nil {
		return fmt.Errorf("purge accepted results of run %s from stream %s: %w", run, resultsStream, err)
	}
	return nil
}

// Purge removes the run's results. A missing stream is no error.
func (s Results) Purge(ctx context.Context, run string) error {
	return s.bus.purge(ctx, resultsStream, resultSubject(run))
}

// fillRatio returns how full a stream is, from 0 to 1: by bytes or by messages, whichever
// is nearer to its limit.
func fillRatio(info *jetstream.StreamInfo) float64 {
	var ratio float64
	if limit := info.Config.MaxBytes; limit > 0 {
		ratio = float64(info.State.Bytes) / float64(limit)
	}
	if limit := info.Config.MaxMsgs; limit > 0 {
		ratio = max(ratio, float64(info.State.Msgs)/float64(limit))
	}
	return ratio
}
