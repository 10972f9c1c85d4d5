package memory

import (
	"context"
	"sync"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

const (
	// parkExpiry is how long a request waits at the server.
	parkExpiry = 30 * time.Second
	// parkLost is how long after its expiry a request counts as lost by its queue.
	parkLost = 5 * time.Second
	// maxArrived bounds the chunks that wait to be received from [Queue.Parked].
	maxArrived = 1 << 10
)

// Queue is a worker's side of the queue of chunks. Its methods are for one goroutine; leases are safe
// everywhere.
type Queue struct {
	bus     *Bus
	arrived chan run.Loan
	ended   bool // it was closed; the mutex of the server protects it

	mu     sync.Mutex
	closed bool
	parked map[string]parked // by run
}

// parked is a request that waits at the server, as far as the queue knows.
type parked struct {
	pull     *pull
	lost     time.Time
	absences int // of the server before it
}

// Queue returns a worker's side of the queue of chunks.
func (b *Bus) Queue() *Queue {
	return &Queue{bus: b, arrived: make(chan run.Loan, maxArrived), parked: make(map[string]parked)}
}

// Take returns the chunks of a run that wait now, at most that many. If it fails, [Queue.Parked] brings
// those that come later.
func (q *Queue) Take(ctx context.Context, name string, most int) ([]run.Loan, error) {
	if most < 1 {
		return nil, nil
	}
	if err := queens.ValidateRun(name); err != nil {
		return nil, err
	}
	if q.isClosed() {
		return nil, errClosed
	}
	s := q.bus.server
	var loans []loan
	err := q.bus.request(ctx, func() error {
		loans = s.takeUpTo(name, most)
		return nil
	})
	if err != nil {
		for _, l := range loans {
			q.arrive(l, nil)
		}
		return nil, err
	}
	var list []run.Loan
	for _, l := range loans {
		list = append(list, q.lent(l))
	}
	return list, nil
}

// takeUpTo delivers chunks of a run, and loses some. s.mu is held.
func (s *Server) takeUpTo(name string, most int) (loans []loan) {
	if s.state.tasks == nil || s.state.tasks.consumers[name] == nil {
		return nil
	}
	for range most {
		next, ok := s.next(s.state.tasks.consumers[name])
		if !ok {
			break
		}
		if !s.hit(s.faults.LostMessage) {
			loans = append(loans, next)
		}
	}
	return loans
}

func (q *Queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// lent returns a chunk that has arrived, as workers see it.
func (q *Queue) lent(l loan) run.Loan {
	l.bus = q.bus
	return run.Loan{Chunk: l.chunk, Lease: l.lease, Queued: l.queued}
}

// Park leaves a request for one chunk of a run at the server, unless one is there already. It ends with a
// chunk, after half a minute, and when the server was away or has lost the run's consumer.
func (q *Queue) Park(name string) {
	if queens.ValidateRun(name) != nil || q.isClosed() {
		return
	}
	s := q.bus.server
	s.mu.Lock()
	absences, away := s.absences, q.bus.reach() != nil
	s.mu.Unlock()
	now := time.Now()
	q.mu.Lock()
	p, waits := q.parked[name]
	if away || waits && p.absences == absences && now.Before(p.lost) {
		q.mu.Unlock()
		return
	}
	p = parked{pull: &pull{queue: q, run: name, expires: now.Add(parkExpiry)}, lost: now.Add(parkExpiry + parkLost), absences: absences}
	q.parked[name] = p
	q.mu.Unlock()
	_ = q.bus.send(func() { s.park(p.pull) }) // a request that is lost is repeated later
}

// park has a request wait. s.mu is held.
func (s *Server) park(p *pull) {
	var c *consumer
	if s.state.tasks != nil {
		c = s.state.tasks.consumers[p.run]
	}
	if c == nil || p.queue.bus.closed || p.queue.ended {
		time.AfterFunc(latency, func() { p.queue.forget(p) })
		return
	}
	c.pulls = append(c.pulls, p)
	s.serve(c)
	time.AfterFunc(time.Until(p.expires), func() { p.queue.forget(p) })
}

// forget forgets a request that has ended.
func (q *Queue) forget(p *pull) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.parked[p.run].pull == p {
		delete(q.parked, p.run)
	}
}

// Parked returns the channel of the chunks that parked requests bring, and of those that come too late for
// Take.
func (q *Queue) Parked() <-chan run.Loan { return q.arrived }

// arrive sends a chunk to Parked, and returns it to the queue if nobody receives it any more. The request
// that brought it has ended; it may be nil.
func (q *Queue) arrive(l loan, p *pull) {
	if p != nil {
		q.forget(p)
	}
	lent := q.lent(l)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		select {
		case q.arrived <- lent:
			return
		default:
		}
	}
	_ = lent.Lease.Release() // if this fails, the lease lapses
}

// Close ends all requests, and returns to the queue the chunks that nobody has received.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	s := q.bus.server
	s.mu.Lock()
	q.ended = true
	s.dropPulls(func(p *pull) bool { return p.queue == q })
	s.mu.Unlock()
	for {
		select {
		case lent := <-q.arrived:
			_ = lent.Lease.Release() // if this fails, the lease lapses
		default:
			return
		}
	}
}
