package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumerConfig returns the consumer of a run with that number. It sets what the defaults would limit:
// redeliveries (a limit would leave a chunk stuck), unacknowledged chunks (it would cap the
// number of workers), and waiting pull requests, one a worker, which cannot be raised later.
func (b *Bus) consumerConfig(run string, number int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName(run, number),
		Description:   consumerDescription,
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

// consumerDescription tells the consumers of this program from those of others.
const consumerDescription = "shared by all workers, for one run"

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

// consumerNumbers are the numbers of the consumers of runs. Its zero value has number 0 for each run.
type consumerNumbers struct {
	mu    sync.Mutex
	byRun map[string]int
}

func (c *consumerNumbers) number(run string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byRun[run]
}

func (c *consumerNumbers) set(run string, number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRun == nil {
		c.byRun = make(map[string]int)
	}
	c.byRun[run] = number
}

// ensureConsumer creates the consumer of a run if it is missing, and checks it otherwise. Unless it is
// strict, as before the run starts, it says so: the consumer was deleted, if it was in use until then. It
// gives another number to the consumer if the server can't make it with that number, or does not answer for
// stuckAfter although the stream does.
func (b *Bus) ensureConsumer(ctx context.Context, stream jetstream.Stream, run string, strict bool) error {
	number := b.consumers.number(run)
	want := b.consumerConfig(run, number)
	consumer, err := ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.Consumer(ctx, want.Durable) })
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = b.createConsumer(ctx, stream, run)
		if unused := time.Since(time.Unix(0, b.consumerUsedAt.Load())); err == nil && !strict && unused < want.InactiveThreshold {
			b.logMadeAgain("consumer " + consumer.CachedInfo().Name + " of stream " + tasksStream)
		}
	}
	broken := b.isOutage(err) && !hasCode(err, errCodeUnfiltered, errCodeNotUnique)
	if silent := b.outages.note("consumer of run "+run, broken); silent > b.outages.stuckAfter() {
		b.outages.note("consumer of run "+run, false)
		err = b.replaceConsumer(ctx, stream, run, number, err)
	}
	if err == nil && consumer != nil {
		info := consumer.CachedInfo()
		if strict || info.NumAckPending > 0 {
			b.consumerUsedAt.Store(time.Now().UnixNano())
		}
		if err = checkConsumer(&info.Config, &want); err == nil {
			err = b.checkDelivery(ctx, stream, run, info)
		}
	}
	if err != nil {
		return &partError{TasksPart, fmt.Errorf("consumer %s of stream %s: %w", consumerName(run, b.consumers.number(run)), tasksStream, err)}
	}
	return nil
}

// checkDelivery looks for a consumer that does not deliver the chunks that the stream has, as after some servers
// of a cluster have forgotten a part of it. If the consumer has delivered more than the stream ever had, it skips
// what comes: it is deleted, and made again soon. If workers wait and nobody holds a chunk, see noteStarving.
func (b *Bus) checkDelivery(ctx context.Context, stream jetstream.Stream, run string, info *jetstream.ConsumerInfo) error {
	state := &stream.CachedInfo().State
	if info.NumAckPending > 0 || state.Msgs == 0 {
		b.noteDelivers(run)
	}
	starving := info.NumAckPending == 0 && info.NumWaiting > 0 && state.Msgs > 0
	if info.Delivered.Stream <= state.LastSeq && !starving {
		return nil // perhaps nobody waits just now
	}
	now, err := ask(ctx, b, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return stream.Info(ctx, jetstream.WithSubjectFilter(taskSubject(run)))
	})
	if err != nil {
		return err
	}
	if starving && now.State.Subjects[taskSubject(run)] > 0 {
		if err := b.noteStarving(ctx, stream, run); err != nil {
			return err
		}
	} else if starving {
		b.noteDelivers(run)
	}
	if info.Delivered.Stream <= now.State.LastSeq {
		return nil
	}
	b.log.Warn().Str("run", run).Str("consumer", info.Name).Uint64("delivered", info.Delivered.Stream).Uint64("last", now.State.LastSeq).
		Msg("the server has lost the end of the stream of tasks, and the consumer of the run skips new ones: making it again")
	return b.deleteConsumer(ctx, info.Name)
}

// noteStarving notes that workers wait for chunks of a run that the stream has, and nobody holds one: the
// consumer is broken, or a replica of the stream does not follow the others. After stuckAfter it replaces the
// consumer. If that does not help for another stuckAfter, heal makes the stream again.
func (b *Bus) noteStarving(ctx context.Context, stream jetstream.Stream, run string) error {
	replaced := b.outages.isUnderWay(deliveredTasks)
	if !replaced && b.outages.note(deliveredBy(run), true) <= b.outages.stuckAfter() {
		return nil
	}
	b.outages.note(deliveredTasks, true)
	if replaced {
		return nil
	}
	b.outages.note(deliveredBy(run), false)
	return b.replaceConsumer(ctx, stream, run, b.consumers.number(run), errStarving)
}

// errStarving is why a consumer is replaced.
var errStarving = errors.New("workers wait, and it delivers none of the chunks that the stream has")

// noteDelivers notes that the consumer has delivered, or that no worker waits for a chunk.
func (b *Bus) noteDelivers(run string) {
	b.outages.note(deliveredBy(run), false)
	b.outages.note(deliveredTasks, false)
}

// deliveredBy names the outage of a consumer that delivers nothing.
func deliveredBy(run string) string { return "delivering to the workers of run " + run }

// listConsumers returns the consumers of a stream.
func (b *Bus) listConsumers(ctx context.Context, stream jetstream.Stream) ([]*jetstream.ConsumerInfo, error) {
	return ask(ctx, b, func(ctx context.Context) (list []*jetstream.ConsumerInfo, err error) {
		lister := stream.ListConsumers(ctx)
		for info := range lister.Info() {
			list = append(list, info)
		}
		return list, lister.Err()
	})
}

// deleteConsumer deletes a consumer of the stream of tasks. What does not exist is no error.
func (b *Bus) deleteConsumer(ctx context.Context, name string) error {
	b.lastTaken.Store(nil)
	ctx, done := b.request(ctx)
	err := done(b.js.DeleteConsumer(ctx, tasksStream, name))
	if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return fmt.Errorf("delete consumer %s of stream %s: %w", name, tasksStream, err)
}

// removeConsumers deletes all consumers of a run: the one with number 0, and the one that replaced it.
func (b *Bus) removeConsumers(ctx context.Context, run string) error {
	err := b.deleteConsumer(ctx, consumerName(run, 0))
	stream, failed := ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, tasksStream) })
	if errors.Is(failed, jetstream.ErrStreamNotFound) {
		return err
	}
	var names []string
	if failed == nil {
		names, failed = ask(ctx, b, func(ctx context.Context) (names []string, err error) {
			lister := stream.ConsumerNames(ctx)
			for name := range lister.Name() {
				names = append(names, name)
			}
			return names, lister.Err()
		})
	}
	if failed != nil {
		return errors.Join(err, fmt.Errorf("consumers of stream %s: %w", tasksStream, failed))
	}
	for _, name := range names {
		if number, ok := consumerNumber(name, run); ok && number > 0 {
			err = errors.Join(err, b.deleteConsumer(ctx, name))
		}
	}
	return err
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
