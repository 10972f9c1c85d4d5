package coordinator

import (
	"context"
	"errors"
	"sync"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
)

// sender is a worker that awaits the reply to a message.
type sender interface {
	sendReply(r *queens.WorkReply) error
	sendReceipts(r *queens.DeliveryReply) error
}

// remote is a worker on the server. It has the function that sends it an encoded reply.
type remote func(data []byte) error

func (r remote) sendReply(reply *queens.WorkReply) error {
	return r.send(bus.EncodeWorkReply(reply))
}

func (r remote) sendReceipts(reply *queens.DeliveryReply) error {
	return r.send(bus.EncodeDeliveryReply(reply))
}

func (r remote) send(data []byte, err error) error {
	if err == nil {
		err = r(data)
	}
	return err
}

// local is a worker in this process that awaits a reply of one of two kinds.
type local struct {
	replies  chan *queens.WorkReply
	receipts chan *queens.DeliveryReply
}

func newLocal() local {
	return local{make(chan *queens.WorkReply, 1), make(chan *queens.DeliveryReply, 1)}
}

func (l local) sendReply(reply *queens.WorkReply) error {
	l.replies <- reply // has room: a message has one reply
	return nil
}

func (l local) sendReceipts(reply *queens.DeliveryReply) error {
	l.receipts <- reply
	return nil
}

// Local connects a worker of this process to a coordinator without a server: nobody else can speak
// in its name, and it goes on while there is no server. A worker of package worker takes it as its
// transport.
type Local struct{ coordinator *Coordinator }

// listener gives the announcements of a coordinator to the worker of this process. It holds its
// lock while it calls hear: calls do not overlap, and none is made after listen has replaced hear.
type listener struct {
	lock sync.Mutex
	hear func(queens.Announcement) // nil while the worker does not listen
	last *queens.Announcement      // nil before the first
}

// tell gives the listener an announcement.
func (l *listener) tell(a queens.Announcement) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.last = &a
	if l.hear != nil {
		l.hear(a)
	}
}

// listen replaces the function that hears announcements, and calls the new one with the last
// announcement.
func (l *listener) listen(hear func(queens.Announcement)) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.hear = hear
	if l.hear != nil && l.last != nil {
		l.hear(*l.last)
	}
}

// errNoReply says that a coordinator has not replied.
var errNoReply = errors.New("the coordinator of this process does not reply")

// Local returns the connection of the worker of this process. Its user must be
// [queens.CoordinatorUser].
func (s *Coordinator) Local() *Local { return &Local{s} }

// Announcements calls hear at once with the last announcement of this coordinator, if there is one,
// and then with those that follow, until stop is called.
func (l *Local) Announcements(hear func(queens.Announcement)) (stop func(), err error) {
	l.coordinator.listener.listen(hear)
	return func() { l.coordinator.listener.listen(nil) }, nil
}

// RequestWork gives a work request to the coordinator and waits for the reply, for up to 7 s.
func (l *Local) RequestWork(
	ctx context.Context, _ string, from queens.Process, r *queens.WorkRequest,
) (*queens.WorkReply, error) {
	to, awaits := l.coordinator, newLocal()
	to.jobs.put(func(at *station) {
		request := at.request(from, *r, awaits)
		to.inputs.put(func(now time.Duration) { to.core.WorkRequested(now, request) })
	})
	return await(ctx, to.ctx, awaits.replies)
}

// Deliver gives results to the coordinator and waits for the receipts, for up to 7 s.
func (l *Local) Deliver(
	ctx context.Context, _ string, from queens.Process, d *queens.Delivery,
) (*queens.DeliveryReply, error) {
	to, awaits := l.coordinator, newLocal()
	to.jobs.put(func(at *station) {
		delivery := at.delivery(from, *d, awaits)
		to.inputs.put(func(now time.Duration) { to.core.Delivered(now, delivery) })
	})
	return await(ctx, to.ctx, awaits.receipts)
}

// await returns the reply, unless a context ends before, or it takes too long.
func await[T any](ctx, coordinator context.Context, replies chan *T) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, queens.LongestReply)
	defer cancel()
	select {
	case reply := <-replies:
		return reply, nil
	case <-coordinator.Done():
	case <-ctx.Done():
	}
	return nil, errNoReply
}
