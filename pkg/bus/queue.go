package bus

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Queue is a worker's side of the task queue. It sends pull requests to the consumers of
// runs, and never looks them up or creates them: that is the coordinators' part. Its methods
// are for one goroutine; the leases of what it brings are safe everywhere.
//
// It rejects and counts messages that it cannot read.
type Queue struct {
	bus     *Bus
	arrived chan run.Loan
	// The server sends chunks under their own subjects, so only the subscription tells
	// whether they were taken or parked for.
	takes, parks inbox

	mu     sync.Mutex
	closed bool
	taking *take             // nil unless Take runs
	parked map[string]parked // by run
	// numbers are those of the consumers, by run; a run that is missing has number 0.
	numbers map[string]int
}

const (
	// retryInterval is the pause before something that failed is tried again.
	retryInterval = time.Second
	// otherVersionDelay keeps a chunk of another protocol version away from this program
	// for a while, so that a worker that can read it may take it.
	otherVersionDelay = 5 * time.Second
	// drainTimeout bounds an exchange that ends something; the server may be gone.
	drainTimeout = 500 * time.Millisecond
	// parkExpiry is how long a parked pull waits at the server. Each renewal costs the
	// server more than the wait.
	parkExpiry = 30 * time.Second
	// parkLost is how long after its expiry a parked pull counts as lost: a server that
	// fails takes its pulls with it, and says nothing.
	parkLost = 5 * time.Second
	// maxArrived bounds the chunks that wait to be received from [Queue.Parked].
	maxArrived = 1 << 10
)

// take is a call of Take. The mutex of the queue protects wanted and the sending side of
// messages, which never blocks.
type take struct {
	subject  string // of the chunks
	inbox    string // for a status
	wanted   int    // chunks that have not come yet
	messages chan *nats.Msg
}

// parked is a pull request that waits at the server.
type parked struct {
	consumer   string
	inbox      string    // for a status
	lost       time.Time // when it counts as lost
	reconnects uint64    // of the connection before it; a new connection has no pulls
}

func newQueue(b *Bus) *Queue {
	return &Queue{bus: b, arrived: make(chan run.Loan, maxArrived), parked: make(map[string]parked), numbers: make(map[string]int)}
}

// UseConsumer sets the number of the consumer to which the requests for chunks of a run go from then on, see
// [run.Beat]. It is 0 at first.
func (q *Queue) UseConsumer(name string, number int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if number == 0 {
		delete(q.numbers, name)
	} else {
		q.numbers[name] = number
	}
}

// consumer returns the name of a run's consumer. q.mu is held.
func (q *Queue) consumer(name string) string { return consumerName(name, q.numbers[name]) }

// Take returns the chunks of a run that wait now, at most that many. It does not wait for any, but goes on
// while messages come of which none can be read;
// none is no error, and neither is a missing consumer, as of a run that has ended. Without a
// connection, and if the server does not answer, it returns an error; [Queue.Parked] brings
// what comes after that.
func (q *Queue) Take(ctx context.Context, name string, most int) ([]run.Loan, error) {
	if most = min(most, maxArrived); most < 1 {
		return nil, nil
	}
	if err := queens.ValidateRun(name); err != nil {
		return nil, err
	}
	if err := q.bus.Connected(); err != nil {
		return nil, err
	}
	for {
		messages, err := q.request(ctx, name, most)
		var loans []run.Loan
		for _, m := range messages {
			if loan, ok := q.bus.readChunk(m); ok {
				loans = append(loans, loan)
			}
		}
		switch {
		case err != nil && len(loans) == 0:
			return nil, fmt.Errorf("take chunks of run %s: %w", name, err)
		case len(loans) > 0 || len(messages) == 0:
			return loans, nil
		}
	}
}

// request asks for messages that wait now, and returns those that came, also after an error.
func (q *Queue) request(ctx context.Context, name string, most int) (messages []*nats.Msg, err error) {
	ctx, done := q.bus.request(ctx)
	t, err := q.beginTake(name, most)
	if err == nil {
		messages, err = t.receive(ctx, most)
		messages = append(messages, q.endTake(t)...)
	}
	return messages, done(err)
}

