package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/run"
)

// Results is the stream of the workers' results, of all runs.
type Results struct{ bus *Bus }

// Publish stores a result, and returns when the server has confirmed it.
func (s Results) Publish(ctx context.Context, r *run.ChunkResult) error {
	data, err := encodeResult(r)
	if err != nil {
		return err
	}
	_, err = s.bus.publish(ctx, resultsStream, resultSubject(r.Run), data, jetstream.WithMsgID(s.bus.resultMessageID(r)))
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
	each func(r run.ChunkResult, at run.StreamPosition), caughtUp func(asOf time.Time),
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
			s.bus.outages.note(ResultsPart, "read", true)
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
func (s Results) Trim(ctx context.Context, run string, at run.StreamPosition) error {
	stream, err := s.bus.stream(ctx, resultsStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", resultsStream, err)
	}
	if at.Sequence == 0 || fillRatio(stream.CachedInfo()) <= 0.5 {
		return nil
	}
	if holds, err := s.bus.holdsPosition(ctx, stream, at); err != nil || !holds {
		return err
	}
	return s.bus.purge(ctx, resultsStream, resultSubject(run), jetstream.WithPurgeSequence(at.Sequence))
}

// Purge removes the run's results. A missing stream is no error.
func (s Results) Purge(ctx context.Context, run string) error {
	return s.bus.purge(ctx, resultsStream, resultSubject(run))
}

// maxPurged bounds the subjects that are purged at a time: then reading goes on.
const maxPurged = 1000

// purgeUnknown removes the results of runs that the server has no record of, and reports whether there were any. A
// worker may publish results of any run, and nobody reads these: the record of a run is stored before its first
// chunk. It removes nothing if the run that counts has no record: then other records may be lost too. The server
// stores a result of a run named * and takes that for all runs: their results go too, and are counted again.
func (s Results) purgeUnknown(ctx context.Context, counting string) (removed bool, err error) {
	// The server names up to 100000 subjects; jetstream would go on and ask for all.
	answer, err := ask(ctx, s.bus, func(ctx context.Context) (*nats.Msg, error) {
		return s.bus.conn.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+resultsStream, []byte(`{"subjects_filter":"`+resultSubjects+`"}`))
	})
	if err != nil {
		return false, err
	}
	var info struct {
		State struct{ Subjects map[string]uint64 }
	}
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return false, err
	}
	recorded, err := s.bus.Registry().Names(ctx) // asked for last: a run that has results by now has a record
	if err != nil || !slices.Contains(recorded, counting) {
		return false, err
	}
	for _, name := range recorded {
		delete(info.State.Subjects, resultSubject(name))
	}
	runs, messages := 0, uint64(0)
	for subject, number := range info.State.Subjects {
		if runs == maxPurged {
			break
		}
		if err = s.bus.purge(ctx, resultsStream, subject); err != nil {
			break
		}
		runs, messages = runs+1, messages+number
	}
	if runs > 0 && s.bus.limiter.Allow("unknown") {
		s.bus.log.Warn().Int("runs", runs).Uint64("messages", messages).
			Msg("the results stream was nearly full: removed the results of runs that the server has no record of; a client publishes results of runs that do not exist")
	}
	return runs > 0, err
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
