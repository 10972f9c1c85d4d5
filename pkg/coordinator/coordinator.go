// Package coordinator is the service that carries one run from its manifest to its
// total: it publishes the tasks within a window, enters the results into the
// ledger, publishes again what is expected and not accepted, and puts the total
// together when nothing is missing.
//
// The transport may lose, repeat and reorder. Only the ledger counts: the total is
// computed from it at the end, from zero.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

// Bus carries tasks to the workers and results back. Its methods are safe for
// concurrent use.
type Bus interface {
	// PublishTask stores a task for the workers and returns its place.
	PublishTask(ctx context.Context, task *queens.Task) (place uint64, err error)
	// Queued reports whether the task published at that place is still there.
	Queued(ctx context.Context, task *queens.Task, place uint64) (bool, error)
	// Results calls each with every result of the run, from the first stored, some
	// perhaps more than once, until ctx ends.
	Results(ctx context.Context, run string, each func(queens.Result)) error
}

// Config says what to count and how patient to be.
type Config struct {
	Run      string
	Manifest queens.Manifest
	// Known is the published total to compare with, or nil where there is none.
	Known *big.Int
	// Roster knows the workers present: the window grows with their threads.
	Roster *progress.Roster
	// Overdue is the age at which a task without a result is looked after: it is
	// published again if the queue has it no more.
	Overdue time.Duration
	// Patience is the age at which it is published again whatever the queue says;
	// it doubles with each attempt.
	Patience time.Duration
	// Report is called with the progress every ReportEvery.
	Report      func(progress.Snapshot)
	ReportEvery time.Duration
	Log         zerolog.Logger
}

// Defaults for the times of a [Config].
const (
	DefaultOverdue     = 15 * time.Second
	DefaultPatience    = time.Hour
	DefaultReportEvery = 5 * time.Second
)

// Validate reports the first thing wrong with the configuration.
func (c *Config) Validate() error {
	if err := queens.CheckRun(c.Run); err != nil {
		return err
	}
	switch {
	case c.Overdue <= 0 || c.Patience <= 0 || c.ReportEvery <= 0:
		return fmt.Errorf("overdue (%v), patience (%v) and report interval (%v) must be positive", c.Overdue, c.Patience, c.ReportEvery)
	case c.Roster == nil || c.Report == nil:
		return errors.New("a coordinator needs a roster and a place to report to")
	}
	return nil
}

// Outcome is what a run came to.
type Outcome struct {
	// Total is nil unless the run is complete and its total beyond doubt.
	Total      *big.Int
	Progress   progress.Snapshot
	Repeated   uint64 // Times that a task was published again.
	Duplicates uint64 // Results that said again what was accepted.
	Refused    uint64 // Results that fit no task of the run.
	Disputes   []ledger.Dispute
	Workers    int // Workers with an accepted result.
}

// Coordinator is the service, for one run.
type Coordinator struct {
	cfg    Config
	bus    Bus
	books  *books
	window *window
	meter  *progress.Meter
	missed time.Time // when it was last logged that no worker is there
}

// New returns a coordinator that has not started. The ledger is the run's own.
func New(cfg Config, bus Bus, l *ledger.Ledger) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{cfg: cfg, bus: bus, meter: progress.NewMeter(cfg.Manifest.Tasks)}
	c.window = newWindow(&c.cfg)
	c.books = newBooks(&c.cfg, l, c.window)
	return c, nil
}

// maxGroup is how many results are entered into the ledger together.
const maxGroup = 1024

// Run carries the run to its end. The outcome says how far it came whatever the
// error, which wraps [queens.ErrContradiction], [queens.ErrIncomplete] or the cause
// of ctx's end.
func (c *Coordinator) Run(ctx context.Context) (Outcome, error) {
	err := c.collect(ctx)
	if err == nil {
		err = c.books.undisputed()
	}
	var sum *big.Int
	if err == nil {
		sum, err = total(ctx, &c.cfg.Manifest, c.books.ledger, c.cfg.Known)
	}
	return Outcome{
		Total:      sum,
		Progress:   c.snapshot(),
		Repeated:   c.window.repeated,
		Duplicates: c.books.duplicates,
		Refused:    c.books.refused,
		Disputes:   c.books.ledger.Disputes(),
		Workers:    len(c.books.workers),
	}, err
}

// collect publishes tasks and enters results until every task has one.
func (c *Coordinator) collect(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	results := make(chan queens.Result, maxGroup)
	group.Go(func() error {
		return c.bus.Results(ctx, c.cfg.Run, func(r queens.Result) {
			select {
			case results <- r:
			case <-ctx.Done():
			}
		})
	})
	post := newMail(c.bus, c.cfg.Log)
	group.Go(func() error { post.deliver(ctx); return nil })
	group.Go(func() error {
		defer stop()
		return c.loop(ctx, results, post)
	})
	return group.Wait()
}

// loop owns the window and the books: nothing else touches them while it runs.
func (c *Coordinator) loop(ctx context.Context, results <-chan queens.Result, post *mail) error {
	defer c.window.close()
	sweep := time.NewTicker(c.cfg.Overdue / 4)
	defer sweep.Stop()
	report := time.NewTicker(c.cfg.ReportEvery)
	defer report.Stop()
	for !c.books.complete() {
		next, ok := c.window.next()
		jobs := post.jobs
		if !ok {
			jobs = nil // blocks for ever: the window is full, or all tasks are out
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case jobs <- next:
			c.window.sent(next)
		case placed := <-post.placed:
			c.window.placed(placed)
		case r := <-results:
			if err := c.books.enter(group(r, results)); err != nil {
				return err
			}
		case <-sweep.C:
			_, threads := c.cfg.Roster.Present()
			c.window.resize(threads)
			c.window.sweep()
		case <-report.C:
			s := c.snapshot()
			c.cfg.Report(s)
			c.lonely(&s)
		}
	}
	return nil
}

// lonely says once in a while that nobody counts.
func (c *Coordinator) lonely(s *progress.Snapshot) {
	if s.Workers > 0 || time.Since(c.missed) < sayEvery {
		return
	}
	c.missed = time.Now()
	c.cfg.Log.Warn().Msg("no worker is there to count: start one with worker --nats and the address of the server")
}

// group returns first and the results that are there already.
func group(first queens.Result, results <-chan queens.Result) []queens.Result {
	batch := []queens.Result{first}
	for len(batch) < maxGroup {
		select {
		case r := <-results:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

func (c *Coordinator) snapshot() progress.Snapshot {
	s := c.meter.Measure(c.books.ledger.Len(), c.books.sums.Floor())
	s.Workers, s.Threads = c.cfg.Roster.Present()
	return s
}
