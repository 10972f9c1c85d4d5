package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxQueued bounds the tasks of one run that lie on the server. Coordinators keep
// a window that is smaller by far; this protects the server from one that errs.
const maxQueued = 1 << 14

// maxResultBytes bounds the results that lie on the server, of all runs together.
// When they reach it, workers hold what they have and try again.
const maxResultBytes = 256 << 20

// remembered is how long the server knows a message's id, to store it once: what got
// no answer is published again within that time. It keeps the ids in memory, some 125
// bytes each, so the two minutes that it takes by default would let it grow with the
// rate of a run.
const remembered = 2 * requestTimeout

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
		Duplicates:           remembered,
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
		Duplicates:  remembered,
	}
}

// consumerConfig spells out what is not left to defaults: unlimited redeliveries
// (a limit would leave a task stuck), unlimited unacknowledged tasks (else the
// size of the cluster is capped), and room for every worker's waiting request,
// which can't be raised later.
func consumerConfig(lease time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       workerConsumer,
		Description:   "shared by all workers, for all runs",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		MaxWaiting:    1 << 16,
	}
}

// The server's error codes for a stream that is larger than what its disk or its limits
// leave.
const (
	noRoom      jetstream.ErrorCode = 10047
	noResources jetstream.ErrorCode = 10023
)

// advise adds to an error of the server what a person can do about it.
func advise(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && (api.ErrorCode == noRoom || api.ErrorCode == noResources):
		return fmt.Errorf("the server has too little room (results may need %d MiB): make some or give its store another disk: %w", maxResultBytes>>20, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the server has no JetStream, start it with --jetstream: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v, the server is busy or does not permit it: %w", requestTimeout, err)
	}
	return err
}

// Ensure makes the streams and the consumer where they are missing. Those that
// are there are left as they are, so that what an operator raised stays raised;
// but one that could lose or repeat work by its settings is an error.
func (b *Bus) Ensure(ctx context.Context) error {
	for _, want := range []jetstream.StreamConfig{tasksConfig(), resultsConfig()} {
		stream, err := b.ensureStream(ctx, want)
		if err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, advise(err))
		}
		if want.Name == tasksStream {
			if err := b.ensureConsumer(ctx, stream); err != nil {
				return fmt.Errorf("consumer %s of stream %s: %w", workerConsumer, want.Name, advise(err))
			}
		}
	}
	return nil
}

func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return b.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	have := stream.CachedInfo().Config
	switch {
	case !slices.Contains(have.Subjects, want.Subjects[0]):
		return nil, fmt.Errorf("its subjects are %q, without %s: delete the stream, or use another server", have.Subjects, want.Subjects[0])
	case have.Retention != want.Retention:
		return nil, fmt.Errorf("its retention is %v, not %v: delete the stream, or use another server", have.Retention, want.Retention)
	case have.Discard != want.Discard:
		return nil, fmt.Errorf("its discard policy is %v, not %v: edit the stream, or use another server", have.Discard, want.Discard)
	case have.MaxMsgsPerSubject > 0 && !have.DiscardNewPerSubject:
		return nil, fmt.Errorf("it drops the oldest message of a run that has %d: edit the stream, or use another server", have.MaxMsgsPerSubject)
	case have.MaxAge != 0:
		return nil, fmt.Errorf("it drops messages older than %v: edit the stream, or use another server", have.MaxAge)
	}
	return stream, nil
}

func (b *Bus) ensureConsumer(ctx context.Context, stream jetstream.Stream) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	want := consumerConfig(b.lease)
	consumer, err := stream.Consumer(ctx, workerConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = stream.CreateConsumer(ctx, want)
		return err
	}
	if err != nil {
		return err
	}
	have := consumer.CachedInfo().Config
	switch {
	case have.AckPolicy != want.AckPolicy:
		return fmt.Errorf("its ack policy is %v, not %v: delete the consumer", have.AckPolicy, want.AckPolicy)
	case have.MaxDeliver > 0:
		return fmt.Errorf("it gives up a task after %d deliveries: delete the consumer", have.MaxDeliver)
	case have.FilterSubject != "" || len(have.FilterSubjects) > 0:
		return fmt.Errorf("it is for the subjects %q alone: delete the consumer", append(have.FilterSubjects, have.FilterSubject))
	case have.AckWait < want.AckWait:
		return fmt.Errorf("it lends tasks for %v, less than the %v that workers count on: delete the consumer", have.AckWait, want.AckWait)
	}
	return nil
}
