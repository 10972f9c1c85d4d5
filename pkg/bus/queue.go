package bus

import (
	"context"
	"fmt"
	"maps"
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
	taken   chan *nats.Msg // answers to Take
	inbox   inbox

	mu     sync.Mutex
	closed bool
	// taking is the subject of the chunks that Take waits for, and takeInbox that of the status that ends its request;
	// empty if it does not run.
	taking, takeInbox string
	parked            map[string]parked // by run
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

// parked is a pull request that waits at the server.
type parked struct {
	inbox      string    // for a status
	lost       time.Time // when it counts as lost
	reconnects uint64    // of the connection before it; a new connection has no pulls
}

func newQueue(b *Bus) *Queue {
	return &Queue{
		bus: b, arrived: make(chan run.Loan, maxArrived), taken: make(chan *nats.Msg, maxArrived+1), parked: make(map[string]parked),
	}
}

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
	defer func() { err = done(err) }()
	if err := q.inbox.open(q.bus.conn, q.onAnswer); err != nil {
		return nil, err
	}
	inbox, ok := q.begin(taskSubject(name))
	if !ok {
		return nil, errClosed
	}
	defer q.endTaking()
	if err := q.bus.pull(name, inbox, pullRequest{Batch: most, NoWait: true}); err != nil {
		return nil, err
	}
	for len(messages) < most {
		select {
		case m := <-q.taken:
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

// begin has chunks with that subject go to request, unless the queue is closed. It returns the reply subject.
func (q *Queue) begin(subject string) (inbox string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taking, q.takeInbox = subject, q.inbox.next()
	return q.takeInbox, !q.closed
}

// endTaking has chunks that come too late for a request go to Parked.
func (q *Queue) endTaking() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.taking, q.takeInbox = "", ""; len(q.taken) > 0; {
		if m := <-q.taken; !isStatus(m) {
			q.arrive(m)
		}
	}
}

// onAnswer handles an answer to a request. The server sends chunks under their own subjects: while Take waits for
// chunks of a run, it gets those for which a request was parked too, and Park may leave another request.
func (q *Queue) onAnswer(m *nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if isStatus(m) {
		q.bus.logRefusal(m)
		if m.Subject == q.takeInbox && len(q.taken) < cap(q.taken) {
			q.taken <- m // never blocks: there is no other sender
		}
		maps.DeleteFunc(q.parked, func(_ string, p parked) bool { return p.inbox == m.Subject })
		return
	}
	name := strings.TrimPrefix(m.Subject, taskSubject(""))
	_, waited := q.parked[name]
	delete(q.parked, name)
	switch {
	case m.Subject == q.taking && len(q.taken) < maxArrived: // there is room for a status
		q.taken <- m
	case !q.arrive(m) && waited:
		q.park(name)
	}
}

// Park leaves a request for one chunk of a run at the server, unless there is one already.
// A message that can't be read does not end it. It ends with a chunk, which is sent to [Queue.Parked], after half a minute, and with the
// run's consumer; a caller that still wants a chunk calls Park again. Without a connection it
// does nothing.
func (q *Queue) Park(name string) {
	if queens.ValidateRun(name) != nil || q.bus.Connected() != nil || q.inbox.open(q.bus.conn, q.onAnswer) != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.park(name)
}

// park is Park; q.mu is held.
func (q *Queue) park(name string) {
	now, reconnects := time.Now(), q.bus.conn.Stats().Reconnects
	if p, ok := q.parked[name]; q.closed || ok && p.reconnects == reconnects && now.Before(p.lost) {
		return
	}
	p := parked{inbox: q.inbox.next(), lost: now.Add(parkExpiry + parkLost), reconnects: reconnects}
	if q.bus.pull(name, p.inbox, pullRequest{Batch: 1, Expires: parkExpiry}) == nil {
		q.parked[name] = p
	}
}

// Parked returns the channel of the chunks that parked requests bring, and of those that
// come too late for Take.
func (q *Queue) Parked() <-chan run.Loan { return q.arrived }

// arrive sends a chunk to Parked, and reports whether it could read it. It returns the chunk to the queue if
// nobody receives it any more. q.mu is held.
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
	q.inbox.drain(ctx)
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
