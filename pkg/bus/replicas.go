package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrReplicas says that the server can't keep as many replicas as the configuration asks for.
var ErrReplicas = errors.New("the server can't keep that many replicas")

// The server's error codes for a server without a cluster, and for a cluster without enough
// servers that have JetStream and can be reached.
const (
	errCodeNotClustered jetstream.ErrorCode = 10074
	errCodeNoPeers      jetstream.ErrorCode = 10005
)

// replicas returns how many servers are to keep what this connection creates.
func (b *Bus) replicas() int { return max(b.cfg.Replicas, 1) }

// replicasError explains that the server refused that many replicas. It returns other errors as
// they are.
func replicasError(err error, replicas int) error {
	switch {
	case replicas <= 1:
	case hasCode(err, errCodeNotClustered):
		return fmt.Errorf("%w: it is no cluster, and %d replicas need one of %[2]d servers with JetStream at least: %w",
			ErrReplicas, replicas, err)
	case hasCode(err, errCodeNoPeers):
		return fmt.Errorf("%w: %d replicas need %[2]d servers with JetStream that can be reached: start more: %w",
			ErrReplicas, replicas, err)
	}
	return err
}

// createStream creates a stream. Unless it is strict, the stream has one replica if the servers
// that can be reached are too few for all of them. That of tasks has a lower limit if the server has
// too little room.
func (b *Bus) createStream(ctx context.Context, want jetstream.StreamConfig, strict bool) (jetstream.Stream, error) {
	stream, err := ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.CreateStream(ctx, want) })
	if err = replicasError(err, want.Replicas); errors.Is(err, ErrReplicas) && !strict {
		want.Replicas = 1
		return b.createStream(ctx, want, strict)
	}
	if want.Name == tasksStream && want.MaxBytes > minTaskBytes && hasCode(err, errCodeNoStorage) {
		want.MaxBytes /= 2
		return b.createStream(ctx, want, strict)
	}
	return stream, err
}

// raise raises the number of replicas of an existing stream if it is too low. Unless it is strict, it is no error
// that this fails. It never lowers the number.
func (b *Bus) raise(ctx context.Context, stream jetstream.Stream, strict bool) (jetstream.Stream, error) {
	have := stream.CachedInfo().Config
	raised := have
	raised.Replicas = max(have.Replicas, b.replicas())
	if strict && b.cfg.Replicas > 0 && have.Replicas > b.cfg.Replicas {
		b.log.Info().Str("stream", have.Name).Int("asked", b.cfg.Replicas).Int("replicas", have.Replicas).
			Msg("the stream keeps its replicas, which are more than asked for")
	}
	if raised.Replicas == have.Replicas {
		return stream, nil
	}
	updated, err := ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.UpdateStream(ctx, raised) })
	switch err = replicasError(err, raised.Replicas); {
	case err != nil && !strict:
		return stream, nil
	case err != nil:
		return nil, err
	}
	b.log.Info().Str("stream", have.Name).Int("before", have.Replicas).Int("replicas", raised.Replicas).
		Msg("more servers keep the stream now")
	return updated, nil
}
