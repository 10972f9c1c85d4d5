package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/symmetry"
)

// runOptions are the flags of the commands that carry a run to its end.
type runOptions struct {
	workers int
	kernel  string
	unique  bool
	json    bool
	http    string
	server  serverOptions
	data    dataFlag

	flags *pflag.FlagSet
}

func (o *runOptions) register(flags *pflag.FlagSet) {
	o.flags = flags
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "workers in this process, one thread each, 0 to 4096; with --nats the default is 0")
	flags.Var(kernelFlag(&o.kernel, kernel.Auto), "kernel", "search that the workers in this process use; see worker kernels")
	flags.BoolVar(&o.unique, "unique", false, "also give the number of fundamental solutions, those that differ by more than a turn or a mirror: in the summary, and with --json")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.StringVar(&o.http, "http", "", "host:port on which to answer /healthz and /readyz")
	o.server.register(flags)
	o.data.register(flags)
}

// carriage carries one run to its end: it opens the way to the workers, serves the
// run, and reports what it came to.
type carriage struct {
	app     *cli.App
	options *runOptions
	kernel  kernel.Kernel
	answers *httpserver.Server // nil unless it is asked for
	show    *ui
	store   *runstore.Store
	ledger  *ledger.Ledger
	bus     *bus.Bus // once there is a connection
	fresh   bool     // the ledger was made for this
	begun   bool     // the run is claimed
	unique  *big.Int // fundamental solutions; nil unless they are asked for, and there is a total
	start   time.Time
	beat    atomic.Int64 // when the run last reported, in Unix nanoseconds
}

// prepare checks the options, before anything is begun.
func (c *carriage) prepare() error {
	o := c.options
	if !o.flags.Changed("workers") && o.server.nats.URL != "" {
		o.workers = 0
	}
	switch {
	case o.workers < 0 || o.workers > cli.MaxThreads:
		return cli.Usagef("--workers must be from 0 to %d, not %d", cli.MaxThreads, o.workers)
	case o.workers == 0 && o.server.nats.URL == "" && o.server.listen == "":
		return cli.Usagef("--workers 0 leaves nobody to count: let workers in with --listen, or name their server with --nats")
	}
	if err := o.server.check(); err != nil {
		return err
	}
	if err := cli.CheckHTTP(o.http); err != nil {
		return err
	}
	var err error
	if c.kernel, err = kernel.Choose(o.kernel); err != nil {
		return cli.Usagef("--kernel: %v", err)
	}
	if c.store, err = o.data.open(c.app.Log); err != nil {
		return err
	}
	c.show = newUI(c.app)
	return c.listen()
}

// carry goes on with the run of the ledger, prints its total, and closes the ledger. A
// new run that can't even be begun leaves nothing behind.
func (c *carriage) carry(ctx context.Context, stdout io.Writer) error {
	defer c.show.answerSignals()()
	result, err := c.serve(ctx)
	if result == nil {
		result = c.result(&coordinator.Outcome{}, err)
	}
	if result.Total != nil && c.options.server.nats.URL != "" {
		time.Sleep(lastLine)
	}
	err = errors.Join(err, result.Write(stdout, c.options.json), c.ledger.Close())
	if c.fresh && !c.begun {
		_ = os.RemoveAll(c.store.Folder(c.ledger.Header().Run)) // nothing is in it
	}
	return err
}

// lastLine is how long a cluster's coordinator waits between its last line of log and its
// total: who copies both streams into one, as Docker does, has the total last.
const lastLine = 100 * time.Millisecond

// serve connects, carries the run to its end, and leaves of it on the server what a
// resumed run needs, and nothing where there is nothing to resume. The result is nil if the
// run could not begin.
func (c *carriage) serve(ctx context.Context) (*report.Result, error) {
	h := c.ledger.Header()
	// It may be of an earlier time. Who cancels the run now makes it again.
	if err := c.store.WithdrawCancel(h.Run); err != nil {
		return nil, err
	}
	if c.options.workers > 0 {
		if err := kernel.SelfTest(ctx, c.kernel); err != nil {
			return nil, err
		}
	}
	server, err := c.options.server.open(h.Run, c.store.ServerFolder(h.Run), c.app.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		server.close()
		if c.ledger.State().Finished() {
			_ = os.RemoveAll(c.store.ServerFolder(h.Run)) // nothing in it is needed any more
		}
	}()
	c.bus = server.bus
	c.ledger.SetServerURL(server.publicURL())
	claim, err := c.claim(ctx)
	if err != nil {
		return nil, err
	}
	c.begun = true
	return c.count(ctx, server, claim)
}

// claim sets up the server and takes the run.
func (c *carriage) claim(ctx context.Context) (*bus.Claim, error) {
	for _, id := range c.ledger.Damaged() {
		c.app.Log.Warn().Uint64("task", id).Msg("the ledger's record of the task was damaged: it is counted again")
	}
	err := c.bus.Ensure(ctx)
	if err != nil {
		return nil, c.setUpError(ctx, err)
	}
	h := c.ledger.Header()
	claim, err := c.bus.Registry().Claim(ctx, run.Record{
		Run: h.Run, Manifest: h.Manifest, State: run.Running, Owner: owner(), Done: c.ledger.Len(), Created: h.Created,
	})
	switch {
	case err == nil:
		return claim, nil
	case errors.Is(err, queens.ErrCancelled):
		// Whoever cancelled it has left the record for this coordinator to learn it.
		return nil, errors.Join(err, c.ledger.SetState(run.Cancelled), c.bus.Registry().Delete(ctx, h.Run))
	case c.fresh:
		// The record may be there, although no answer came.
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer done()
		_ = c.bus.Registry().Delete(ctx, h.Run) // as far as that goes: err says why the run can't begin
	}
	return nil, c.setUpError(ctx, err)
}

