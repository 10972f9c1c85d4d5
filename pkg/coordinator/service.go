package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
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
	MaxPayload() int // of the server, in bytes; 0 before the first connection
}

// Config is what a run needs.
type Config struct {
	Log     *ledger.Log
	State   *ledger.State
	Index   *split.Index
	Wire    Wire
	Options Options // At and ReplyBytes are set here
	// Recount counts a task in a child process.
	Recount func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64, error)
	// Total goes through the log from its start and returns the total.
	Total func(ctx context.Context) (*big.Int, error)
	// OnSnapshot is called every second, and with the last snapshot of the run. Calls do not overlap.
	OnSnapshot func(*queens.Snapshot)
	Logger     zerolog.Logger
}

const (
	// tickInterval is the time between two ticks of the core.
	tickInterval = 250 * time.Millisecond
	// intactInterval is how often the path of the log is looked at.
	intactInterval = 2 * time.Second
	// snapshotInterval is the time between two snapshots.
	snapshotInterval = time.Second
	// lingerTime is how long a coordinator whose run has ended goes on answering, so that workers hear of the end.
	lingerTime = 5 * time.Second
	// mostMessages bounds the messages of workers that are being handled. More messages wait in the connection. It drops those
	// for which it has no room, and their senders send them again.
	mostMessages = 256
	// mostWrites bounds the writes that wait for the disk. Beyond it the loop waits for the disk, too.
	mostWrites = 4096
	// warnings bounds the lines a minute that say what is wrong with messages.
	warnings = 10
)

// Coordinator is the loop around a [Core]: it executes what the core commands, and its goroutine is the only one that uses
// the core. Other goroutines decode and check messages, make replies, and write the log.
type Coordinator struct {
	Config
	core     *Core
	start    time.Time
	ticks    *time.Ticker
	warn     zerolog.Logger // see warner
	checkers sync.Pool      // of *checker
	messages errgroup.Group // of workers that are being handled
	inputs   chan func(now time.Duration)
	writes   chan write
	failed   chan error // has the first error of the log
	latest   atomic.Pointer[queens.Snapshot]
	group    sync.WaitGroup // of all other goroutines
	ctx      context.Context
	cancel   func()
	stops    []func() // end the subscriptions
	end      *End
}

