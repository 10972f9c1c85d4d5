package memory

import (
	"context"
	"time"
)

// Faults says how often a server fails, each as a probability from 0 to 1. The zero value is a server
// that never fails.
type Faults struct {
	// LostRequest requests are not executed, and LostAnswer requests are: the sender gets an error in
	// both cases, after [requestTimeout].
	LostRequest, LostAnswer float64
	// LostMessage is for messages that nobody confirms: heartbeats, announcements, chunks on their way to a
	// worker, and acknowledgements that a worker does not wait for.
	LostMessage float64
	// Repeated heartbeats, announcements and results come twice, and repeated chunks and results are stored twice
	// if they are sent again.
	Repeated float64
	// Delayed requests and messages take up to MaxDelay. Later ones overtake them.
	Delayed  float64
	MaxDelay time.Duration
	// Stale answers say what was so a second before.
	Stale float64
	// Full streams refuse a message.
	Full float64
	// Conflicting updates of a record are carried out, and reported as refused because of another update.
	Conflicting float64
}

// Counts are numbers of what has happened at a server since it was made.
type Counts struct {
	Connections, Claims, Requests, Faults int
}

// SetFaults replaces the faults. It restarts nothing: what was lost stays lost.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Counts returns what has happened so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// hit draws whether a fault of that probability happens, and counts it. s.mu is held.
func (s *Server) hit(probability float64) bool {
	if probability == 0 || s.rng.Float64() >= probability {
		return false
	}
	s.count.Faults++
	return true
}

// delay draws how much longer than usual a request or a message takes. s.mu is held.
func (s *Server) delay() time.Duration {
	if s.faults.MaxDelay == 0 || !s.hit(s.faults.Delayed) {
		return 0
	}
	return time.Duration(s.rng.Int64N(int64(s.faults.MaxDelay)))
}

// request executes a request at the server, and returns its error. It returns another error if there is no
// connection, or no answer. Then the operation may have been executed. It is called with the mutex of the
// server.
func (b *Bus) request(ctx context.Context, operation func() error) error {
	s := b.server
	s.mu.Lock()
	err := b.reach()
	there, back := latency+s.delay(), latency+s.delay()
	s.mu.Unlock()
	if err == nil {
		err = sleep(ctx, there)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	answers := b.reach() == nil && !s.hit(s.faults.LostRequest)
	if answers {
		s.count.Requests++
		err = operation()
		answers = !s.hit(s.faults.LostAnswer)
	}
	s.mu.Unlock()
	if answers {
		if late := sleep(ctx, back); late != nil {
			return late
		}
		return err
	}
	if late := sleep(ctx, requestTimeout); late != nil {
		return late
	}
	return errNoAnswer
}

// send executes an operation at the server for which nobody waits, or loses it.
func (b *Bus) send(operation func()) error {
	s := b.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.reach(); err != nil {
		return err
	}
	if s.hit(s.faults.LostMessage) {
		return nil
	}
	execute := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.away {
			operation()
		}
	}
	time.AfterFunc(latency+s.delay(), execute)
	return nil
}

// sleep waits, and returns an error if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
