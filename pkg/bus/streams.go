package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxQueued bounds the tasks of one run on the server. Coordinators keep a much smaller
// window; this protects the server from one that errs.
const maxQueued = 1 << 14

// maxResultBytes bounds the results of all runs on the server. When they reach it,
// workers hold their results and try again.
const maxResultBytes = 256 << 20

// dedupWindow is how long the server remembers a message's id. A publish that got no
// answer is repeated within that time. The default of two minutes takes some 125 bytes
// of memory for each message of that time.
const dedupWindow = 2 * requestTimeout

func tasksConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 tasksStream,
		Description:          "prefix subproblems waiting for a worker",
		Subjects:             []string{taskSubjects},
		Retention:            jetstream.WorkQueuePolicy,
		Storage:              jetstream.FileStorage,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    maxQueued,
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

// consumerConfig sets what the defaults would limit: redeliveries (a limit would leave a
// task stuck), unacknowledged tasks (it would cap the size of the cluster), and waiting
// pull requests, one a worker, which cannot be raised later.
func (b *Bus) consumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       workerConsumer,
		Description:   "shared by all workers, for all runs",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       b.lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		MaxWaiting:    1 << 16,
	}
}

// Ensure creates the streams and the consumer if they are missing. It leaves existing
// ones as they are, so that what an operator raised stays raised, but returns an error
// if one of them could lose or repeat work by its settings.
func (b *Bus) Ensure(ctx context.Context) error {
	_, err := b.ensure(ctx)
	return err
}

// ensure returns the stream of results, with its state.
func (b *Bus) ensure(ctx context.Context) (results jetstream.Stream, err error) {
	ctx = requestContext{ctx}
	tasks, err := b.ensureStream(ctx, tasksConfig())
	if err == nil {
		err = b.ensureConsumer(ctx, tasks)
	}
	if err != nil {
		return nil, err
	}
	return b.ensureStream(ctx, resultsConfig())
}

func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = b.js.CreateStream(ctx, want)
	}
	if err == nil {
		err = checkStream(&stream.CachedInfo().Config, &want)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", want.Name, withHint(err))
	}
	return stream, nil
}

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
	}
	return nil
}

func (b *Bus) ensureConsumer(ctx context.Context, stream jetstream.Stream) error {
	want := b.consumerConfig()
	consumer, err := stream.Consumer(ctx, workerConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = stream.CreateConsumer(ctx, want)
	}
	if err == nil {
		err = checkConsumer(&consumer.CachedInfo().Config, &want)
	}
	if err != nil {
		return fmt.Errorf("consumer %s of stream %s: %w", workerConsumer, tasksStream, withHint(err))
	}
	return nil
}

func checkConsumer(have, want *jetstream.ConsumerConfig) error {
	switch {
	case have.AckPolicy != want.AckPolicy:
		return fmt.Errorf("its ack policy is %v, not %v: delete the consumer", have.AckPolicy, want.AckPolicy)
	case have.MaxDeliver > 0:
		return fmt.Errorf("it drops a task after %d deliveries: delete the consumer", have.MaxDeliver)
	case have.FilterSubject != "" || len(have.FilterSubjects) > 0:
		return fmt.Errorf("it receives only the subjects %q: delete the consumer",
			append(have.FilterSubjects, have.FilterSubject))
	case have.AckWait < want.AckWait:
		return fmt.Errorf("its ack wait is %v, less than the %v that workers rely on: delete the consumer",
			have.AckWait, want.AckWait)
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
		return fmt.Errorf("the server has too little room (results may need %d MiB): "+
			"make some or give its store another disk: %w", maxResultBytes>>20, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the server has no JetStream, start it with --jetstream: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v, the server is busy or does not permit it: %w", requestTimeout, err)
	}
	return err
}
