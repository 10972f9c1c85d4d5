package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
)

// ErrNoCoordinator says that no coordinator of the run is connected to the server.
var ErrNoCoordinator = errors.New("no coordinator of the run answers")

// RequestWork sends a work request, with the present connection in it, and waits for the reply, for
// up to 7 s. The error wraps [ErrNoCoordinator] if nobody receives requests for the run, and a
// [VersionError] if the coordinator has another version.
func (b *Bus) RequestWork(
	ctx context.Context, run string, from queens.Process, r *queens.WorkRequest,
) (reply *queens.WorkReply, err error) {
	encode := func(r *queens.WorkRequest) ([]byte, error) {
		sent := *r
		sent.Connection = b.number()
		return EncodeRequest(&sent)
	}
	return request(ctx, b, workSubject(run, from), r, encode, DecodeWorkReply)
}

// Deliver sends results and waits for the receipts, for up to 7 s. Its errors are like those of
// [Bus.RequestWork].
func (b *Bus) Deliver(
	ctx context.Context, run string, from queens.Process, d *queens.Delivery,
) (*queens.DeliveryReply, error) {
	return request(ctx, b, workSubject(run, from), d, EncodeDelivery, DecodeDeliveryReply)
}

// Status asks the coordinator of a run for a snapshot, and waits for it for up to 7 s. Its errors
// are like those of [Bus.RequestWork].
func (b *Bus) Status(ctx context.Context, run string) (*queens.Snapshot, error) {
	empty := func(*struct{}) ([]byte, error) { return nil, nil }
	decode := func(data []byte) (*queens.Snapshot, error) { return DecodeSnapshot(run, data) }
	return request(ctx, b, statusSubject(run, b.User()), nil, empty, decode)
}

// request encodes and sends a request, and decodes its reply. It does not wait for a login under
// way.
func request[M, T any](
	ctx context.Context, b *Bus, subject string, m *M, encode func(*M) ([]byte, error),
	decode func([]byte) (*T, error),
) (*T, error) {
	if !b.Connected() {
		return nil, fmt.Errorf("%s: %w", subject, errNoConnection)
	}
	data, err := encode(m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queens.LongestReply)
	defer cancel()
	answer, err := b.requestRaw(ctx, subject, data)
	if errors.Is(err, nats.ErrNoResponders) {
		err = ErrNoCoordinator
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject, err)
	}
	reply, err := decode(answer)
	if err != nil {
		err = fmt.Errorf("the reply on %s: %w", subject, err)
		b.warnOnce("reply "+err.Error(), err, "a coordinator can't be understood")
	}
	return reply, err
}

// requestRaw sends a request and returns its reply.
func (b *Bus) requestRaw(ctx context.Context, subject string, data []byte) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		// if ctx ends during a login, this waits for the end of the login
		m, err := b.conn.RequestWithContext(ctx, subject, data)
		if err != nil {
			answers <- answer{err: err}
			return
		}
		answers <- answer{data: m.Data}
	}()
	select {
	case a := <-answers:
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
