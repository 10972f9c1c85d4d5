package coordinator

import (
	"context"
	"fmt"
	"math/big"
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
	// mostMessages bounds the messages of workers that are being handled. More messages wait in the connection. It drops those
	// for which it has no room, and their senders send them again.
	mostMessages = 256
	// warnings bounds the lines a minute that say what is wrong with messages.
	warnings = 10
)

// Coordinator is the loop around a [Core]: it executes what the core commands, and its goroutine is the only one that uses
// the core.
type Coordinator struct {
	Config
	core     *Core
	pipeline *pipeline
	start    time.Time
	warn     zerolog.Logger // see warner
	inputs   mailbox[func(now time.Duration)]
	writes   mailbox[write]
	failed   chan error    // has the error of the log
	room     chan struct{} // has an element for each message of a worker that is being handled
	latest   atomic.Pointer[queens.Snapshot]
	group    *errgroup.Group
	ctx      context.Context // of recounts, totals and the pipeline
	cancel   func()
	stop     func() // to take messages
	end      *End
}

// Start makes the coordinator of a run, and begins to take messages. It records its start.
func Start(cfg Config) (*Coordinator, error) {
	s := &Coordinator{
		Config: cfg, start: time.Now(), warn: warner(cfg.Logger),
		pipeline: newPipeline(cfg.State.Header(), cfg.Index), inputs: newMailbox[func(time.Duration)](),
		writes: newMailbox[write](), failed: make(chan error, 1),
		room: make(chan struct{}, mostMessages), group: new(errgroup.Group),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Options.At, s.Options.ReplyBytes = s.start, replyBytes(s.Wire)
	s.core = New(0, s.State, s.Options)
	s.snapshot(0)
	s.group.Go(func() error { s.pipeline.run(s.ctx); return nil })
	s.group.Go(func() error { s.write(); return nil })
	var err error
	if s.stop, err = s.serve(cfg.State.Header().Run); err != nil {
		s.stop = func() {}
		s.Close()
	}
	return s, err
}

// Run counts to the end of the run, or until ctx ends. The end says how; its error is also returned.
func (s *Coordinator) Run(ctx context.Context) (End, error) {
	if err := s.loop(ctx); err != nil {
		s.end = &End{State: queens.Stopped, Err: err}
	}
	return *s.end, s.end.Err
}

// lingerTime is how long a coordinator whose run has ended goes on answering, so that workers hear of the end.
const lingerTime = 5 * time.Second

// Linger goes on answering for 5 s after the end of a run where workers of other machines or processes are present, or until
// ctx ends. It may be called after [Coordinator.Run].
func (s *Coordinator) Linger(ctx context.Context, own string) {
	others := 0
	for _, w := range s.latest.Load().WorkerList {
		if w.Process != own {
			others++
		}
	}
	if s.end == nil || !s.end.State.Ended() || others == 0 {
		return
	}
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	over := time.After(lingerTime)
	for {
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-s.inputs.ready:
			for _, input := range s.inputs.take() {
				input(time.Since(s.start))
			}
		case <-ticks.C:
			s.core.Tick(time.Since(s.start))
		}
		s.execute()
	}
}

// Close stops to take messages, and ends recounts.
func (s *Coordinator) Close() {
	s.stop()
	s.cancel()
	_ = s.group.Wait() // they return no error
}

// replyBytes returns how many bytes the chunks of a reply may take: half of what the server takes.
func replyBytes(w Wire) int { return w.MaxPayload() / 2 }

// serve begins to take messages.
func (s *Coordinator) serve(run string) (stop func(), err error) {
	unsubscribe, err := s.Wire.Announcements(func(a queens.Announcement) {
		if a.Run == run && a.Instance != s.Options.Instance {
			s.inputs.put(func(now time.Duration) { s.core.HeardOther(now, a) })
		}
	})
	if err != nil {
		return nil, err
	}
	stopWork, err := s.Wire.ServeWork(run, s.take)
	if err != nil {
		unsubscribe()
		return nil, err
	}
	stopStatus, err := s.Wire.ServeStatus(run, s.latest.Load)
	if err != nil {
		stopWork()
		unsubscribe()
		return nil, err
	}
	return func() { stopStatus(); stopWork(); unsubscribe() }, nil
}

// warner returns a logger for what anybody can send: it takes some lines a minute.
func warner(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: warnings, Period: time.Minute})
}

// take takes a message of a worker, when there is room.
func (s *Coordinator) take(m bus.Message) {
	select {
	case s.room <- struct{}{}:
		s.pipeline.jobs.put(func(at *station) { s.receive(at, m) })
	case <-s.ctx.Done():
	}
}