// Start makes the coordinator of a run, and begins to take messages. It records its start.
func Start(cfg Config) (*Coordinator, error) {
	s := newCoordinator(cfg)
	s.Options.At, s.Options.ReplyBytes = s.start, replyBytes(s.Wire)
	s.core = New(0, s.State, s.Options)
	s.snapshot(0)
	s.group.Go(s.write)
	if err := s.serve(cfg.State.Header().Run); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newCoordinator returns a coordinator that has no core yet.
func newCoordinator(cfg Config) *Coordinator {
	s := &Coordinator{
		Config: cfg, start: time.Now(), ticks: time.NewTicker(tickInterval), warn: warner(cfg.Logger),
		inputs: make(chan func(time.Duration), mostMessages), writes: make(chan write, mostWrites), failed: make(chan error, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.checkers.New = func() any { return newChecker(cfg.State.Header(), cfg.Index) }
	s.messages.SetLimit(mostMessages)
	return s
}

// Run counts to the end of the run, or until ctx ends: then the run stops so that it can be resumed. The end says how; its
// error is also returned.
func (s *Coordinator) Run(ctx context.Context) (End, error) {
	cancelled := ctx.Done()
	var looked, shown time.Duration
	s.core.Tick(s.now()) // says at once that the run is there
	for s.execute(); s.end == nil; {
		if !s.turn(cancelled) {
			cancelled = nil
			s.core.Stop(s.now(), nil)
			s.execute()
		}
		var err error
		now := s.now()
		select {
		case err = <-s.failed:
		default:
			if now-looked >= intactInterval {
				looked, err = now, s.Log.Intact()
			}
		}
		if err != nil && s.end == nil {
			s.end = &End{State: queens.Stopped, Err: fmt.Errorf("%w: %w", queens.ErrIncomplete, err)}
			break
		}
		if now-shown >= snapshotInterval || s.end != nil {
			shown = now
			s.snapshot(now)
		}
	}
	return *s.end, s.end.Err
}

// Linger goes on answering for 5 s after the end of a run where workers of other machines or processes are present, or until
// ctx ends. It may be called after [Coordinator.Run].
func (s *Coordinator) Linger(ctx context.Context, own string) {
	isOther := func(w queens.Worker) bool { return w.Process != own }
	if s.end == nil || !s.end.State.Ended() || !slices.ContainsFunc(s.latest.Load().WorkerList, isOther) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lingerTime)
	defer cancel()
	for s.turn(ctx.Done()) {
	}
}

// Close ends recounts, and returns when all goroutines have ended. It may be called when Run and Linger have returned.
func (s *Coordinator) Close() {
	s.cancel()
	s.ticks.Stop()
	for _, stop := range s.stops {
		stop()
	}
	close(s.writes)
	_ = s.messages.Wait() // they return no error
	s.group.Wait()
}

// now returns the time for the core.
func (s *Coordinator) now() time.Duration { return time.Since(s.start) }

// replyBytes returns how many bytes the chunks of a reply may take: half of what the server takes.
func replyBytes(w Wire) int { return w.MaxPayload() / 2 }

// serve begins to take messages.
func (s *Coordinator) serve(run string) error {
	add := func(stop func(), err error) error {
		if err == nil {
			s.stops = append(s.stops, stop)
		}
		return err
	}
	return cmp.Or(
		add(s.Wire.Announcements(func(a queens.Announcement) {
			if a.Run == run && a.Instance != s.Options.Instance {
				s.input(func(now time.Duration) { s.core.HeardOther(now, a) })
			}
		})),
		add(s.Wire.ServeWork(run, s.take)),
		add(s.Wire.ServeStatus(run, s.latest.Load)))
}

// warner returns a logger for what anybody can send: it takes some lines a minute.
func warner(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: warnings, Period: time.Minute})
}

// take handles a message of a worker, when there is room.
func (s *Coordinator) take(m bus.Message) {
	s.messages.Go(func() error {
		if input := s.receive(m); input != nil {
			s.input(input)
		}
		return nil
	})
}

// receive decodes and checks a message, and returns the input for the core; nil if the message can't be read.
func (s *Coordinator) receive(m bus.Message) func(now time.Duration) {
	message, err := bus.DecodeFromWorker(m.Data)
	if err != nil {
		s.warn.Warn().Err(err).Str("machine", m.From.Machine).Msg("a message of a worker can't be read")
		return nil
	}
	c := s.checkers.Get().(*checker)
	defer s.checkers.Put(c)
	if message.Request != nil {
		request := c.request(m.From, *message.Request, m.Reply)
		return func(now time.Duration) { s.core.WorkRequested(now, request) }
	}
	delivery := c.delivery(m.From, *message.Delivery, m.Reply)
	return func(now time.Duration) { s.core.Delivered(now, delivery) }
}

// input gives the loop an input for the core, unless the coordinator is closed.
func (s *Coordinator) input(input func(now time.Duration)) {
	select {
	case s.inputs <- input:
	case <-s.ctx.Done():
	}
}

// turn waits for inputs or a tick, and does what follows. It returns false if done is closed.
func (s *Coordinator) turn(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	case input := <-s.inputs:
		input(s.now())
		for range len(s.inputs) { // their records share a write
			(<-s.inputs)(s.now())
		}
	case <-s.ticks.C:
		s.core.Connected(s.now(), s.Wire.Connected())
		s.core.options.ReplyBytes = replyBytes(s.Wire) // another server may have taken the place of the last one
		s.core.Tick(s.now())
	}
	s.execute()
	return true
}

