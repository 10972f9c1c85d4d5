package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/backoff"
)

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
