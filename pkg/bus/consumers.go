package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		AckWait:       b.cfg.Lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		MaxWaiting:    1 << 16,
		// The server removes the consumer of a run that nobody coordinates or works for.
		InactiveThreshold: 10 * time.Minute,
	}
}

// The server's error codes for a consumer of a work queue beside one without a filter, or
// with the same filter, and for one whose files it can't read.
const (
	errCodeUnfiltered    jetstream.ErrorCode = 10099
	errCodeNotUnique     jetstream.ErrorCode = 10100
	errCodeConsumerFiles jetstream.ErrorCode = 10012
	errCodeConsumerStore jetstream.ErrorCode = 10104
)

// hasCode reports whether an error is that of the server with one of these codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// isDamaged reports whether the server can't make a consumer because it can't read or write its files.
func isDamaged(err error) bool { return hasCode(err, errCodeConsumerFiles, errCodeConsumerStore) }

// ensureConsumer creates the consumer of a run if it is missing, and checks it otherwise. Unless it is
// strict, as before the run starts, it says so: the consumer was deleted, if it was in use until then.
func (b *Bus) ensureConsumer(ctx context.Context, stream jetstream.Stream, run string, strict bool) error {
	want := b.consumerConfig(run)
	consumer, err := ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.Consumer(ctx, run) })
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.CreateConsumer(ctx, want) })
		if unused := time.Since(time.Unix(0, b.consumerUsedAt.Load())); err == nil && !strict && unused < want.InactiveThreshold {
			b.logMadeAgain("consumer " + run + " of stream " + tasksStream)
		}
	}
	b.outages.note(TasksPart, "consumer", isDamaged(err) || isUnsettled(err) && b.isOutage(err))
	if hasCode(err, errCodeUnfiltered, errCodeNotUnique) {
		err = fmt.Errorf("another consumer receives its messages: delete that consumer, or use another server: %w", err)
	}
	if err == nil {
		info := consumer.CachedInfo()
		if strict || info.NumAckPending > 0 {
			b.consumerUsedAt.Store(time.Now().UnixNano())
		}
		if err = checkConsumer(&info.Config, &want); err == nil {
			err = b.checkDelivery(ctx, stream, run, info)
		}
	}
	if err != nil {
		return fmt.Errorf("consumer %s of stream %s: %w", run, tasksStream, err)
	}
	return nil
}

// checkDelivery looks for a consumer that does not deliver the chunks that the stream has, as after some servers
// of a cluster have forgotten a part of it. If the consumer has delivered more than the stream ever had, it skips
// what comes: it is deleted, and made again soon. If workers wait and nobody holds a chunk, the consumer is broken, or
// a replica of the stream does not follow the others: heal makes the stream again.
func (b *Bus) checkDelivery(ctx context.Context, stream jetstream.Stream, run string, info *jetstream.ConsumerInfo) error {
	state := &stream.CachedInfo().State
	starving := info.NumAckPending == 0 && info.NumWaiting > 0 && state.Msgs > 0
	if starving || info.Delivered.Stream > state.LastSeq {
		now, err := ask(ctx, b, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return stream.Info(ctx, jetstream.WithSubjectFilter(taskSubject(run)))
		})
		if err != nil {
			return err
		}
		state, starving = &now.State, starving && now.State.Subjects[taskSubject(run)] > 0
	}
	if starving || info.NumAckPending > 0 || state.Msgs == 0 { // else perhaps nobody waits just now
		b.outages.note(TasksPart, "delivery of run "+run, starving)
	}
	if info.Delivered.Stream <= state.LastSeq {
		return nil
	}
	b.log.Warn().Str("run", run).Str("consumer", info.Name).Uint64("delivered", info.Delivered.Stream).Uint64("last", state.LastSeq).
		Msg("the server has lost the end of the stream of tasks, and the consumer of the run skips new ones: making it again")
	return b.deleteConsumer(ctx, info.Name)
}

// deleteConsumer deletes a consumer of the stream of tasks. What does not exist is no error.
func (b *Bus) deleteConsumer(ctx context.Context, name string) error {
	ctx, done := b.request(ctx)
	err := done(b.js.DeleteConsumer(ctx, tasksStream, name))
	if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return fmt.Errorf("delete consumer %s of stream %s: %w", name, tasksStream, err)
}

// checkConsumer returns why a consumer can't be used: it would keep chunks from workers, or repeat work.
func checkConsumer(have, want *jetstream.ConsumerConfig) error {
	if have.PauseUntil != nil && have.PauseUntil.After(time.Now()) {
		return fmt.Errorf("it is paused until %s UTC: resume or delete the consumer", have.PauseUntil.UTC().Format(time.DateTime))
	}
	filters := have.FilterSubjects
	if have.FilterSubject != "" {
		filters = append(filters, have.FilterSubject)
	}
	return checkSettings("delete the consumer", []setting{
		{"ack policy", have.AckPolicy, want.AckPolicy},
		{"limit of deliveries", have.MaxDeliver, want.MaxDeliver},
		{"filter", filters, []string{want.FilterSubject}},
		{"ack wait", min(have.AckWait, want.AckWait), want.AckWait},
	})
}
