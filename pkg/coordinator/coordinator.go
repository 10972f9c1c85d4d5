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
	"sync"
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
)

// Tasks is the queue of chunks for the workers. Its methods are safe for concurrent use.
type Tasks interface {
	// Publish stores a chunk in the queue and returns the sequence number of its message.
	Publish(ctx context.Context, chunk *run.Chunk) (sequence uint64, err error)
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
		each func(run.ChunkResult, run.StreamPosition), caughtUp func(asOf time.Time)) error
	// Trim allows the results of the run up to a position to be deleted: they are recorded.
	Trim(ctx context.Context, run string, at run.StreamPosition) error
}

// Announcements tells the workers that the run is alive.
type Announcements interface {
	PublishAnnouncement(b run.Announcement) error
}

// Claim is this coordinator's ownership of the run, among all coordinators that use the
// server.
type Claim interface {
	// SetSnapshot has the next Renew store the snapshot.
	SetSnapshot(s *run.Snapshot)
	// Renew publishes how far the run is, and how often a task has lost its accepted result. An error that wraps [run.ErrIncomplete] or
	// [run.ErrCancelled] means that the claim is lost; other errors are temporary.
	Renew(ctx context.Context, state run.State, done, lost uint64) error
}

// Config configures a [Coordinator]. All times must be positive, Roster and OnSnapshot set.
type Config struct {
	// Known is the published total to compare with, or nil if none is published.
	Known *big.Int
	// Roster knows the workers connected: the window grows with their threads.
	Roster *progress.Roster
	// Epoch is that of this coordinator, see [run.Record].
	Epoch uint64
	// Priority is how the run shares workers with others; empty means [run.Normal].
	Priority run.Priority
	// FinishIn is how long the whole run should take; 0 means [progress.DefaultTarget].
	FinishIn time.Duration
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
	// their context. CheckThreads is how many tasks are checked at once at the end of a run, and all the time if
	// the time for checks is not bounded, see [ledger.Trust]; otherwise one is.
	Referee, Check func(ctx context.Context, task *queens.Task, kernels ...string) (run.TaskCount, error)
	CheckThreads   int
	// Admits reports whether a key is a voter, by the proof of its admission; see [run.Heartbeat]; and
	// if so, whether only the join token admits it. If it is nil, only OwnKeys are voters.
	Admits func(key string, admission []byte) (admitted, byToken bool)
	// Join is the command that starts a worker for the run, for the log.
	Join string
	// OwnKeys are the keys of the workers of this process.
	OwnKeys []string
	// OnComplete, unless nil, is called with the total of a complete run while the claim
	// is still renewed. If it fails, so does the run, without a total.
	OnComplete func(ctx context.Context, total *big.Int) error
	// OnSnapshot is called every ReportEvery. It must not block.
	OnSnapshot func(run.Snapshot)
	// OnLost, unless nil, is called with the name of a worker that is lost. It must not block.
	OnLost func(worker string)
	// OnSearch, unless nil, is called with the time that a worker has taken to search a task. It must
	// not block.
	OnSearch func(time.Duration)
	// Alone, unless nil, counts a task in a process of its own: a task that kills processes kills that one
	// only. It honours its context.
	Alone       func(ctx context.Context, task *queens.Task) (run.TaskCount, error)
	ReportEvery time.Duration
	Log         zerolog.Logger

	newID func() uint64 // of chunks, see flight.Config; nil means newChunkID
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
	Snapshot   run.Snapshot  // At the end; of no run if the ledger could not be loaded.
	Rate       float64       // Solutions per second of [ledger.Ledger.Wall].
	CoreTime   time.Duration // Time of all accepted searches of the run together.
	Resumed    uint64        // Tasks that were accepted before this coordinator began.
	Duplicates uint64        // Results that repeated accepted ones.
	Refused    uint64        // Results that fit no task of the run, over the whole run.
	Workers    int           // Workers with an accepted result, over the whole run.
}

// Coordinator is the service for one run: the goroutines around a [core].
type Coordinator struct {
	cfg           Config
	run           string
	tasks         Tasks
	results       Results
	announcements Announcements
	claim         Claim
	ledger        *ledger.Ledger
	core          *core // of the event loop; nil until the ledger is loaded

	events     chan event
	deliveries chan delivery
	working    sync.WaitGroup // goroutines that do what the core orders
	greetings  chan struct{}  // each asks announcementLoop for an announcement at once
	details    details
	shared     shared
	limiter    ratelimit.Limiter // of failed requests to the queue

	// Of the event loop.
	dispatched  int // commands of flight that are carried out
	reportedAt  time.Time
	beatenAt    time.Time // when the announcement was made last
	announcedAt time.Time // when an announcement last said that work waits again
}

