package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
)

// maxQueued bounds the chunks of one run on the server. Coordinators keep a much smaller
// window; this protects the server from one that errs. [Bus.Ensure] raises the limit of a
// stream that has less.
const maxQueued = 1 << 20

// maxTaskBytes bounds the chunks of all runs on the server, so that none fills its disk; the
// window of a run has at most half of it. When they reach it, coordinators wait until workers have
// taken some. The server reserves the space: one with a small disk gets a lower limit, down to
// minTaskBytes.
const (
	maxTaskBytes = 512 << 20
	minTaskBytes = 16 << 20
)

// maxResultBytes bounds the results of all runs on the server. When they reach it,
// workers hold their results and try again.
const maxResultBytes = 256 << 20

// dedupWindow is how long the server remembers a message's id. A publish that got no
// answer is repeated within that time: a server of a cluster that loses its leader answers
// nothing for up to 12 seconds. The window takes some 125 bytes of memory for each message
// of that time.
const dedupWindow = time.Minute

func tasksConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 tasksStream,
		Description:          "chunks of tasks waiting for a worker",
		Subjects:             []string{taskSubjects},
		Retention:            jetstream.WorkQueuePolicy,
		Storage:              jetstream.FileStorage,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    maxQueued,
		MaxBytes:             maxTaskBytes,
		Duplicates:           dedupWindow,
	}
}

func resultsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        resultsStream,
		Description: "partial counts",
		Subjects:    []string{resultSubjects},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    maxResultBytes,
		Duplicates:  dedupWindow,
	}
}

// Ensure creates the streams and the run's consumer if they are missing. It raises the number of
// replicas of existing streams if the configuration asks for more; if the server can't keep them,
// the error wraps [ErrReplicas]. It leaves all else as it is, so that what an operator raised
// stays raised, but returns an error if a setting could lose or repeat work.
func (b *Bus) Ensure(ctx context.Context, run string) error {
	if err := queens.ValidateRun(run); err != nil {
		return err
	}
	err := b.untilSettled(ctx, func() error {
		_, err := b.ensure(ctx, run, true)
		if err == nil && b.minReplicas > 0 {
			err = b.ensureBucket(ctx, true)
		}
		return err
	})
	var broken *partError
	if errors.As(err, &broken) {
		err = b.resetHint(broken.part, err)
	}
	return err
}

// ensure returns the stream of results, with its state. Unless it is strict, as before a run
// starts, streams may have fewer replicas than the configuration asks for: a run continues while
// servers of the cluster are away.
func (b *Bus) ensure(ctx context.Context, run string, strict bool) (results jetstream.Stream, err error) {
	// The results come first, because their space is not negotiable.
	if results, err = b.ensureStream(ctx, resultsConfig(), strict); err != nil && strict {
		return nil, err
	}
	tasks, failed := b.ensureStream(ctx, tasksConfig(), strict)
	if failed == nil {
		b.outages.sawTasks(tasks.CachedInfo().Created)
	}
	if !strict {
		b.heal(ctx, err, failed)
	}
	if err == nil {
		err = failed
	}
	if failed == nil {
		err = cmp.Or(err, b.ensureConsumer(ctx, tasks, run, strict))
	}
	return results, err
}

func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig, strict bool) (jetstream.Stream, error) {
	want.Replicas = b.replicas()
	stream, err := ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, want.Name) })
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = b.createStream(ctx, want, strict)
		if err == nil && !strict {
			b.logMadeAgain("stream " + want.Name)
		}
	}
	if err == nil {
		err = checkStream(&stream.CachedInfo().Config, &want)
	}
	if err == nil {
		stream, err = b.raise(ctx, stream, strict)
	}
	if err != nil {
		return nil, &partError{partOf(want.Name), fmt.Errorf("stream %s: %w", want.Name, err)}
	}
	return stream, nil
}

// logMadeAgain says that something was gone from the server while a run used it.
func (b *Bus) logMadeAgain(what string) {
	b.lastTaken.Store(nil)
	if b.limiter.Allow("again " + what) {
		b.log.Warn().Str("what", what).Msg("made again what was gone from the server: somebody has deleted it, or the server has lost it")
	}
}

// minMsgSize is the least limit of the size of a message that a stream may have: the greatest
// message of a server with its default settings.
const minMsgSize = 1 << 20

// checkStream returns why a stream can't be used: a setting could lose, change or repeat work.
func checkStream(have, want *jetstream.StreamConfig) error {
	switch {
	case !slices.Contains(have.Subjects, want.Subjects[0]):
		return fmt.Errorf("its subjects are %q, without %s: delete the stream, or use another server",
			have.Subjects, want.Subjects[0])
	case have.Retention != want.Retention:
		return fmt.Errorf("its retention is %v, not %v: delete the stream, or use another server",
			have.Retention, want.Retention)
	case have.Discard != want.Discard:
		return fmt.Errorf("its discard policy is %v, not %v: edit the stream, or use another server",
			have.Discard, want.Discard)
	case have.MaxMsgsPerSubject > 0 && !have.DiscardNewPerSubject:
		return fmt.Errorf("it drops the oldest message of a run that has %d: edit the stream, or use another server",
			have.MaxMsgsPerSubject)
	case have.MaxAge != 0:
		return fmt.Errorf("it drops messages older than %v: edit the stream, or use another server", have.MaxAge)
	case have.MaxMsgSize > 0 && have.MaxMsgSize < minMsgSize:
		return fmt.Errorf("it takes no messages of more than %d bytes, and some have up to %d: edit the stream, or use another server",
			have.MaxMsgSize, minMsgSize)
	case have.SubjectTransform != nil:
		return fmt.Errorf("it changes the subjects of messages, from %s to %s: delete the stream, or use another server",
			have.SubjectTransform.Source, have.SubjectTransform.Destination)
	case have.Mirror != nil || len(have.Sources) > 0:
		return errors.New("it copies the messages of other streams: delete the stream, or use another server")
	}
	return nil
}

// The server's error codes for a stream that exceeds its disk or the limits of its
// account.
const (
	errCodeNoStorage   jetstream.ErrorCode = 10047
	errCodeNoResources jetstream.ErrorCode = 10023
)

// withHint adds to an error of the server what a person can do about it.
func withHint(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && (api.ErrorCode == errCodeNoStorage || api.ErrorCode == errCodeNoResources):
		return fmt.Errorf("the server has too little room (tasks and results may need %d MiB): "+
			"make some or give its store another disk: %w", (minTaskBytes+maxResultBytes)>>20, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the server has no JetStream, start it with --jetstream: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return noAnswer(requestTimeout, err)
	}
	return err
}
