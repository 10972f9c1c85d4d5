// Package memory is a server of runs and the connections to it, in memory, for tests under a fake
// clock: it opens no socket and no file, and each of its goroutines waits on channels and timers
// only, so that it runs within testing/synctest. A [Bus] offers what pkg/bus offers to coordinators
// and workers, with the same types of package run and queens.
//
// A [Server] fails as [Faults] says: it loses, repeats and delays requests, answers and messages,
// answers with old state, and reports failures of what it has done. Tests also take it away for a
// time, delete its streams and its consumers, and put it back to an earlier state under the same
// names, from which it grows again.
//
// What is left out: the form of messages on the wire, permissions, clusters, and the numbers of
// consumers that replace broken ones.
package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"nqueens/pkg/run"
)

// Config configures a [Server].
type Config struct {
	// Lease is how long a worker may hold a chunk without extending its lease.
	Lease time.Duration
	// Seed determines which requests and messages the faults hit, in the order in which they come.
	Seed uint64
	// MaxChunks is the number of chunks of one run that the queue takes, and MaxResults the number of
	// results that the stream takes, of all runs; 0 means no limit.
	MaxChunks, MaxResults int
}

const (
	// latency is the time of a request or an answer on its way without a fault.
	latency = time.Millisecond
	// requestTimeout is how long a request waits for an answer that does not come.
	requestTimeout = 5 * time.Second
	// dedupWindow is how long the server remembers the id of a message.
	dedupWindow = time.Minute
	// retryInterval is the pause before a reader tries again what has failed.
	retryInterval = time.Second
)

var (
	errNoAnswer = errors.New("the server does not answer")
	errClosed   = errors.New("the connection is closed")
	errNoStream = errors.New("the server has no such stream")
	errFull     = errors.New("the stream is full")
)

// Server keeps the queue, the results and the records of runs. Its methods are safe for concurrent use.
type Server struct {
	cfg Config

	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	count  Counts
	away   bool
	// absences is how often the server was away. Requests that waited before are gone.
	absences   int
	state      state
	saved      state
	lastStored time.Time // of all results; each is later than the one before
	// changed is closed and replaced when readers of results have something to look at.
	changed       chan struct{}
	generation    int // of the stream of results; each rollback and each deletion begins another
	heartbeats    []*subscription[run.Heartbeat]
	announcements []*subscription[run.Announcement]
}

// state is what the server would keep on disk.
type state struct {
	tasks   *tasks
	results *results
	records map[string]record
}

func (s *state) clone() state {
	c := state{records: make(map[string]record, len(s.records))}
	if s.tasks != nil {
		c.tasks = s.tasks.clone()
	}
	if s.results != nil {
		c.results = s.results.clone()
	}
	for name, r := range s.records {
		c.records[name] = r
	}
	return c
}

// NewServer returns a server without streams, faults and records.
func NewServer(cfg Config) *Server {
	s := &Server{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), changed: make(chan struct{})}
	s.state.records = make(map[string]record)
	s.saved = s.state.clone()
	return s
}

// Bus is a connection. Its methods, and those of what they return, are safe for concurrent use,
// except those of [Queue] and [Claim].
type Bus struct {
	server *Server
	id     int // tells the connections of the server apart

	// The mutex of the server protects what follows.
	closed        bool
	lastHeartbeat time.Time
	ended         []func() // each ends a subscription
}

// Connect returns a new connection, as of another process.
func (s *Server) Connect() *Bus {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Connections++
	return &Bus{server: s, id: s.count.Connections}
}

// Close ends the connection as the death of its process does: what it has sent is at the server, and
// nothing else happens. The leases of what its queues have taken lapse.
func (b *Bus) Close() {
	s := b.server
	s.mu.Lock()
	ended := b.ended
	if !b.closed {
		b.closed, b.ended = true, nil
		s.dropPulls(func(p *pull) bool { return p.queue.bus == b })
		s.notifyReaders()
	}
	s.mu.Unlock()
	for _, end := range ended {
		end()
	}
}

// Ensure creates the streams and the consumer of a run if they are missing.
func (b *Bus) Ensure(ctx context.Context, name string) error {
	return b.request(ctx, func() error {
		b.server.ensure(name)
		return nil
	})
}

// ensure is Ensure at the server. s.mu is held.
func (s *Server) ensure(name string) {
	if s.state.tasks == nil {
		s.state.tasks = newTasks()
	}
	if s.state.results == nil {
		s.state.results = &results{created: s.stamp()}
	}
	if s.state.tasks.consumers[name] == nil {
		s.state.tasks.consumers[name] = newConsumer(name)
	}
}

// stamp returns the current time, later than any that it has returned before. s.mu is held.
func (s *Server) stamp() time.Time {
	now := time.Now().UTC().Round(0)
	if !now.After(s.lastStored) {
		now = s.lastStored.Add(1)
	}
	s.lastStored = now
	return now
}

// Connected returns nil while the server can be reached.
func (b *Bus) Connected() error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	return b.reach()
}

// reach returns why the server can't be reached, or nil. s.mu is held.
func (b *Bus) reach() error {
	switch {
	case b.closed:
		return errClosed
	case b.server.away:
		return errNoAnswer
	}
	return nil
}

// SetAway takes the server away, or brings it back. While it is away it answers no requests, leases lapse,
// and requests for chunks that waited at it are lost.
func (s *Server) SetAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if away && !s.away {
		s.absences++
		s.dropPulls(func(*pull) bool { return true })
	}
	s.away = away
	s.notifyReaders()
}

// Save keeps the current state for RollBack.
func (s *Server) Save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = s.state.clone()
}

// RollBack puts the server back to the state of the last Save, under the same names and with the same
// times of creation: it has lost what came since then. Requests that waited at it are lost.
func (s *Server) RollBack() { s.replace(s.saved.clone) }

// DeleteStreams deletes the queue and the results of all runs. A reader or Ensure makes them again.
func (s *Server) DeleteStreams() {
	s.replace(func() state { return state{records: s.state.records} })
}

func (s *Server) replace(with func() state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropPulls(func(*pull) bool { return true })
	s.absences++
	s.state = with()
	s.generation++
	s.notifyReaders()
}

// DeleteConsumer deletes the consumer of a run. A reader or Ensure makes it again, and it delivers all
// chunks of the queue from the first.
func (s *Server) DeleteConsumer(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropPulls(func(p *pull) bool { return p.run == name })
	if s.state.tasks != nil {
		delete(s.state.tasks.consumers, name)
	}
}

// DeleteRecord deletes the record of a run.
func (s *Server) DeleteRecord(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state.records, name)
}

// notifyReaders has the readers of results look at the stream. s.mu is held.
func (s *Server) notifyReaders() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// String says what the server holds, for the log of a test.
func (s *Server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("away %v, %d records", s.away, len(s.state.records))
	if t := s.state.tasks; t != nil {
		text += fmt.Sprintf(", %d chunks", len(t.messages))
		for name, c := range t.consumers {
			text += fmt.Sprintf(", consumer %s: %d held, %d requests wait", name, len(c.pending), len(c.pulls))
		}
	}
	if r := s.state.results; r != nil {
		text += fmt.Sprintf(", %d results", len(r.messages))
	}
	return text
}
