// Package coordinator runs the coordinator of a run. [Coordinator] gives a [core.Core] the messages
// of workers and the clock, and carries out its commands; package core makes all decisions.
package coordinator

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Wire is what a coordinator needs of its server; a [bus.Bus] is one.
type Wire interface {
	ServeWork(run string, handle func(bus.Message)) (stop func(), err error)
	ServeStatus(run string, snapshot func() *queens.Snapshot) (stop func(), err error)
	Announce(a *queens.Announcement) error
	Announcements(hear func(queens.Announcement)) (stop func(), err error)
	Connected() bool
	Problem() string // why there is no connection; empty while there is one
	MaxPayload() int // of the server, in bytes; 0 before the first connection
}

// Log is the ledger of the run; a [ledger.Log] is one.
type Log interface {
	core.Log
	// Intact returns an error unless the log is still at its path, and has all that was written. Any
	// goroutine may call it.
	Intact() error
}

// Config is what a [Coordinator] needs.
type Config struct {
	Log     Log
	State   *ledger.State
	Index   *split.Index
	Wire    Wire
	Options core.Options // Start sets At and ReplyBytes
	// Recount counts a task in a child process.
	Recount func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64, error)
	// Total reads the whole ledger and returns the total. The error wraps [queens.ErrContradiction] if
	// the total is not the published one, or two ways to compute it differ.
	Total func(ctx context.Context) (*big.Int, error)
	// OnSnapshot is called in [Start], about every second during [Coordinator.Run], and when the end
	// of the run is on disk. Calls do not overlap.
	OnSnapshot func(*queens.Snapshot)
	Logger     zerolog.Logger
}

const (
	// tickInterval is the time between two ticks of the core.
	tickInterval = 250 * time.Millisecond
	// intactInterval is the time between two checks that the ledger is still at its path.
	intactInterval = 2 * time.Second
	// snapshotInterval is the time between two snapshots.
	snapshotInterval = time.Second
)

// Coordinator is the loop around a [core.Core]: it executes what the core commands. Only the
// goroutine of [Coordinator.Run] and [Coordinator.Linger] uses the core.
type Coordinator struct {
	Config
	core     *core.Core
	start    time.Time
	warn     zerolog.Logger                  // see warner
	inputs   *queue[func(now time.Duration)] // each gives an input to the core
	jobs     *queue[func(*station)]
	writes   *queue[*core.Commands]
	onDisk   chan error // has an error of the ledger, or nil when the end is on disk
	mail     *post
	room     *semaphore.Weighted // for messages of workers that are being handled
	saidSlow time.Duration       // when the log said that messages wait; 0 before
	latest   atomic.Pointer[queens.Snapshot]
	group    sync.WaitGroup
	ctx      context.Context // of all goroutines
	cancel   func()
	stops    []func() // end the subscriptions
	listener listener // the worker of this process
	end      *core.End
}

// Start makes the coordinator of a run, and begins to take messages. It records the start of the
// run. If it returns an error, the coordinator is closed.
func Start(cfg Config) (*Coordinator, error) {
	s := &Coordinator{
		Config: cfg, start: time.Now(), warn: warner(cfg.Logger),
		inputs: newQueue[func(time.Duration)](),
		jobs:   newQueue[func(*station)](), writes: newQueue[*core.Commands](),
		onDisk: make(chan error, 1), mail: newPost(), room: semaphore.NewWeighted(room),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Options.At, s.Options.ReplyBytes = s.start, replyBytes(s.Wire)
	s.core = core.New(0, s.State, s.Options)
	s.snapshot(0)
	s.group.Go(s.write)
	s.group.Go(s.read)
	for range runtime.GOMAXPROCS(0) {
		s.group.Go(s.work)
	}
	err := s.serve(cfg.State.Header().Run)
	if err != nil {
		s.Close()
	}
	return s, err
}

// Run coordinates the run until it ends. If ctx ends first, it stops the run so that it can be
// resumed. The result says how the run ended here; its error is also returned.
func (s *Coordinator) Run(ctx context.Context) (core.End, error) {
	if err := s.untilEnd(ctx); err != nil {
		s.end = &core.End{State: queens.Stopped, Err: fmt.Errorf("%w: %w", queens.ErrIncomplete, err)}
	} else {
		s.snapshot(time.Since(s.start))
	}
	return *s.end, s.end.Err
}

// untilEnd gives the core its inputs until the run has ended here. When ctx ends, it stops the run.
// An error says what is wrong with the ledger.
func (s *Coordinator) untilEnd(ctx context.Context) error {
	s.core.Tick(time.Since(s.start)) // says at once that the run is there
	if err := s.execute(); err != nil {
		return err
	}
	ticks := time.Tick(tickInterval)
	var checked, shown time.Duration
	for s.end == nil && ctx.Err() == nil {
		now := time.Since(s.start)
		if now-checked >= intactInterval {
			checked = now
			if err := s.Log.Intact(); err != nil {
				return err
			}
		}
		if now-shown >= snapshotInterval {
			shown = now
			s.snapshot(now)
		}
		if err := s.step(ctx, ticks); err != nil {
			return err
		}
	}
	if s.end == nil {
		s.core.Stop(time.Since(s.start), nil)
		return s.execute()
	}
	return nil
}

// lingerTime is how long a coordinator whose run has ended goes on answering, so that workers hear
// of the end.
const lingerTime = 5 * time.Second

// Linger may be called after [Coordinator.Run]. If the run has ended and workers of other processes
// are present, it goes on answering for 5 s, or until ctx ends.
func (s *Coordinator) Linger(ctx context.Context) {
	isOther := func(w queens.Worker) bool { return w.User != queens.CoordinatorUser }
	if s.end == nil || !s.end.State.Ended() ||
		!slices.ContainsFunc(s.latest.Load().WorkerList, isOther) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lingerTime)
	defer cancel()
	ticks := time.Tick(tickInterval)
	for ctx.Err() == nil {
		if s.step(ctx, ticks) != nil { // the run has ended, whatever fails now
			return
		}
	}
}

// step waits for the next inputs, gives them to the core, and executes what it commands. If ctx
// ends before an input comes, it does nothing.
func (s *Coordinator) step(ctx context.Context, ticks <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.onDisk:
		return err
	case <-s.inputs.ready:
		for _, input := range s.inputs.take(math.MaxInt) {
			input(time.Since(s.start))
		}
	case <-ticks:
		s.tick(time.Since(s.start))
	}
	return s.execute()
}

// tick tells the core who has spoken without being read, whether there are too many messages and
// whether there is a connection, and the time.
func (s *Coordinator) tick(now time.Duration) {
	unread, busy := s.mail.unread()
	for _, from := range unread {
		s.core.Heard(now, from)
	}
	if busy {
		s.core.Busy(now)
	}
	// perhaps of another server than before
	s.core.Connected(now, s.Wire.Connected(), replyBytes(s.Wire))
	s.core.Tick(now)
}

// Close stops taking messages, ends recounts, and waits for all goroutines.
func (s *Coordinator) Close() {
	for _, stop := range s.stops {
		stop()
	}
	s.cancel()
	s.group.Wait()
}

// replyBytes returns how many bytes the chunks of a reply may take: half of the server's
// max_payload.
func replyBytes(w Wire) int { return w.MaxPayload() / 2 }
