// Package coordinator runs the coordinator of a run. [Coordinator] gives a [core.Core] the messages
// of workers and the clock, and carries out its commands; package core makes all decisions.
package coordinator

import (
	"context"
	"errors"
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
	"nqueens/pkg/durable"
	"nqueens/pkg/humanize"
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
	// room bounds the messages of workers that are being handled, in bytes; each takes at least
	// leastRoom. The others wait in a core.Mailbox.
	room      = 16 << 20
	leastRoom = 128 << 10
	// slowAfter is how long a message may wait until the log says so, once in slowInterval.
	slowAfter    = 2 * time.Second
	slowInterval = time.Minute
	// warnings bounds the log lines per minute about messages that can't be read.
	warnings = 10
)

// Coordinator is the loop around a [core.Core]: it executes what the core commands, and its
// goroutine is the only one that uses the core.
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
	if err := s.loop(ctx, false); err != nil {
		s.end = &core.End{State: queens.Stopped, Err: fmt.Errorf("%w: %w", queens.ErrIncomplete, err)}
	} else {
		s.snapshot(time.Since(s.start))
	}
	return *s.end, s.end.Err
}

// errClosed says that a coordinator is closed.
var errClosed = errors.New("the coordinator has ended")

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
	_ = s.loop(ctx, true) // the run has ended, whatever fails now
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

// serve begins to take messages.
func (s *Coordinator) serve(run string) error {
	hear := func(a queens.Announcement) {
		if a.Run == run && a.Instance != s.Options.Instance {
			s.inputs.put(func(now time.Duration) { s.core.HeardOther(now, a) })
		}
	}
	for _, subscribe := range []func() (stop func(), err error){
		func() (func(), error) { return s.Wire.Announcements(hear) },
		func() (func(), error) { return s.Wire.ServeWork(run, s.take) },
		func() (func(), error) { return s.Wire.ServeStatus(run, s.latest.Load) },
	} {
		stop, err := subscribe()
		if err != nil {
			return err
		}
		s.stops = append(s.stops, stop)
	}
	return nil
}

// warner returns a logger for messages that anybody can send: it drops all but a few lines a
// minute.
func warner(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: warnings, Period: time.Minute})
}

// take takes a message of a worker. It never waits.
func (s *Coordinator) take(m bus.Message) {
	s.mail.put(time.Since(s.start), core.Message{From: m.From, IsDelivery: bus.IsDelivery(m.Data),
		Bytes: len(m.Data), Content: m})
}

// read takes messages out of the mailbox when there is room to handle them, until the coordinator
// is closed.
func (s *Coordinator) read() {
	for {
		// room for any message: the mailbox decides only when it is there
		if s.room.Acquire(s.ctx, bus.MaxFromWorker) != nil {
			return
		}
		m, open := s.mail.next(s.ctx, s.start)
		if !open {
			return
		}
		message := m.Content.(bus.Message)
		takes := min(max(int64(len(message.Data)), leastRoom), bus.MaxFromWorker)
		s.room.Release(bus.MaxFromWorker - takes)
		s.jobs.put(func(at *station) {
			s.receive(at, message, func() { s.room.Release(takes) })
		})
	}
}

// receive decodes and checks a message, and gives it to the loop. It calls done when the message
// takes no room any more.
func (s *Coordinator) receive(at *station, m bus.Message, done func()) {
	message, err := bus.DecodeFromWorker(m.Data)
	switch {
	case err != nil:
		done()
		s.warn.Warn().Err(err).Str("machine", m.From.Machine.Name).Str("process", m.From.Name).
			Msg("a message of a worker can't be read, and the worker takes no part")
	case message.Request != nil:
		request := at.request(m.From, *message.Request, remote(m.Reply))
		s.inputs.put(func(now time.Duration) { done(); s.core.WorkRequested(now, request) })
	default:
		delivery := at.delivery(m.From, *message.Delivery, remote(m.Reply))
		s.inputs.put(func(now time.Duration) { done(); s.core.Delivered(now, delivery) })
	}
}

// work does jobs until the coordinator is closed.
func (s *Coordinator) work() {
	at := newStation(s.State.Header(), s.Index)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.jobs.ready:
			for _, job := range s.jobs.take(1) {
				job(at)
			}
		}
	}
}

// loop gives the core its inputs until the run has ended here. When ctx is canceled, the run stops
// so that it can be resumed. A loop that lingers begins after the end of the run, and ends when ctx
// is canceled.
func (s *Coordinator) loop(ctx context.Context, lingers bool) error {
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	canceled := ctx.Done()
	var looked, shown time.Duration
	s.core.Tick(time.Since(s.start)) // says at once that the run is there
	for {
		if err := s.execute(); err != nil || s.end != nil && !lingers {
			return err
		}
		now := time.Since(s.start)
		select {
		case <-canceled:
			canceled, lingers = nil, false
			s.core.Stop(now, nil)
		case err := <-s.onDisk:
			return err
		case <-s.inputs.ready:
			for _, input := range s.inputs.take(math.MaxInt) {
				input(time.Since(s.start))
			}
		case <-ticks.C:
			// perhaps of another server than before
			for _, from := range s.mail.unread() {
				s.core.Heard(now, from)
			}
			s.core.Connected(now, s.Wire.Connected(), replyBytes(s.Wire))
			s.core.Tick(now)
			if !lingers && now-looked >= intactInterval {
				looked = now
				if err := s.Log.Intact(); err != nil {
					return err
				}
			}
		}
		if !lingers && now-shown >= snapshotInterval {
			shown = now
			s.snapshot(now)
		}
	}
}

