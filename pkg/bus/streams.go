package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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

// bucketConfig returns the stream of the bucket of records as the tools of NATS make it; see NATS ADR-8.
func bucketConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              bucketStream,
		Description:       "records of runs",
		Subjects:          []string{bucketSubject + ">"},
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       true,
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
	var part Part // that was asked for last
	err := b.untilSettled(ctx, func() (err error) {
		part = ResultsPart // first, because its space is not negotiable
		if _, err = b.ensureStream(ctx, part, resultsConfig(), true); err != nil {
			return err
		}
		part = RecordsPart
		if _, err = b.ensureStream(ctx, part, bucketConfig(), true); err != nil {
			return err
		}
		part = TasksPart
		err = b.ensureTasks(ctx, run, true)
		if isDamaged(err) {
			b.log.Warn().Err(err).Msg("the server can't read the files of the run's consumer: making the stream of tasks again; its tasks are published again")
			if err = b.deleteStream(ctx, tasksStream); err == nil {
				err = b.ensureTasks(ctx, run, true)
			}
		}
		return err
	})
	return b.resetHint(part, err)
}

// keep makes again what is missing while a run counts, and returns the stream of results, with its state. Streams may
// have fewer replicas than the configuration asks for: a run continues while servers of the cluster are away. While the
// stream of tasks or its consumer fails, results can be read.
func (b *Bus) keep(ctx context.Context, run string) (jetstream.Stream, error) {
	results, err := b.ensureStream(ctx, ResultsPart, resultsConfig(), false)
	failed := b.ensureTasks(ctx, run, false)
	if err == nil && failed != nil && ctx.Err() == nil && b.limiter.Allow("tasks") {
		b.log.Warn().Err(failed).Msg("can't use the queue of tasks, trying again")
	}
	b.heal(ctx, err, failed)
	return results, err
}

// ensureTasks makes the stream of tasks and the consumer of a run if they are missing, and checks them. Strict is
// before a run starts.
func (b *Bus) ensureTasks(ctx context.Context, run string, strict bool) error {
	tasks, err := b.ensureStream(ctx, TasksPart, tasksConfig(), strict)
	if err != nil {
		return err
	}
	b.outages.sawTasks(tasks.CachedInfo().Created)
	return b.ensureConsumer(ctx, tasks, run, strict)
}

func (b *Bus) ensureStream(ctx context.Context, part Part, want jetstream.StreamConfig, strict bool) (jetstream.Stream, error) {
	want.Replicas = b.replicas()
	stream, err := b.stream(ctx, want.Name)
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
	b.outages.note(part, "lookup", b.isOutage(err))
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", want.Name, err)
	}
	return stream, nil
}

// stream returns a stream with its state.
func (b *Bus) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, name) })
}

// logMadeAgain says that something was gone from the server while a run used it.
func (b *Bus) logMadeAgain(what string) {
	if b.limiter.Allow("again " + what) {
		b.log.Warn().Str("what", what).Msg("made again what was gone from the server: somebody has deleted it, or the server has lost it")
	}
}

// minMsgSize is the least limit of the size of a message that a stream may have: the greatest
// message of a server with its default settings.
const minMsgSize = 1 << 20

// checkStream returns why a stream can't be used: a setting could lose, change or repeat work.
func checkStream(have, want *jetstream.StreamConfig) error {
	size := int32(minMsgSize)
	if have.MaxMsgSize > 0 {
		size = min(size, have.MaxMsgSize)
	}
	return checkSettings("edit or delete the stream, or use another server", []setting{
		{"subjects", have.Subjects, want.Subjects},
		{"retention", have.Retention, want.Retention},
		{"discard policy", have.Discard, want.Discard},
		{"discard new per subject", have.DiscardNewPerSubject || have.MaxMsgsPerSubject <= 0, want.DiscardNewPerSubject || want.MaxMsgsPerSubject <= 0},
		{"maximum age", have.MaxAge, want.MaxAge},
		{"maximum message size", size, int32(minMsgSize)},
		{"subject transform", have.SubjectTransform, want.SubjectTransform},
		{"mirror", have.Mirror, want.Mirror},
		{"number of sources", len(have.Sources), 0},
	})
}

// setting is a setting of a stream or a consumer.
type setting struct {
	name       string
	have, want any
}

// checkSettings returns an error that names the first setting that is another one, and what to do.
func checkSettings(advice string, settings []setting) error {
	for _, s := range settings {
		if !reflect.DeepEqual(s.have, s.want) {
			return fmt.Errorf("its %s is %v, not %v: %s", s.name, s.have, s.want, advice)
		}
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
	switch {
	case hasCode(err, errCodeNoStorage, errCodeNoResources):
		return fmt.Errorf("the server has too little room (tasks and results may need %d MiB): "+
			"make some or give its store another disk: %w", (minTaskBytes+maxResultBytes)>>20, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the server has no JetStream, start it with --jetstream: %w", err)
	}
	return err
}
