package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker/core"
)

// Transport connects a worker to coordinators; package bus has one.
type Transport interface {
	// Announcements calls hear with the announcements of all coordinators, one call at a time, until
	// stop is called.
	Announcements(hear func(queens.Announcement)) (stop func(), err error)
	// RequestWork and Deliver send a message to the coordinator of a run and wait for the reply, or
	// until ctx ends. With an error, the reply is nil.
	RequestWork(ctx context.Context, run string, from queens.Process,
		r *queens.WorkRequest) (*queens.WorkReply, error)
	Deliver(ctx context.Context, run string, from queens.Process,
		d *queens.Delivery) (*queens.DeliveryReply, error)
}

// Config says who a worker is, and with what it counts.
type Config struct {
	Process queens.Process
	Host    string // name of this host, for people; it may be empty
	Version string // of the program
	// Kernel counts the tasks of the method prefixes. A process with several kernels runs a worker for
	// each: their Process.Name differ.
	Kernel  kernel.Kernel
	Threads int // at least 1: they search, or serve the device of the kernel
	// Halves counts the tasks of the method halves, on the processor. The zero value is the default of
	// this machine.
	Halves halves.Kernel
	// Memory limits what the method halves takes, on all threads of this and other workers of the
	// process. nil is no limit.
	Memory *count.Memory
	// AtOnce makes the worker answer a new coordinator at once. Other workers wait 0 to 2 s at random.
	// AtOnce is for the worker in the coordinator's process.
	AtOnce bool
	// Problem, if it is set, returns why there is no connection to a server, or "" while there is one.
	Problem  func() string
	IdleExit time.Duration // ends the worker when it has held nothing for that long; 0 never does
	// SelfTest tests the kernels before the worker asks for work. If it is nil, their own self-tests
	// do.
	SelfTest func(ctx context.Context) error
	Log      zerolog.Logger
	Label    string // begins the log lines for people, if the process has several workers
}

// line returns a log line for people.
func (c *Config) line(text string) string {
	if c.Label == "" {
		return text
	}
	return c.Label + ": " + text
}

// logEvery is the time between two log lines about what the worker does. The worker polls its
// searches every pollEvery.
const (
	logEvery  = 30 * time.Second
	pollEvery = time.Second
)

// Worker counts what coordinators hand out.
type Worker struct {
	cfg       Config
	transport Transport
	began     time.Time
	pulses    []atomic.Uint64
	rowSetsOf atomic.Int64       // side of the board whose memory was logged last
	loads     []chan load        // by searcher
	messages  context.Context    // of the calls of transport; ends when the worker has left
	leave     context.CancelFunc // ends messages
	calls     sync.WaitGroup     // the calls of transport
	failures  failures

	mu    sync.Mutex
	core  *core.Core
	stops []context.CancelFunc // of the searches, by searcher
	timer *time.Timer          // calls Tick
}

// load is what a searcher searches, until its context ends.
type load struct {
	core.Search
	ctx context.Context
}

// New returns a worker that Run starts.
func New(cfg Config, t Transport) *Worker {
	searchers, device := cfg.Threads, cfg.Kernel.AtOnce > 0
	if device {
		searchers = 1
	}
	if cfg.Memory == nil {
		cfg.Memory = count.NewMemory(0, searchers)
	}
	w := &Worker{
		cfg: cfg, transport: t, began: time.Now(), core: core.New(searchers, device),
		pulses: make([]atomic.Uint64, searchers),
		loads:  make([]chan load, searchers), stops: make([]context.CancelFunc, searchers),
	}
	w.messages, w.leave = context.WithCancel(context.Background())
	w.timer = time.AfterFunc(0, func() { w.input((*core.Core).Tick) })
	return w
}

// Run counts until ctx ends, the worker was idle for long enough or a searcher fails: then it
// delivers what was counted, gives the rest back, and returns within about 2 s. The error is that
// of a searcher, or says why announcements can't be heard.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.selfTest(ctx); err != nil {
		if ctx.Err() != nil { // it was not the kernel that failed
			return nil
		}
		return err
	}
	searchers, searching := errgroup.WithContext(ctx)
	var ready sync.WaitGroup
	ready.Add(len(w.loads))
	for i := range w.loads {
		w.loads[i] = make(chan load, 1)
		searchers.Go(func() error { return w.searcher(i, sync.OnceFunc(ready.Done)) })
	}
	ready.Wait()
	stop, err := w.transport.Announcements(func(a queens.Announcement) {
		random := mathrand.Float64()
		if w.cfg.AtOnce {
			random = 0
		}
		w.input(func(c *core.Core, now time.Duration) { c.Announced(now, a, random) })
	})
	if err == nil {
		w.loop(searching)
		stop()
	}
	w.timer.Stop()
	w.leave()
	for _, loads := range w.loads {
		close(loads)
	}
	err = errors.Join(err, searchers.Wait())
	w.calls.Wait()
	return err
}

// selfTest returns an error if the kernel counts wrong.
func (w *Worker) selfTest(ctx context.Context) error {
	if w.cfg.SelfTest != nil {
		return w.cfg.SelfTest(ctx)
	}
	by := w.kernels()
	return by.SelfTest(ctx)
}

