// Package coordinator is the service that takes one run from its manifest to its total: it
// publishes the tasks, a window of them at a time, records their results in the ledger,
// republishes what is lost, settles contradicting counts by a count of its own or by further
// workers, and has the ledger audited when every task has a result.
//
// The transport may lose, repeat and reorder messages, and this process may die at any
// moment. Only the ledger counts: the total is computed from it at the end, from zero.
//
// The package does not connect to servers, nor choose runs, nor print.
package coordinator

import (
	"context"
	"errors"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// Tasks is the queue of chunks for the workers. Its methods are safe for concurrent use.
type Tasks interface {
	// Publish stores a chunk in the queue and returns the sequence number of its message.
	Publish(ctx context.Context, chunk *queens.Chunk) (sequence uint64, err error)
	// Has reports whether the message of a chunk is still in the queue, and whether a worker has taken it.
	Has(ctx context.Context, run string, chunk, sequence uint64) (queued, taken bool, err error)
	// Delete deletes the message of a chunk from the queue.
	Delete(ctx context.Context, run string, chunk, sequence uint64) error
	// Purge deletes all chunks of a run from the queue.
	Purge(ctx context.Context, run string) error
}

// Results is the stream of the workers' results. Its methods are safe for concurrent use.
type Results interface {
	// Read calls each with every result of the run after a position, some perhaps more
	// than once, until ctx ends. It calls caughtUp after the last of the results that were
	// stored at the start, and again and again when every result that was stored at a time
	// has been passed to each.
	Read(ctx context.Context, run string, after run.StreamPosition,
		each func(queens.ChunkResult, run.StreamPosition), caughtUp func(asOf time.Time)) error
	// Trim allows the results of the run up to a position to be deleted: they are recorded.
	Trim(ctx context.Context, run string, at run.StreamPosition) error
}

// Beats tells the workers that the run is alive.
type Beats interface {
	PublishBeat(b run.Beat) error
}

// Claim is this coordinator's ownership of the run, among all coordinators that use the
// server.
type Claim interface {
	// SetProgress has the next Renew publish how far the run is, how fast, and what bounds it.
	SetProgress(p *run.Progress)
	// SetLost has the next Renew publish how often a task has lost its accepted result.
	SetLost(lost uint64)
	// Renew publishes how far the run is. An error that wraps [queens.ErrIncomplete] or
	// [queens.ErrCancelled] means that the claim is lost; other errors are temporary.
	Renew(ctx context.Context, state run.State, done uint64) error
}

// Config configures a [Coordinator]. All times must be positive, Roster and OnProgress set.
type Config struct {
	// Known is the published total to compare with, or nil if none is published.
	Known *big.Int
	// Roster knows the workers connected: the window grows with their threads.
	Roster *progress.Roster
	// Epoch is that of this coordinator, see [run.Record].
	Epoch uint64
	// Priority is how the run shares workers with others; empty means [run.Normal].
	Priority run.Priority
	// CheckAfter is the age at which the queue is checked for a task without a result. A
	// task that has left the queue is republished, unless its result arrives before the
	// next sweep; there are four sweeps in CheckAfter.
	CheckAfter time.Duration
	// RepublishAfter is the least age at which a task is republished although the queue
	// has it. It doubles with each attempt.
	RepublishAfter time.Duration
	// DisputeTimeout is how long to wait for a worker that can settle a dispute when
	// nothing else is left to do.
	DisputeTimeout time.Duration
	// Referee and Check, unless nil, count a task in this process by the fastest other kernel than
	// those named: the count of Referee settles a dispute, that of Check is a spot check. They honour
	// their context. CheckThreads is how many tasks a thorough run checks at once, see [ledger.Trust];
	// others check one.
	Referee, Check func(ctx context.Context, task *queens.Task, kernels ...string) (queens.TaskCount, error)
	CheckThreads   int
	// Admits reports whether a key is a voter, by the proof of its admission; see [run.Heartbeat]; and
	// if so, whether only the join token admits it. If it is nil, only OwnKeys are voters.
	Admits func(key string, admission []byte) (admitted, byToken bool)
	// OwnKeys are the keys of the workers of this process.
	OwnKeys []string
	// OnComplete, unless nil, is called with the total of a complete run while the claim
	// is still renewed. If it fails, so does the run, without a total.
	OnComplete func(ctx context.Context, total *big.Int) error
	// OnProgress is called with the progress every ReportEvery. It must not block.
	OnProgress func(run.Progress)
	// OnStats, unless nil, is called after each OnProgress, with the same progress. It must not block.
	OnStats func(run.Stats)
	// OnSearch, unless nil, is called with the time that a worker has taken to search a task. It must
	// not block.
	OnSearch func(time.Duration)
	// Alone, unless nil, counts a task in a process of its own: a task that kills processes kills that one
	// only. It honours its context.
	Alone       func(ctx context.Context, task *queens.Task) (queens.TaskCount, error)
	ReportEvery time.Duration
	Log         zerolog.Logger
}

// Defaults for the times of a [Config].
const (
	DefaultCheckAfter     = 15 * time.Second
	DefaultRepublishAfter = 10 * time.Minute
	DefaultDisputeTimeout = 20 * time.Second
	DefaultReportEvery    = 250 * time.Millisecond
)

// Outcome is the result of a run.
type Outcome struct {
	// Total is nil unless the run is complete and its total beyond doubt.
	Total      *big.Int
	Progress   run.Progress
	Rate       float64       // Solutions per second since this coordinator began.
	CoreTime   time.Duration // Time of all accepted searches of the run together.
	Resumed    uint64        // Tasks that were accepted before this coordinator began.
	Duplicates uint64        // Results that repeated accepted ones.
	Refused    uint64        // Results that fit no task of the run, over the whole run.
	Workers    int           // Workers with an accepted result, over the whole run.
}

// Coordinator is the service for one run.
type Coordinator struct {
	cfg       Config
	run       string
	tasks     Tasks
	results   Results
	beats     Beats
	claim     Claim
	ledger    *ledger.Ledger
	collector *collector
	window    *window
	trust     trust
	meter     *progress.Meter

	requests   chan request // for dispatchLoop
	completed  chan request
	deliveries chan delivery
	greetings  chan struct{} // each asks beatLoop for a beat at once
	lookups    chan []uint64 // ids of tasks to look up
	found      chan queens.Task
	referee    referee
	checker    checker
	alone      alone
	lifts      chan lift
	details    details

	// Used by renewLoop too.
	holdings      atomic.Pointer[holdings]
	ackedPosition atomic.Pointer[run.StreamPosition]
	beat          atomic.Pointer[run.Beat] // for beatLoop
	latest        atomic.Pointer[run.Progress]

	resumed         uint64    // tasks accepted before
	caughtUp        time.Time // all results that the server had at this time are recorded
	announcedAt     time.Time // when a beat last said that work waits again
	reconciled      bool      // the results that the server had at the start are recorded
	wanted          []uint64  // tasks to look up
	leases          int       // chunks that workers held at the last beat
	lost            uint64    // tasks that left the queue without a result
	limiter         ratelimit.Limiter
	lostWorkers     ratelimit.Burst // of their lines in the log
	warnHeldAt      time.Time       // when to log next that a worker keeps others idle
	boundMeter      progress.BoundMeter
	bound           atomic.Pointer[run.Bound] // what bounds the run
	warnNoWorkersAt time.Time
	blockedSince    time.Time     // zero while the workers connected can do something
	warnVotersAt    time.Time     // when to log that too few voters are connected
	warnedVoters    int           // when last logged
	ownChecks       bool          // spot checks are left to this process
	toConsider      int           // parked chunks to consider soon
	resumedTime     time.Duration // of the accepted searches before

	waitingLifts     []lift // until everything is voided
	lostToQuarantine uint64 // tasks that have no accepted result any more, until that is logged
}

// New returns a coordinator of the ledger's run. It does not start it.
func New(cfg Config, tasks Tasks, results Results, beats Beats, claim Claim, l *ledger.Ledger) *Coordinator {
	h := l.Header()
	c := &Coordinator{
		cfg: cfg, run: h.Run, tasks: tasks, results: results, beats: beats, claim: claim, ledger: l, resumed: l.Len(),
		requests: make(chan request), completed: make(chan request),
		deliveries: make(chan delivery, maxBatch), greetings: make(chan struct{}, 1),
		lookups: make(chan []uint64), found: make(chan queens.Task, maxBatch), referee: newReferee(),
		checker: newChecker(), alone: newAlone(), lifts: make(chan lift), details: newDetails(),
	}
	c.trust = newTrust(&c.cfg, l)
	shares := split.Shares(&h.Manifest)
	c.window = newWindow(&c.cfg, h.Run, &h.Manifest, shares, c.trust.agrees)
	c.window.keep = c.trust.Redundancy > 1
	if c.trust.Thorough && cfg.Check != nil {
		c.window.most, c.checker.threads = maxChecks, max(cfg.CheckThreads, 1)
	}
	c.collector = newCollector(&c.cfg, l, c.window, &c.trust, shares)
	c.updateBeat()
	return c
}

// Run takes the run to its end, once. The outcome tells how far it came even if there is
// an error, which wraps [queens.ErrContradiction], [queens.ErrIncomplete],
// [queens.ErrCancelled] or the cause of ctx's end.
func (c *Coordinator) Run(ctx context.Context) (Outcome, error) {
	defer c.window.close()
	c.warnNoWorkersAt = time.Now().Add(noWorkersDelay)
	err := c.load(ctx)
	c.resetMeter()
	c.publishPosition()
	var total *big.Int
	if err == nil {
		err = runWith(ctx, func(ctx context.Context) (err error) {
			total, err = c.runToTotal(ctx)
			return err
		}, c.renewLoop, c.beatLoop)
	}
	if err != nil {
		total = nil
	}
	return Outcome{
		Total:      total,
		Progress:   c.progress(),
		Rate:       c.meter.MeanRate(),
		CoreTime:   c.collector.coreTime,
		Resumed:    c.resumed,
		Duplicates: c.collector.duplicates,
		Refused:    c.ledger.Rejected(),
		Workers:    len(c.collector.workers),
	}, err
}

// runWith runs task and, until it returns, the services beside it. It returns when all
// have ended, with the first error.
func runWith(ctx context.Context, task func(context.Context) error, services ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	for _, service := range services {
		group.Go(func() error { return service(ctx) })
	}
	group.Go(func() error { defer stop(); return task(ctx) })
	return group.Wait()
}

// runToTotal collects the results and returns the total.
func (c *Coordinator) runToTotal(ctx context.Context) (*big.Int, error) {
	if err := c.collect(ctx); err != nil {
		return nil, err
	}
	c.report(c.progress())
	if err := c.ledger.SetMissed(c.window.missed); err != nil {
		return nil, err
	}
	total, err := audit.Total(ctx, c.ledger, c.cfg.Known)
	if err == nil && c.cfg.OnComplete != nil {
		err = c.cfg.OnComplete(ctx, total)
	}
	return total, err
}

// collect publishes tasks and records results until every task has one.
func (c *Coordinator) collect(ctx context.Context) error {
	defer c.endDetails()
	if c.collector.complete() && len(c.collector.judged) == 0 {
		return nil
	}
	if err := c.tasks.Purge(ctx, c.run); err != nil {
		c.cfg.Log.Warn().Err(err).Msg("can't delete the tasks of an earlier coordinator: they may be counted twice")
	}
	after := c.ledger.Position()
	receive := func(ctx context.Context) error { return c.receiveLoop(ctx, after) }
	return runWith(ctx, c.eventLoop, receive, c.dispatchLoop, c.lookupLoop, c.refereeLoop, c.checkLoop, c.aloneLoop)
}

// resetMeter starts measuring rates from what is done now.
func (c *Coordinator) resetMeter() {
	c.meter = progress.NewMeter(c.collector.manifest.Tasks, c.collector.workDone(), c.collector.sums.Partial())
}

func (c *Coordinator) progress() run.Progress {
	workers, threads := c.cfg.Roster.Present()
	p := c.meter.Measure(c.collector.agreedLen, c.collector.workDone(), c.collector.sums.Partial(), workers > 0)
	m := &c.collector.manifest
	p.Run, p.N, p.Symmetry, p.Placed, p.State = c.run, m.N, m.Symmetry, len(m.Placed), run.Running
	p.WorkerCount, p.Threads, p.Workers = workers, threads, c.cfg.Roster.Workers()
	p.SharedWith = c.cfg.Roster.Others(c.run)
	if b := c.bound.Load(); b != nil {
		p.Bound = *b
	}
	p.Republished, p.Conflicts = c.window.republished, len(c.ledger.Disputes())
	c.latest.Store(&p)
	return p
}

// renewInterval is the time between renewals of the claim, each of which also has the
// recorded results trimmed.
const renewInterval = 2 * time.Second

// renewLoop renews the claim until it is lost or ctx ends.
func (c *Coordinator) renewLoop(ctx context.Context) error {
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if p := c.latest.Load(); p != nil {
			c.claim.SetProgress(p)
		}
		has := c.holdings.Load()
		c.claim.SetLost(has.lost)
		err := c.claim.Renew(ctx, run.Running, has.done)
		if errors.Is(err, queens.ErrIncomplete) || errors.Is(err, queens.ErrCancelled) {
			return err
		}
		if at := c.ackedPosition.Load(); err == nil && at != nil {
			err = c.results.Trim(ctx, c.run, *at)
		}
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Debug().Err(err).Msg("can't renew the run's record")
		}
	}
}
