// Package coordinator is the service that carries one run from its manifest to its
// total: it publishes the tasks within a window, enters the results into the
// ledger, publishes again what is expected and not accepted, has contradictions
// settled by further counts, and has the ledger audited when nothing is missing.
//
// The transport may lose, repeat and reorder; this process may die at any moment.
// Only the ledger counts: the total is computed from it at the end, from zero.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Tasks is the queue that lends tasks to the workers. Its methods are safe for concurrent
// use.
type Tasks interface {
	// Publish stores a task for the workers and returns its sequence number.
	Publish(ctx context.Context, task *queens.Task) (sequence uint64, err error)
	// Has reports whether the task published at that sequence is still in the queue.
	Has(ctx context.Context, task *queens.Task, sequence uint64) (bool, error)
	// Delete removes the task published at that sequence.
	Delete(ctx context.Context, task *queens.Task, sequence uint64) error
	// Purge removes all tasks of the run.
	Purge(ctx context.Context, run string) error
}

// Results is the stream of the workers' results. Its methods are safe for concurrent use.
type Results interface {
	// Read calls each with every result of the run after a position, some perhaps more
	// than once, until ctx ends. It calls caughtUp when it has passed on all results that
	// were there at first.
	Read(ctx context.Context, run string, after run.StreamPosition, each func(queens.Result, run.StreamPosition), caughtUp func()) error
	// Trim allows the stream to drop the results of the run up to a position.
	Trim(ctx context.Context, run string, at run.StreamPosition) error
}

// Claim is this coordinator's hold on the run, among all that reach the server.
type Claim interface {
	// Renew tells how far the run is. An error that wraps [queens.ErrIncomplete] or
	// [queens.ErrCancelled] says that the run is this coordinator's no longer; others
	// are of the moment.
	Renew(ctx context.Context, state run.State, done uint64) error
}

// Config says what to expect and how patient to be.
type Config struct {
	// Known is the published total to compare with, or nil where there is none.
	Known *big.Int
	// Roster knows the workers present: the window grows with their threads.
	Roster *progress.Roster
	// CheckAfter is the age at which a task without a result is looked after: it is
	// published again if the queue has it no more.
	CheckAfter time.Duration
	// RepublishAfter is the least age at which it is published again whatever the queue
	// says; it doubles with each attempt.
	RepublishAfter time.Duration
	// DisputeTimeout is how long to wait for a worker that can settle a dispute when
	// nothing else is left to do.
	DisputeTimeout time.Duration
	// OnComplete, if there is one, is called with the total of a complete run, while the claim
	// is still renewed. Its error is that of the run, which has no total then.
	OnComplete func(ctx context.Context, total *big.Int) error
	// OnProgress is called with the progress every ReportEvery. It must not block.
	OnProgress  func(run.Progress)
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

// Validate reports the first thing wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.CheckAfter <= 0 || c.RepublishAfter <= 0 || c.DisputeTimeout <= 0 || c.ReportEvery <= 0:
		return fmt.Errorf("overdue (%v), patience (%v), time to settle (%v) and report interval (%v) must be positive",
			c.CheckAfter, c.RepublishAfter, c.DisputeTimeout, c.ReportEvery)
	case c.Roster == nil || c.OnProgress == nil:
		return errors.New("a coordinator needs a roster and a place to report to")
	}
	return nil
}

// Outcome is what a run came to.
type Outcome struct {
	// Total is nil unless the run is complete and its total beyond doubt.
	Total      *big.Int
	Progress   run.Progress
	Rate       float64       // Solutions a second, since this coordinator began.
	CoreTime   time.Duration // Time of all accepted searches together, ever.
	Resumed    uint64        // Tasks that were accepted before this coordinator began.
	Duplicates uint64        // Results that said again what was accepted.
	Refused    uint64        // Results that fit no task of the run, ever.
	Workers    int           // Workers with an accepted result, ever.
}

