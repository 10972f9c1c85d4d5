package bus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/backoff"
)

// requestTimeout bounds each request to the server. A request that permissions deny gets
// no answer at all.
const requestTimeout = 5 * time.Second

// maxRequestTimeout bounds each request to a server that has been slow to answer.
const maxRequestTimeout = 8 * requestTimeout

// adaptiveTimeout is the timeout of the requests that all processes make all the time. It
// doubles when the server does not answer in time, and halves when it answers in less than
// half the time. With a fixed timeout, the processes would repeat requests that an
// overloaded server has not handled yet, and so keep it overloaded. The zero value begins
// with requestTimeout.
type adaptiveTimeout struct {
	extra atomic.Int64 // beyond requestTimeout
}

func (a *adaptiveTimeout) current() time.Duration {
	return requestTimeout + time.Duration(a.extra.Load())
}

// set changes the timeout, unless another request has changed it since.
func (a *adaptiveTimeout) set(before, after time.Duration) {
	after = min(max(after, requestTimeout), maxRequestTimeout)
	a.extra.CompareAndSwap(int64(before-requestTimeout), int64(after-requestTimeout))
}

// answered notes that the server answered a request with that timeout.
func (a *adaptiveTimeout) answered(timeout, took time.Duration) {
	if took < timeout/2 {
		a.set(timeout, timeout/2)
	}
}

// expired notes that the server did not answer a request with that timeout.
func (a *adaptiveTimeout) expired(timeout time.Duration) { a.set(timeout, 2*timeout) }

// errDisconnected says that the answer to a request can't be expected any more: the connection over
// which it was sent has ended.
var errDisconnected = errors.New("the connection was lost before the answer came")

// lifetime is that of one connection to one server. Its cause says why requests end with it: the server has refused
// something for good, or errDisconnected.
type lifetime struct {
	context.Context
	end context.CancelCauseFunc
}

// beginLifetime ends the requests that were sent over the last connection.
func (b *Bus) beginLifetime() {
	ctx, end := context.WithCancelCause(b.permitted)
	if last := b.lifetime.Swap(&lifetime{ctx, end}); last != nil {
		last.end(errDisconnected)
	}
}

// request returns the context of a request to the server, bounded by the adaptive timeout and by the
// lifetime of the connection. A request that is made without a connection is sent over the next one.
// The caller calls done once, with the error of the request; done returns it with a hint.
func (b *Bus) request(parent context.Context) (ctx context.Context, done func(error) error) {
	timeout, start, connection := b.timeout.current(), time.Now(), b.lifetime.Load()
	ctx, cancel := context.WithTimeout(parent, timeout)
	release := context.AfterFunc(connection, cancel)
	return ctx, func(err error) error {
		release()
		cancel()
		switch {
		case parent.Err() != nil: // says nothing of the server
			return err
		case errors.Is(err, context.Canceled) && connection.Err() != nil:
			return context.Cause(connection)
		case errors.Is(err, context.DeadlineExceeded) && b.conn != nil && !b.conn.IsConnected():
			return fmt.Errorf("%w: %w", b.Connected(), err) // that says nothing of the server either
		case errors.Is(err, context.DeadlineExceeded):
			b.timeout.expired(timeout)
			return fmt.Errorf("no answer within %v, the server is busy or does not permit it: %w", timeout, err)
		}
		b.timeout.answered(timeout, time.Since(start))
		if errors.Is(err, nats.ErrNoResponders) && b.isClustered() {
			return fmt.Errorf("the cluster has no leader for it at the moment, or no JetStream: %w", err)
		}
		return withHint(err)
	}
}

// ask makes one request to the server, bounded by the adaptive timeout.
func ask[T any](ctx context.Context, b *Bus, request func(ctx context.Context) (T, error)) (T, error) {
	ctx, done := b.request(ctx)
	answer, err := request(ctx)
	return answer, done(err)
}

// The server's error codes for requests that a cluster cannot handle at the moment.
const (
	errCodeIncomplete   jetstream.ErrorCode = 10004
	errCodeNotAvailable jetstream.ErrorCode = 10008
	errCodeNotLeader    jetstream.ErrorCode = 10009
)

// settleTimeout bounds how long a request waits for a cluster to choose a leader, which takes some
// five seconds, or to copy a stream to more servers.
const settleTimeout = 30 * time.Second

// untilSettled makes a request, and repeats it while a cluster chooses a leader. A single server
// has nothing to choose: its first answer is the last. A cluster is not ready for long if a server died
// before another one, which had just returned, had caught up: then what they kept has no majority.
func (b *Bus) untilSettled(ctx context.Context, request func() error) error {
	deadline, clustered := time.Now().Add(settleTimeout), false
	for retry := (backoff.Backoff{Least: retryInterval / 4, Most: 2 * retryInterval}); ; {
		clustered = clustered || b.isClustered() // which is not known while the connection is lost
		err := request()
		if err == nil || !clustered || !isUnsettled(err) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the cluster was not ready for %v: start its servers that are away: %w", settleTimeout, err)
		}
		if b.limiter.Allow("settle") {
			b.log.Warn().Err(err).Msg("the cluster is not ready, trying again")
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retry.Pause()):
		}
	}
}

// isClustered reports whether the connection is to a server of a cluster.
func (b *Bus) isClustered() bool { return b.conn.ConnectedClusterName() != "" }

// isUnsettled reports whether a server of a cluster may answer with that error while the cluster
// has no leader, or moves a stream.
func isUnsettled(err error) bool {
	return hasCode(err, errCodeIncomplete, errCodeNotAvailable, errCodeNotLeader, errCodeNoResources) || errors.Is(err, errDisconnected) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