// snapshot makes the latest snapshot. One with a total says what confirms it.
func (s *Coordinator) snapshot(now time.Duration) {
	latest := s.core.Snapshot(now)
	if total := (*big.Int)(latest.Total); total != nil {
		latest.SetTotal(total, s.State.Confirmation(total))
	}
	s.OnSnapshot(&latest)
	s.latest.Store(&latest)
}

// execute does what the core commands.
func (s *Coordinator) execute() {
	c := s.core.Take()
	for _, line := range c.Log {
		if line.Warn {
			s.Logger.Warn().Msg(line.Text)
		} else {
			s.Logger.Info().Msg(line.Text)
		}
	}
	if len(c.Records)+len(c.Receipts) > 0 || c.Total || c.End != nil {
		s.append(&c)
	}
	for _, r := range c.Replies {
		s.group.Go(func() {
			c := s.checkers.Get().(*checker)
			defer s.checkers.Put(c)
			reply := c.reply(s.Options.Instance, &r)
			s.answer(r.Origin)(bus.EncodeWorkReply(&reply))
		})
	}
	if r := c.Recount; r != nil {
		s.group.Go(func() { s.recount(*r) })
	}
	if c.Announce {
		a := s.core.Announcement()
		if err := s.Wire.Announce(&a); err != nil {
			s.Logger.Debug().Err(err).Msg("the announcement could not be published")
		}
	}
}

// write is records for the log, and what is called when they are on disk.
type write struct {
	records []ledger.Record
	onDisk  func(error)
}

// write writes all records that wait at once, until the coordinator is closed and none waits.
func (s *Coordinator) write() {
	for first := range s.writes {
		writes, records := []write{first}, first.records
		for range len(s.writes) {
			next := <-s.writes
			writes, records = append(writes, next), append(records, next.records...)
		}
		err := s.Log.Write(records...)
		for _, w := range writes {
			w.onDisk(err)
		}
		if err != nil {
			select {
			case s.failed <- fmt.Errorf("%w: free the disk, then resume the run", err):
			default:
			}
		}
	}
}

// append appends records, and does what waits for the disk when they are there.
func (s *Coordinator) append(c *Commands) {
	receipts, total, end := c.Receipts, c.Total, c.End
	onDisk := make(chan error, 1)
	s.writes <- write{c.Records, func(err error) {
		onDisk <- err
		if err != nil {
			return // the loop ends; a worker without a receipt delivers again
		}
		for _, r := range receipts {
			s.group.Go(func() {
				reply := queens.DeliveryReply{Instance: s.Options.Instance, Receipts: r.Receipts}
				s.answer(r.Origin)(bus.EncodeDeliveryReply(&reply))
			})
		}
		if total {
			s.group.Go(s.total)
		}
	}}
	if end != nil {
		if err := <-onDisk; err != nil {
			end = &End{State: queens.Stopped, Err: fmt.Errorf("%w: %w", queens.ErrIncomplete, err)}
		}
		s.end = end
	}
}

// answer returns the function that sends an encoded reply to the origin of a message.
func (s *Coordinator) answer(origin any) func(message []byte, err error) {
	return func(message []byte, err error) {
		if err == nil {
			err = origin.(func([]byte) error)(message)
		}
		if err != nil { // the worker asks again
			s.Logger.Debug().Err(err).Msg("a reply could not be sent")
		}
	}
}

// recount counts a task in a child process.
func (s *Coordinator) recount(r Recount) {
	result := RecountResult{Recount: r}
	task := s.Index.Range(r.Task, 1)[0] // the core names tasks of the run only
	result.Count, result.Err = s.Config.Recount(s.ctx, task, r.Kernel, r.Deeper)
	s.input(func(now time.Duration) { s.core.RecountDone(now, &result) })
}

// total goes through the log again.
func (s *Coordinator) total() {
	var result TotalResult
	result.Total, result.Err = s.Total(s.ctx)
	s.input(func(now time.Duration) { s.core.TotalDone(now, &result) })
}