// Coordinator is the service, for one run.
type Coordinator struct {
	cfg       Config
	run       string
	tasks     Tasks
	results   Results
	claim     Claim
	ledger    *ledger.Ledger
	collector *collector
	window    *window
	meter     *progress.Meter

	resumed         uint64        // tasks accepted before
	done            atomic.Uint64 // tasks accepted, for those who renew the claim
	ackedPosition   atomic.Pointer[run.StreamPosition]
	warnNoWorkersAt time.Time // when it is to be logged next that no worker is there
	blockedSince    time.Time // since when nothing is left but disputes that nobody here can settle
}

// New returns a coordinator that has not started, of the run that the ledger is of.
func New(cfg Config, tasks Tasks, results Results, claim Claim, l *ledger.Ledger) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	h := l.Header()
	c := &Coordinator{cfg: cfg, run: h.Run, tasks: tasks, results: results, claim: claim, ledger: l, resumed: l.Len()}
	c.window = newWindow(&c.cfg, h.Run, &h.Manifest, l.Has)
	c.collector = newCollector(&c.cfg, l, c.window)
	return c, nil
}

// Run carries the run to its end. The outcome says how far it came whatever the
// error, which wraps [queens.ErrContradiction], [queens.ErrIncomplete],
// [queens.ErrCancelled] or the cause of ctx's end.
func (c *Coordinator) Run(ctx context.Context) (Outcome, error) {
	defer c.window.close()
	c.warnNoWorkersAt = time.Now().Add(noWorkersDelay)
	var sum *big.Int
	err := c.collector.load()
	c.resetMeter()
	if err == nil {
		sum, err = c.runToTotal(ctx)
	}
	last := c.snapshot()
	return Outcome{
		Total:      sum,
		Progress:   last,
		Rate:       c.meter.MeanRate(),
		CoreTime:   c.collector.coreTime,
		Resumed:    c.resumed,
		Duplicates: c.collector.duplicates,
		Refused:    c.ledger.Rejected(),
		Workers:    len(c.collector.workers),
	}, err
}

// runToTotal carries the run on until there is a total. It renews the claim all the while.
func (c *Coordinator) runToTotal(ctx context.Context) (*big.Int, error) {
	var sum *big.Int
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return c.renewLoop(ctx) })
	group.Go(func() error {
		defer stop()
		err := c.collect(ctx)
		if err != nil {
			return err
		}
		c.cfg.OnProgress(c.snapshot())
		if sum, err = audit.Total(ctx, c.ledger, c.cfg.Known); err == nil && c.cfg.OnComplete != nil {
			err = c.cfg.OnComplete(ctx, sum)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return sum, nil
}

// collect publishes tasks and enters results until every task has one.
func (c *Coordinator) collect(ctx context.Context) error {
	if c.collector.complete() {
		return nil
	}
	c.publishPosition()
	if err := c.tasks.Purge(ctx, c.run); err != nil {
		c.cfg.Log.Warn().Err(err).Msg("tasks of an earlier coordinator may be counted once more")
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := newReceiver()
	group.Go(func() error { return in.run(ctx, c.results, c.run, c.ledger.Position()) })
	post := newDispatcher(c.tasks, c.cfg.Log)
	group.Go(func() error { return post.run(ctx) })
	search := newTaskLookup(c.collector.manifest)
	group.Go(func() error { return search.run(ctx) })
	group.Go(func() error {
		defer stop()
		return c.eventLoop(ctx, in, post, search)
	})
	return group.Wait()
}

// resetMeter begins to measure the rate from what is done by now.
func (c *Coordinator) resetMeter() {
	c.meter = progress.NewMeter(c.collector.manifest.Tasks, c.collector.work, c.collector.sums.Partial())
}

// renewInterval is how often the claim is renewed, and results that are safe are told of.
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
		err := c.claim.Renew(ctx, run.Running, c.done.Load())
		if errors.Is(err, queens.ErrIncomplete) || errors.Is(err, queens.ErrCancelled) {
			return err
		}
		if err == nil {
			if at := c.ackedPosition.Load(); at != nil {
				err = c.results.Trim(ctx, c.run, *at)
			}
		}
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Debug().Err(err).Msg("record of the run not renewed")
		}
	}
}
