package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
)

// requestTimeout is how long a request waits for its reply. A coordinator keeps a work request for up to 5 s.
const requestTimeout = 7 * time.Second

// ErrNoCoordinator says that no coordinator of the run is connected to the server.
var ErrNoCoordinator = errors.New("no coordinator of the run answers")

// RequestWork sends a work request and waits for the reply, for up to 7 s. The error wraps [ErrNoCoordinator] if nobody
// could have received it, and a [VersionError] if the coordinator has another version.
func (b *Bus) RequestWork(ctx context.Context, run string, from queens.Process, r *queens.WorkRequest) (*queens.WorkReply, error) {
	return request(ctx, b, workSubject(run, from), DecodeWorkReply)(EncodeRequest(r))
}

// Deliver sends results and waits for the receipts, for up to 7 s. Errors are as those of [Bus.RequestWork].
func (b *Bus) Deliver(ctx context.Context, run string, from queens.Process, d *queens.Delivery) (*queens.DeliveryReply, error) {
	return request(ctx, b, workSubject(run, from), DecodeDeliveryReply)(EncodeDelivery(d))
}

// Status returns the snapshot of a run, from its coordinator. It waits for up to 7 s. Errors are as those of
// [Bus.RequestWork].
func (b *Bus) Status(ctx context.Context, run string) (*queens.Snapshot, error) {
	return request(ctx, b, statusSubject(run), func(data []byte) (*queens.Snapshot, error) { return DecodeSnapshot(run, data) })(nil, nil)
}

// request returns the function that sends an encoded request and decodes its reply.
func request[T any](ctx context.Context, b *Bus, subject string, decode func([]byte) (T, error)) func(data []byte, err error) (T, error) {
	return func(data []byte, err error) (reply T, _ error) {
		if err != nil {
			return reply, err
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		m, err := b.conn.RequestWithContext(ctx, subject, data)
		if errors.Is(err, nats.ErrNoResponders) {
			err = ErrNoCoordinator
		}
		if err != nil {
			return reply, fmt.Errorf("%s: %w", subject, err)
		}
		if reply, err = decode(m.Data); err != nil {
			err = fmt.Errorf("the reply on %s: %w", subject, err)
			b.warnOnce("reply "+err.Error(), err, "a coordinator can't be understood")
		}
		return reply, err
	}
}