// receive decodes and checks a message, for the loop.
func (s *Coordinator) receive(at *station, m bus.Message) {
	message, err := bus.DecodeFromWorker(m.Data)
	switch {
	case err != nil:
		<-s.room
		s.warn.Warn().Err(err).Str("machine", m.From.Machine).Msg("a message of a worker can't be read")
	case message.Request != nil:
		request := at.request(m.From, *message.Request, m.Reply)
		s.inputs.put(func(now time.Duration) { <-s.room; s.core.WorkRequested(now, request) })
	default:
		delivery := at.delivery(m.From, *message.Delivery, m.Reply)
		s.inputs.put(func(now time.Duration) { <-s.room; s.core.Delivered(now, delivery) })
	}
}

// loop feeds the core until the run ends here. When ctx is cancelled, the run stops so that it can be resumed.
func (s *Coordinator) loop(ctx context.Context) error {
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	cancelled := ctx.Done()
	var looked, shown time.Duration
	s.core.Tick(time.Since(s.start)) // says at once that the run is there
	s.execute()
	for {
		now := time.Since(s.start)
		select {
		case <-cancelled:
			cancelled = nil
			s.core.Stop(now, nil)
		case err := <-s.failed:
			return fmt.Errorf("%w: %w: free the disk, then resume the run", queens.ErrIncomplete, err)
		case <-s.inputs.ready:
			for _, input := range s.inputs.take() {
				input(time.Since(s.start))
			}
		case <-ticks.C:
			s.core.Connected(now, s.Wire.Connected())
			s.core.options.ReplyBytes = replyBytes(s.Wire) // another server may have taken the place of the last one
			s.core.Tick(now)
			if now-looked >= intactInterval {
				looked = now
				if err := s.Log.Intact(); err != nil {
					return fmt.Errorf("%w: %w", queens.ErrIncomplete, err)
				}
			}
		}
		if now-shown >= snapshotInterval {
			shown = now
			s.snapshot(now)
		}
		if ended := s.execute(); ended {
			s.snapshot(time.Since(s.start))
			return nil
		}
	}
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

// execute does what the core commands. It reports whether the run has ended here.
func (s *Coordinator) execute() (ended bool) {
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
		s.pipeline.jobs.put(func(at *station) {
			reply := at.reply(s.Options.Instance, &r)
			s.answer(r.Origin)(bus.EncodeWorkReply(&reply))
		})
	}
	if r := c.Recount; r != nil {
		s.group.Go(func() error { s.recount(*r); return nil })
	}
	if c.Announce {
		a := s.core.Announcement()
		if err := s.Wire.Announce(&a); err != nil {
			s.Logger.Debug().Err(err).Msg("the announcement could not be published")
		}
	}
	return s.end != nil
}

// write is records for the log, and what is called when they are on disk.
type write struct {
	records []ledger.Record
	onDisk  func(error)
}

// write writes all records that wait at once, until the coordinator is closed and none waits.
func (s *Coordinator) write() {
	for open := true; open; {
		select {
		case <-s.writes.ready:
		case <-s.ctx.Done():
			open = false
		}
		writes := s.writes.take()
		var records []ledger.Record
		for _, w := range writes {
			records = append(records, w.records...)
		}
		err := s.Log.Write(records...)
		for _, w := range writes {
			w.onDisk(err)
		}
		if err != nil {
			select {
			case s.failed <- err:
			default:
			}
		}
	}
}

// append appends records, and does what waits for the disk when they are there.
func (s *Coordinator) append(c *Commands) {
	receipts, total, end := c.Receipts, c.Total, c.End
	onDisk := make(chan error, 1)
	s.writes.put(write{c.Records, func(err error) {
		onDisk <- err
		if err != nil {
			return // the loop ends; who gets no receipt delivers again
		}
		for _, r := range receipts {
			s.pipeline.jobs.put(func(*station) {
				s.answer(r.Origin)(bus.EncodeDeliveryReply(&queens.DeliveryReply{Instance: s.Options.Instance, Receipts: r.Receipts}))
			})
		}
		if total {
			s.group.Go(func() error { s.total(); return nil })
		}
	}})
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
	if s.ctx.Err() == nil {
		s.inputs.put(func(now time.Duration) { s.core.RecountDone(now, &result) })
	}
}

// total goes through the log again.
func (s *Coordinator) total() {
	var result TotalResult
	result.Total, result.Err = s.Total(s.ctx)
	if s.ctx.Err() == nil {
		s.inputs.put(func(now time.Duration) { s.core.TotalDone(now, &result) })
	}
}
