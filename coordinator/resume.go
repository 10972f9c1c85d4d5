package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// resumeOptions are the flags of resume.
type resumeOptions struct {
	takeOver bool
	runOptions
}

func resumeCommand(app *cli.App) *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a count that was interrupted",
		Long: `Go on with a run where it stopped: the newest that is not finished, or the one
named. What is in its ledger under --data is not counted again. Of a finished run it
prints the total again.

A run whose ledger is lost goes on from what the server has of it: name the run, and
the server with --nats. While a coordinator is at work on it elsewhere, that takes
--take-over.`,
		Example: `  coordinator resume
  coordinator resume n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := optionalRunArg(args)
			if err != nil {
				return err
			}
			return resume(cmd.Context(), app, name, &o, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&o.takeOver, "take-over", false, "take the run over from a coordinator that is still at work elsewhere")
	o.register(cmd.Flags())
	return cmd
}

func resume(ctx context.Context, app *cli.App, name string, o *resumeOptions, stdout io.Writer) error {
	c := carriage{app: app, options: &o.runOptions, start: time.Now()}
	if err := c.prepare(); err != nil {
		return err
	}
	if name == "" {
		var err error
		if name, err = c.store.NewestUnfinished(); err != nil {
			return withHint(err)
		}
	}
	if !c.store.Exists(name) {
		if _, err := os.Stat(c.store.ServerFolder(name)); err != nil && o.server.nats.URL == "" {
			return fmt.Errorf("%w; to restore a run whose ledger is lost, name its server with --nats", withHint(c.store.NoRun(name)))
		}
		if err := c.rebuild(ctx, name, o.takeOver); err != nil {
			return err
		}
		return c.carry(ctx, stdout)
	}
	var err error
	if c.ledger, err = openRun(ctx, c.store, name); err != nil {
		return err
	}
	h := c.ledger.Header()
	if c.ledger.State() == run.Cancelled {
		return errors.Join(fmt.Errorf("run %s: %w", name, queens.ErrCancelled), c.ledger.Close())
	}
	if err := c.goesOn(ctx, name, &h.Manifest); err != nil {
		return errors.Join(err, c.ledger.Close())
	}
	if over(c.ledger) {
		return errors.Join(c.again(ctx, stdout), c.ledger.Close())
	}
	return c.carry(ctx, stdout)
}

// openRun opens the ledger of a run to go on with it. One that others are reading, or
// that can't be written, is opened for reading if its run is over.
func openRun(ctx context.Context, store *runstore.Store, name string) (*ledger.Ledger, error) {
	l, err := store.Open(ctx, name)
	if err == nil {
		return l, nil
	}
	if viewed, failed := store.OpenReadOnly(name); failed == nil {
		if over(viewed) {
			return viewed, nil
		}
		err = errors.Join(err, viewed.Close())
	}
	return nil, err
}

// over reports whether there is nothing to go on with: not of a complete run of which
// records were found damaged.
func over(l *ledger.Ledger) bool {
	return l.State().Finished() && (l.State() != run.Complete || l.Len() == l.Header().Manifest.Tasks)
}

// goesOn returns nil when this program can go on with the run as it is asked to.
func (c *carriage) goesOn(ctx context.Context, name string, m *queens.Manifest) error {
	if c.options.unique && len(m.Placed) > 0 {
		return cli.Usagef("--unique: run %s has queens placed beforehand, which turns and mirrors move: leave it out", name)
	}
	return audit.CheckManifest(ctx, name, m)
}

// rebuild makes the ledger of a run anew from the record of it on the server. The
// results that are there come in when the run is carried on.
func (c *carriage) rebuild(ctx context.Context, name string, takeOver bool) error {
	o := c.options
	server, err := o.server.open(name, c.store.ServerFolder(name), c.app.Log)
	if err != nil {
		return err
	}
	defer server.close()
	record, err := server.bus.Registry().Record(ctx, name)
	switch {
	case errors.Is(err, bus.ErrNoRecord):
		return fmt.Errorf("run %s has no ledger in %s, and server %s has no record of it: see coordinator runs", name, c.store.Path(), server.address)
	case err != nil:
		return fmt.Errorf("look for the record of run %s: %w", name, err)
	case record.State == run.Cancelled:
		return fmt.Errorf("run %s: %w", name, queens.ErrCancelled)
	case o.server.nats.URL != "" && !takeOver && record.IsActive():
		return fmt.Errorf("run %s is at work: %s has it, and has said so within %v: resume it where its ledger is; or, if that coordinator has died, wait %[3]v and try again, or take the run over with --take-over",
			name, record.Owner, run.StaleAfter)
	}
	if err := c.goesOn(ctx, name, &record.Manifest); err != nil {
		return err
	}
	c.app.Log.Warn().Str("run", name).Str("server", server.address).Str("last_owner", record.Owner).
		Msg("the run has no ledger here: making it anew from what the server has")
	c.ledger, err = ledger.Create(c.store.Folder(name), ledger.Header{Run: name, Created: record.Created, Manifest: record.Manifest})
	return err
}

// again goes through the ledger of a run that is over and prints its total.
func (c *carriage) again(ctx context.Context, stdout io.Writer) error {
	defer c.show.answerSignals()()
	workers, search := audit.Workers(c.ledger)
	outcome := coordinator.Outcome{Workers: workers, CoreTime: search}
	total, err := audit.FinalTotal(ctx, c.ledger)
	if err == nil {
		err = c.countUnique(ctx, total)
	}
	if err == nil {
		outcome.Total = total
	}
	result := c.result(&outcome, err)
	if err == nil && !showTable(c.app, result) && result.Unique != nil {
		c.app.Log.Info().Stringer("unique", result.Unique).Msg("fundamental solutions")
	}
	return errors.Join(withHint(err), result.Write(stdout, c.options.json))
}
