package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumerConfig returns the consumer of a run. It sets what the defaults would limit:
// redeliveries (a limit would leave a chunk stuck), unacknowledged chunks (it would cap the
// number of workers), and waiting pull requests, one a worker, which cannot be raised later.
func (b *Bus) consumerConfig(run string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       run,
		Description:   "shared by all workers, for one run",
		FilterSubject: taskSubject(run),
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       b.lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		MaxWaiting:    1 << 16,
		// The server removes the consumer of a run that nobody coordinates or works for.
		InactiveThreshold: 10 * time.Minute,
	}
}

// The server's error codes for a consumer of a work queue beside one without a filter, or
// with the same filter.
const (
	errCodeUnfiltered jetstream.ErrorCode = 10099
	errCodeNotUnique  jetstream.ErrorCode = 10100
)

// ensureConsumer creates the consumer of a run if it is missing, and checks it otherwise. Unless it is
// strict, as before the run starts, it says so: the consumer was deleted, if it was in use until then.
func (b *Bus) ensureConsumer(ctx context.Context, stream jetstream.Stream, run string, strict bool) error {
	want := b.consumerConfig(run)
	create := func(ctx context.Context) (jetstream.Consumer, error) { return stream.CreateConsumer(ctx, want) }
	consumer, err := ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.Consumer(ctx, run) })
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = ask(ctx, b, create)
		var api *jetstream.APIError
		if errors.As(err, &api) && (api.ErrorCode == errCodeUnfiltered || api.ErrorCode == errCodeNotUnique) {
			if err = b.removeOldConsumer(ctx, stream, run, err); err == nil {
				consumer, err = ask(ctx, b, create)
			}
		}
		if unused := time.Since(time.Unix(0, b.consumerUsedAt.Load())); err == nil && !strict && unused < want.InactiveThreshold {
			b.logMadeAgain("consumer " + run + " of stream " + tasksStream)
		}
	}
	if err == nil {
		info := consumer.CachedInfo()
		if strict || info.NumAckPending > 0 {
			b.consumerUsedAt.Store(time.Now().UnixNano())
		}
		err = checkConsumer(&info.Config, &want)
	}
	if err != nil {
		return fmt.Errorf("consumer %s of stream %s: %w", run, tasksStream, err)
	}
	return nil
}

// removeOldConsumer removes the consumer of protocol version 1, which is why the server
// refuses that of a run, unless tasks of other runs wait for it. Its workers find none then.
func (b *Bus) removeOldConsumer(ctx context.Context, stream jetstream.Stream, run string, refused error) error {
	old, err := ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.Consumer(ctx, oldConsumer) })
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound),
		err == nil && (old.CachedInfo().Config.FilterSubject != "" || len(old.CachedInfo().Config.FilterSubjects) > 0):
		return fmt.Errorf("another consumer receives its messages: delete that consumer, or use another server: %w", refused)
	case err != nil:
		return err
	}
	info, err := ask(ctx, b, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return stream.Info(ctx, jetstream.WithSubjectFilter(taskSubjects))
	})
	if err != nil {
		return err
	}
	delete(info.State.Subjects, taskSubject(run)) // its coordinator publishes these tasks again
	if len(info.State.Subjects) > 0 {
		return errors.New("runs of an older version of this program are on this server: " +
			"end them, or use another server")
	}
	_, err = ask(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, stream.DeleteConsumer(ctx, oldConsumer)
	})
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	return nil
}

func checkConsumer(have, want *jetstream.ConsumerConfig) error {
	filters := have.FilterSubjects
	if have.FilterSubject != "" {
		filters = append(filters, have.FilterSubject)
	}
	switch {
	case have.AckPolicy != want.AckPolicy:
		return fmt.Errorf("its ack policy is %v, not %v: delete the consumer", have.AckPolicy, want.AckPolicy)
	case have.MaxDeliver > 0:
		return fmt.Errorf("it drops a chunk after %d deliveries: delete the consumer", have.MaxDeliver)
	case len(filters) != 1 || filters[0] != want.FilterSubject:
		return fmt.Errorf("it receives the subjects %q, not %s: delete the consumer", filters, want.FilterSubject)
	case have.AckWait < want.AckWait:
		return fmt.Errorf("its ack wait is %v, less than the %v that workers rely on: delete the consumer",
			have.AckWait, want.AckWait)
	case have.PauseUntil != nil && have.PauseUntil.After(time.Now()):
		return fmt.Errorf("it is paused until %s UTC: resume or delete the consumer",
			have.PauseUntil.UTC().Format(time.DateTime))
	}
	return nil
}