// beginTake sends the request.
func (q *Queue) beginTake(name string, most int) (*take, error) {
	if err := q.takes.open(q.bus.conn, q.onTaken); err != nil {
		return nil, err
	}
	t := &take{subject: taskSubject(name), inbox: q.takes.next(), wanted: most, messages: make(chan *nats.Msg, most+1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errClosed
	}
	if err := q.bus.pull(q.consumer(name), t.inbox, pullRequest{Batch: most, NoWait: true}); err != nil {
		return nil, err
	}
	q.taking = t
	return t, nil
}

// receive receives messages until there are that many, or a status ends the request.
func (t *take) receive(ctx context.Context, most int) (messages []*nats.Msg, err error) {
	for len(messages) < most {
		select {
		case m := <-t.messages:
			if isStatus(m) {
				return messages, nil
			}
			messages = append(messages, m)
		case <-ctx.Done():
			return messages, ctx.Err()
		}
	}
	return messages, nil
}

// endTake ends a request, and returns the chunks that came in the meantime.
func (q *Queue) endTake(t *take) (messages []*nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taking = nil
	for {
		select {
		case m := <-t.messages:
			if !isStatus(m) {
				messages = append(messages, m)
			}
		default:
			return messages
		}
	}
}

// onTaken handles the answers to Take.
func (q *Queue) onTaken(m *nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.taking
	switch {
	case isStatus(m):
		q.bus.logRefusal(m)
		if t != nil && t.inbox == m.Subject && len(t.messages) < cap(t.messages) {
			t.messages <- m
		}
	case t != nil && t.subject == m.Subject && t.wanted > 0:
		t.wanted--
		t.messages <- m
	default: // for an earlier call
		q.arrive(m)
	}
}

// Park leaves a request for one chunk of a run at the server, unless there is one already.
// A message that can't be read does not end it. It ends with a chunk, which is sent to [Queue.Parked], after half a minute, and with the
// run's consumer; a caller that still wants a chunk calls Park again. Without a connection it
// does nothing.
func (q *Queue) Park(name string) {
	if queens.ValidateRun(name) != nil || q.bus.Connected() != nil || q.parks.open(q.bus.conn, q.onParked) != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.park(name)
}

// park is Park; q.mu is held.
func (q *Queue) park(name string) {
	now, reconnects, consumer := time.Now(), q.bus.conn.Stats().Reconnects, q.consumer(name)
	if p, ok := q.parked[name]; q.closed || ok && p.reconnects == reconnects && p.consumer == consumer && now.Before(p.lost) {
		return
	}
	p := parked{consumer: consumer, inbox: q.parks.next(), lost: now.Add(parkExpiry + parkLost), reconnects: reconnects}
	if q.bus.pull(consumer, p.inbox, pullRequest{Batch: 1, Expires: parkExpiry}) == nil {
		q.parked[name] = p
	}
}

// Parked returns the channel of the chunks that parked requests bring, and of those that
// come too late for Take.
func (q *Queue) Parked() <-chan run.Loan { return q.arrived }

// onParked handles the answers to parked requests.
func (q *Queue) onParked(m *nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !isStatus(m) {
		name := strings.TrimPrefix(m.Subject, taskSubject(""))
		_, waited := q.parked[name]
		delete(q.parked, name)
		if !q.arrive(m) && waited {
			q.park(name)
		}
		return
	}
	q.bus.logRefusal(m)
	for name, p := range q.parked {
		if p.inbox == m.Subject {
			delete(q.parked, name)
		}
	}
}

// arrive sends a chunk to Parked, and reports whether it could read it. It returns the chunk to the queue if
// nobody receives it any more.
func (q *Queue) arrive(m *nats.Msg) (readable bool) {
	loan, ok := q.bus.readChunk(m)
	if !ok {
		return false
	}
	if !q.closed {
		select {
		case q.arrived <- loan:
			return true
		default:
		}
	}
	_ = loan.Lease.Release() // if this fails, the lease lapses
	return true
}

// Close ends all requests and returns to the queue the chunks that the server had already
// sent, so that no other worker has to wait until their leases lapse. The queue must not be
// used after that.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	q.takes.drain(ctx)
	q.parks.drain(ctx)
	for {
		select {
		case loan := <-q.arrived:
			_ = loan.Lease.Release() // if this fails, the lease lapses
		default:
			q.bus.flush(drainTimeout)
			return
		}
	}
}