// loop polls and logs until ctx ends or the worker was idle for long enough, and then leaves.
func (w *Worker) loop(ctx context.Context) {
	poll, lines := time.Tick(pollEvery), time.Tick(logEvery)
	var logged core.Stats
	for idle := false; !idle && ctx.Err() == nil; {
		select {
		case <-poll:
			pulses := make([]uint64, len(w.pulses))
			for i := range pulses {
				pulses[i] = w.pulses[i].Load()
			}
			w.input(func(c *core.Core, now time.Duration) {
				c.Pulsed(now, pulses)
				idle = w.cfg.IdleExit > 0 && c.Idle(now) >= w.cfg.IdleExit
			})
		case <-lines:
			logged = w.log(logged)
		case <-ctx.Done():
		}
	}
	counted := w.Stats().Tasks
	text := "the worker leaves; it has counted " + humanize.Plural(counted, "task")
	w.cfg.Log.Info().Uint64("tasks", counted).Str(humanize.LogField, w.cfg.line(text)).Msg("leaving")
	w.input((*core.Core).Leave)
	<-w.messages.Done()
	if s := w.Stats(); s.Results > 0 {
		text := "left before the coordinator confirmed some results: their tasks may be counted again"
		w.cfg.Log.Info().Int("results", s.Results).Str(humanize.LogField, w.cfg.line(text)).Msg(text)
	}
}

// log logs what the worker does, and what it has done since the last line. It takes the Stats of
// the last line, and returns those of the new one.
func (w *Worker) log(last core.Stats) core.Stats {
	s := w.Stats()
	tasks := s.Tasks - last.Tasks
	state, text := "working",
		fmt.Sprintf("%s in %v; %d of %s search for %s", humanize.Plural(tasks, "task"), logEvery,
			s.Busy, humanize.Plural(w.cfg.Threads, "thread"), strings.Join(s.Runs, ", "))
	if s.Reason != "" {
		wait := w.Waits(s)
		state, text = "idle", "idle: "+wait.Sentence()
	}
	if s.Results > 0 {
		text += fmt.Sprintf("; %s without a receipt", humanize.Plural(s.Results, "result"))
	}
	w.cfg.Log.Info().Uint64("tasks", tasks).Int("searching", s.Busy).Int("waiting",
		s.Waiting).Int("undelivered", s.Results).
		Strs("runs", s.Runs).Str("for", string(s.Reason)).Str(humanize.LogField,
		w.cfg.line(text)).Msg(state)
	return s
}

// input gives the core an input and executes its commands.
func (w *Worker) input(in func(c *core.Core, now time.Duration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.began)
	in(w.core, now)
	for _, command := range w.core.Commands() {
		switch c := command.(type) {
		case core.Ask:
			c.Request.Host, c.Request.Version, c.Request.Kernel = w.cfg.Host, w.cfg.Version,
				w.cfg.Kernel.Name
			c.Request.Threads, c.Request.Searchers = w.cfg.Threads, len(w.loads)
			w.calls.Go(func() {
				reply, err := w.transport.RequestWork(w.messages, c.Run, w.cfg.Process, &c.Request)
				w.input(func(to *core.Core, now time.Duration) {
					if !to.Replaced(c.Run, c.Request.Number) {
						w.noteFailure(err)
					}
					to.Replied(now, c.Run, c.Request.Number, reply)
				})
			})
		case core.Deliver:
			w.calls.Go(func() {
				reply, err := w.transport.Deliver(w.messages, c.Run, w.cfg.Process, &c.Delivery)
				w.noteFailure(err)
				w.input(func(to *core.Core, now time.Duration) { to.Receipted(now, c.Run, c.Number, reply) })
			})
		case core.Search:
			ctx, cancel := context.WithCancel(context.Background())
			w.stops[c.Searcher] = cancel
			w.loads[c.Searcher] <- load{c, ctx} // has room: the searcher is idle
		case core.Stop:
			w.stops[c.Searcher]()
		case core.Note:
			level := zerolog.InfoLevel
			if c.Warn {
				level = zerolog.WarnLevel
			}
			w.cfg.Log.WithLevel(level).Str("run", c.Run).Str(humanize.LogField,
				w.cfg.line("run "+c.Run+": "+c.Text)).Msg(c.Text)
		}
	}
	if w.core.Left(now) {
		w.leave()
	} else if next := w.core.Next(); next != core.Never {
		w.timer.Reset(next - now)
	}
}

// warnEvery is the least time between two warnings about messages that got no reply.
const warnEvery = time.Minute

// failures counts the messages that got no reply since the last warning.
type failures struct {
	mu    sync.Mutex
	since time.Time // of the first of them
	count int
}

// noteFailure logs why a message got no reply, and warns once a minute while messages fail.
func (w *Worker) noteFailure(err error) {
	if err == nil || w.messages.Err() != nil {
		return
	}
	w.cfg.Log.Debug().Err(err).Msg("a message to a coordinator got no reply")
	f := &w.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.count == 0 {
		f.since = now
	}
	f.count++
	if waited := now.Sub(f.since); waited >= warnEvery {
		text := fmt.Sprintf("%s to coordinators got no reply in %v; the last: %v",
			humanize.Plural(f.count, "message"), waited.Round(time.Second), err)
		w.cfg.Log.Warn().Err(err).Int("messages", f.count).Str(humanize.LogField,
			w.cfg.line(text)).Msg("no replies")
		f.count = 0
	}
}

// Stats returns what the worker has done, and what it does now. It may be called at any time.
func (w *Worker) Stats() core.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.core.Stats(time.Since(w.began))
}

// Waits returns for what a worker with these stats waits, or nil if it searches.
func (w *Worker) Waits(s core.Stats) *queens.Wait {
	if s.Reason == "" {
		return nil
	}
	if w.cfg.Problem != nil {
		if why := w.cfg.Problem(); why != "" {
			return &queens.Wait{Reason: queens.NoServer, Why: why}
		}
	}
	return &queens.Wait{Reason: s.Reason, Why: s.Why}
}

// NewProcess returns a process on a machine, with a random name.
func NewProcess(machine queens.Machine) queens.Process {
	return queens.Process{Machine: machine, Name: rand.Text()[:12]}
}