// shared is what the event loop tells other goroutines.
type shared struct {
	announcement atomic.Pointer[run.Announcement]
	snapshot     atomic.Pointer[run.Snapshot]
	holdings     atomic.Pointer[holdings]
}

// holdings is what the ledger has at a moment: tasks with an accepted result, how often a task lost its own, and
// the position of the last result. The sum of done and lost never falls, so that the record of a run tells which of
// two ledgers is newer.
type holdings struct {
	done, lost uint64
	position   run.StreamPosition
}

// New returns a coordinator of the ledger's run. It does not start it.
func New(cfg Config, tasks Tasks, results Results, announcements Announcements, claim Claim, l *ledger.Ledger) *Coordinator {
	c := &Coordinator{
		cfg: cfg, run: l.Header().Run, tasks: tasks, results: results, announcements: announcements, claim: claim, ledger: l,
		events: make(chan event), deliveries: make(chan delivery, maxBatch), greetings: make(chan struct{}, 1), details: details{ended: make(chan struct{})},
	}
	announcement := firstAnnouncement(&c.cfg, c.run)
	c.shared.announcement.Store(&announcement)
	c.shareHoldings()
	return c
}

// Run takes the run to its end, once. The outcome tells how far it came even if there is
// an error, which wraps [run.ErrContradiction], [run.ErrIncomplete],
// [run.ErrCancelled] or the cause of ctx's end. The run is announced, and its claim renewed, also while
// the ledger is loaded.
func (c *Coordinator) Run(ctx context.Context) (Outcome, error) {
	var total *big.Int
	err := runWith(ctx, func(ctx context.Context) (err error) {
		total, err = c.runToTotal(ctx)
		return err
	}, c.renewLoop, c.announcementLoop)
	if err != nil {
		total = nil
	}
	return c.outcome(total), err
}

func (c *Coordinator) outcome(total *big.Int) Outcome {
	of := c.ledger.Figures()
	o := Outcome{Total: total, CoreTime: of.CoreTime(), Resumed: c.ledger.Len(), Refused: c.ledger.Rejected(), Workers: len(of.Workers())}
	if c.core != nil { // it was loaded
		o.Snapshot = c.core.measure(time.Now())
		o.Rate = c.core.meanRate()
		o.Resumed, o.Duplicates = c.core.figures.resumed, c.core.figures.results.Duplicate
	}
	return o
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

// runToTotal loads the ledger, collects the results and returns the total.
func (c *Coordinator) runToTotal(ctx context.Context) (*big.Int, error) {
	if err := c.load(ctx); err != nil {
		c.endDetails()
		return nil, err
	}
	if err := c.collect(ctx); err != nil {
		return nil, err
	}
	c.report(c.core.measure(time.Now()))
	c.core.journal.missedChecks(c.core)
	_, missed := c.core.agreement.Checks()
	if err := c.ledger.SetMissed(missed); err != nil {
		return nil, err
	}
	total, err := audit.Total(ctx, c.ledger, c.cfg.Known)
	if err == nil && c.cfg.OnComplete != nil {
		err = c.cfg.OnComplete(ctx, total)
	}
	return total, err
}

// load makes the core from the ledger.
func (c *Coordinator) load(ctx context.Context) (err error) {
	c.core, err = newCore(ctx, time.Now(), &c.cfg, c.ledger)
	if err != nil {
		c.core = nil
		return err
	}
	c.core.greet = c.Greet
	return nil
}

// collect publishes tasks and records results until every task has one.
func (c *Coordinator) collect(ctx context.Context) error {
	defer c.endDetails()
	if c.core.isComplete() {
		return nil
	}
	if err := c.tasks.Purge(ctx, c.run); err != nil {
		c.cfg.Log.Warn().Err(err).Msg("can't delete the tasks of an earlier coordinator: they may be counted twice")
	}
	after := c.ledger.Position()
	defer c.working.Wait()
	return runWith(ctx, c.eventLoop, func(ctx context.Context) error { return c.receiveLoop(ctx, after) })
}

// shareHoldings tells renewLoop what the ledger holds.
func (c *Coordinator) shareHoldings() {
	c.shared.holdings.Store(&holdings{c.ledger.Len(), c.ledger.Lost(), c.ledger.Position()})
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
		if s := c.shared.snapshot.Load(); s != nil {
			c.claim.SetSnapshot(s)
		}
		has := c.shared.holdings.Load()
		err := c.claim.Renew(ctx, run.Running, has.done, has.lost)
		if errors.Is(err, run.ErrIncomplete) || errors.Is(err, run.ErrCancelled) {
			return err
		}
		if err == nil {
			err = c.results.Trim(ctx, c.run, has.position)
		}
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Debug().Err(err).Msg("can't renew the run's record")
		}
	}
}
