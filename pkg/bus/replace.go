package bus

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/run"
)

// This file chooses the numbers of the consumers of runs, see consumerName.

// maxReplaced bounds how many consumers createConsumer tries to make.
const maxReplaced = 4

// createConsumer creates the consumer of a run, and chooses its number: the server refuses one whose damaged
// files it has, and a second one for the same chunks.
func (b *Bus) createConsumer(ctx context.Context, stream jetstream.Stream, run string) (consumer jetstream.Consumer, err error) {
	for range maxReplaced {
		number := b.consumers.number(run)
		want := b.consumerConfig(run, number)
		b.lastTaken.Store(nil) // it says nothing of a new consumer
		consumer, err = ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.CreateConsumer(ctx, want) })
		switch {
		case hasCode(err, errCodeUnfiltered, errCodeNotUnique):
			if err := b.giveWay(ctx, stream, run, err); err != nil {
				return nil, err
			}
		case hasCode(err, errCodeConsumerFiles, errCodeConsumerStore):
			if err := b.replaceConsumer(ctx, stream, run, number, err); err != nil {
				return nil, err
			}
		default:
			return consumer, err
		}
	}
	return nil, err
}

// replaceConsumer deletes a run's consumer, of which the server may know, and gives the next one another number.
// It returns an error with the reason, and leaves the number, if the server can make no other consumer either.
func (b *Bus) replaceConsumer(ctx context.Context, stream jetstream.Stream, run string, number int, reason error) error {
	if number >= maxNumber {
		return reason
	}
	if err := b.canMakeConsumers(ctx, stream); err != nil {
		b.log.Debug().Err(err).Msg("the server can't make a consumer")
		return fmt.Errorf("the server can make no other consumer either, its disk may be full, or its files can't be written: %w", reason)
	}
	_ = b.deleteConsumer(ctx, consumerName(run, number)) // it may be known to the server or not
	b.consumers.set(run, number+1)
	if b.limiter.Allow("replaced consumer of run " + run) {
		b.log.Warn().Err(reason).Str("run", run).Str("consumer", consumerName(run, number+1)).
			Msg("the server can't make the consumer of the run, or it does not work: its files may be damaged, or its disk may be full; workers take chunks from another one")
	}
	return nil
}

// canMakeConsumers returns why the server can't make a consumer of the stream of tasks, or nil if it can: it
// makes one that has no chunks, and deletes it.
func (b *Bus) canMakeConsumers(ctx context.Context, stream jetstream.Stream) error {
	name := probePrefix + rand.Text()
	cfg := jetstream.ConsumerConfig{
		Durable: name, Description: "shows whether the server can make a consumer", FilterSubject: taskSubject(name),
		AckPolicy: jetstream.AckExplicitPolicy, InactiveThreshold: time.Minute,
	}
	_, err := ask(ctx, b, func(ctx context.Context) (jetstream.Consumer, error) { return stream.CreateConsumer(ctx, cfg) })
	if failed := b.deleteConsumer(ctx, name); failed != nil {
		b.log.Debug().Err(failed).Msg("can't delete a probe consumer")
	}
	return err
}

// maxNumber bounds the numbers of consumers.
const maxNumber = run.MaxConsumer

// giveWay handles another consumer that has the run's chunks, which is why the server refused one: it uses
// one of the same run with another number, as of an earlier coordinator, and deletes one of this program with
// the name of another run, whose configuration is damaged. It returns an error for any other.
func (b *Bus) giveWay(ctx context.Context, stream jetstream.Stream, run string, refused error) error {
	others, err := b.listConsumers(ctx, stream)
	if err != nil {
		return err
	}
	for _, info := range others {
		if info.Config.FilterSubject != taskSubject(run) {
			continue
		}
		if number, ok := consumerNumber(info.Name, run); ok {
			b.consumers.set(run, number)
			return nil
		}
		if info.Config.Description == consumerDescription {
			b.log.Warn().Str("run", run).Str("consumer", info.Name).Msg("deleting a consumer that has the chunks of another run: its configuration is damaged")
			return b.deleteConsumer(ctx, info.Name)
		}
	}
	return fmt.Errorf("another consumer receives its messages: delete that consumer, or use another server: %w", refused)
}