// snapshot makes the latest snapshot. A snapshot with a total says what confirms the total.
func (s *Coordinator) snapshot(now time.Duration) {
	latest := s.core.Snapshot(now)
	latest.Queue.Duration, latest.Dropped = s.measureMail(time.Since(s.start))
	if w := latest.Waits; w != nil && w.Reason == queens.NoServer {
		w.Why = s.Wire.Problem()
	}
	if total := (*big.Int)(latest.Total); total != nil {
		latest.SetTotal(total, s.State.Confirmation(total))
	}
	s.OnSnapshot(&latest)
	s.latest.Store(&latest)
}

// measureMail measures the mailbox: see post.measure. If messages wait for long, the log says so.
func (s *Coordinator) measureMail(now time.Duration) (waited time.Duration, dropped uint64) {
	waited, dropped = s.mail.measure(now)
	if waited >= slowAfter && (s.saidSlow == 0 || now-s.saidSlow >= slowInterval) {
		s.saidSlow = now
		s.Logger.Warn().Dur("queue", waited).Uint64("dropped", dropped).Str(humanize.LogField,
			fmt.Sprintf("messages of workers wait for %s, because more come than this machine can read: "+
				"give the coordinator more processors", humanize.Duration(waited))).Msg("overload")
	}
	return waited, dropped
}

// Workers returns a page of the present workers: see [core.Core.Workers]. It returns the error of
// ctx if that ends first, or one that says that the coordinator is closed.
func (s *Coordinator) Workers(ctx context.Context, number uint64) (
	page []queens.Worker, next uint64, err error,
) {
	done := make(chan struct{})
	s.inputs.put(func(now time.Duration) {
		page, next = s.core.Workers(now, number)
		close(done)
	})
	select {
	case <-done:
		return page, next, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-s.ctx.Done():
		return nil, 0, errClosed
	}
}

// execute does what the core commands. If that includes the end of the run, it waits until the end
// is on disk.
func (s *Coordinator) execute() error {
	c := s.core.Take()
	for _, line := range c.Log {
		if line.Warn {
			s.Logger.Warn().Msg(line.Text)
		} else {
			s.Logger.Info().Msg(line.Text)
		}
	}
	if c.NeedsDisk() {
		s.writes.put(&c)
	}
	if c.OnDisk.End != nil {
		if err := <-s.onDisk; err != nil {
			return err
		}
		s.end = c.OnDisk.End
	}
	for _, r := range c.Replies {
		s.jobs.put(func(at *station) {
			reply := at.reply(s.Options.Instance, &r)
			s.sent(r.Origin.(sender).sendReply(&reply))
		})
	}
	if r := c.Recount; r != nil {
		s.group.Go(func() {
			task := s.Index.Range(r.Task, 1)[0] // the core names tasks of the run only
			count, err := s.Recount(s.ctx, task, r.Kernel, r.Deeper)
			s.inputs.put(func(now time.Duration) { s.core.RecountDone(now, count, err) })
		})
	}
	if c.Announce {
		a := s.core.Announcement()
		s.listener.tell(a)
		if err := s.Wire.Announce(&a); err != nil {
			s.Logger.Debug().Err(err).Msg("the announcement could not be published")
		}
	}
	return nil
}

// write writes the records of all waiting commands together, and then does what had to wait for the
// disk. It ends when the coordinator is closed and no commands wait. After an error the loop ends.
func (s *Coordinator) write() {
	for open := true; open; {
		select {
		case <-s.writes.ready:
		case <-s.ctx.Done():
			open = false
		}
		err := core.Commit(s.Log, s.writes.take(math.MaxInt), s.onceOnDisk)
		if err != nil {
			s.tellLoop(fmt.Errorf("%w: %s, then resume the run", err, durable.Advice(err)))
		}
	}
}

// onceOnDisk does what had to wait until records were on disk.
func (s *Coordinator) onceOnDisk(c *core.OnDisk) {
	for _, r := range c.Receipts {
		s.jobs.put(func(*station) {
			reply := queens.DeliveryReply{Instance: s.Options.Instance, Receipts: r.Receipts}
			s.sent(r.Origin.(sender).sendReceipts(&reply))
		})
	}
	if c.Total {
		s.group.Go(func() {
			total, err := s.Total(s.ctx)
			s.inputs.put(func(now time.Duration) { s.core.TotalDone(now, total, err) })
		})
	}
	if c.End != nil {
		s.tellLoop(nil)
	}
}

// tellLoop tells the loop that the end is on disk, or why it will never be. Only the first error
// matters.
func (s *Coordinator) tellLoop(err error) {
	select {
	case s.onDisk <- err:
	default:
	}
}

// sent logs why a reply could not be sent. The worker asks again.
func (s *Coordinator) sent(err error) {
	if err != nil {
		s.Logger.Debug().Err(err).Msg("a reply could not be sent")
	}
}