func (c *carriage) setUpError(ctx context.Context, err error) error {
	if c.options.server.nats.URL == "" {
		err = fmt.Errorf("%w (its store is under %s: another folder with --data)", err, c.store.Path())
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.fresh:
		return fmt.Errorf("set up the server: %w", err)
	}
	return fmt.Errorf("%w: set up the server: %w", queens.ErrIncomplete, err)
}

// count goes on with the run that is claimed, to its end. All is written down and told to
// others before this process says a word: its terminal may be stopped.
func (c *carriage) count(ctx context.Context, server *connection, claim *bus.Claim) (*report.Result, error) {
	if err := c.ledger.SetState(run.Running); err != nil {
		return nil, err
	}
	h := c.ledger.Header()
	event := c.app.Log.Info().Str("run", h.Run).Int("n", h.Manifest.N).Str("symmetry", string(h.Manifest.Symmetry)).
		Uint64("tasks", h.Manifest.Tasks).Uint64("done", c.ledger.Len()).Int("workers", c.options.workers).
		Str("kernel", c.kernel.Name).Str("server", server.address)
	if len(h.Manifest.Placed) > 0 {
		event.Str("placed", humanize.Squares(h.Manifest.Placed))
	}
	event.Msg("counting")
	c.show.start()
	outcome, err := c.execute(ctx, server, claim)
	resumable, failed := c.leave(ctx, claim, &outcome, err)
	c.show.stop()
	result := c.result(&outcome, err)
	result.Count = &report.Count{
		Progress: outcome.Progress, Rate: outcome.Rate, Resumed: outcome.Resumed,
		Duplicates: outcome.Duplicates, Refused: outcome.Refused + c.bus.Rejected(),
	}
	if !c.show.unresponsive && (err != nil || !showTable(c.app, result)) {
		result.Log(c.app.Log)
	}
	if resumable {
		c.app.Log.Info().Str("run", h.Run).Msg("to go on with it: coordinator resume " + h.Run)
	}
	return result, errors.Join(err, failed)
}

// countUnique counts the fundamental solutions, where they are asked for. An error says
// that there is no total either: they may not go together.
func (c *carriage) countUnique(ctx context.Context, total *big.Int) (err error) {
	if !c.options.unique {
		return nil
	}
	slow := time.AfterFunc(time.Second, func() {
		c.app.Log.Info().Msg("counting the symmetric solutions, for --unique, which takes a while")
	})
	defer slow.Stop()
	c.unique, err = symmetry.Fundamental(ctx, c.ledger.Header().Manifest.N, total, runtime.GOMAXPROCS(0))
	return err
}

// leaveWithin bounds the time that a run takes to clean up on the server.
const leaveWithin = 2 * time.Second

// leave writes down how the run ended, and removes from the server what nobody will
// need: of a run that can be resumed its tasks, of another everything. It reports whether
// it is for this coordinator to be resumed.
func (c *carriage) leave(ctx context.Context, claim *bus.Claim, outcome *coordinator.Outcome, ended error) (resumable bool, failed error) {
	run, state := c.ledger.Header().Run, final(ended)
	saved := c.ledger.SetState(state)
	if errors.Is(ended, saved) {
		saved = nil // said already: the ledger can't be written
	}
	if errors.Is(ended, bus.ErrTakenOver) {
		return false, saved // what is on the server is the other's
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer done()
	err := claim.Renew(ctx, state, c.ledger.Len())
	if errors.Is(err, bus.ErrTakenOver) {
		c.app.Log.Warn().Err(err).Msg("what is on the server is left to the other coordinator")
		return false, saved
	}
	c.publishEnd(outcome, state)
	if state.Finished() {
		err = c.bus.Registry().Delete(ctx, run)
	} else {
		err = errors.Join(err, c.bus.Tasks().Purge(ctx, run))
	}
	if err != nil {
		c.app.Log.Warn().Str("error", cli.OneLine(err)).Msg("messages of the run stay on the server")
	}
	return !state.Finished(), saved
}

// publishEnd tells those who watch how the run ended.
func (c *carriage) publishEnd(outcome *coordinator.Outcome, state run.State) {
	last := outcome.Progress
	if last.Run == "" {
		return // it was over before it began
	}
	last.State, last.Rate, last.ETA, last.Workers = state, 0, run.Range{}, nil
	if state == run.Complete {
		last.Total = outcome.Total
	}
	c.publish(&last)
}

// final is the state in which a run is left that ended so.
func final(err error) run.State {
	switch {
	case err == nil:
		return run.Complete
	case errors.Is(err, queens.ErrContradiction):
		return run.Contradicted
	case errors.Is(err, queens.ErrCancelled):
		return run.Cancelled
	}
	return run.Stopped
}
