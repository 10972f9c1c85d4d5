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
	"nqueens/pkg/split"
)

func resumeCommand(app *cli.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a count that was interrupted",
		Long: `Go on with a run where it stopped: the newest that is not finished, or the one
named. What is in its ledger under --data is not counted again. Of a finished run it
prints the total again.

A run whose ledger is lost goes on from what the server has of it: name the run, and
the server with --nats.`,
		Example: `  coordinator resume
  coordinator resume n18-20261120-153012-ab12 --nats nats://127.0.0.1:4222`,
		RunE: func(cmd *cobra.Command, args []string) error {
			run := ""
			if len(args) > 0 {
				var err error
				if run, err = named(args); err != nil {
					return err
				}
			}
			return resume(cmd.Context(), app, run, &o, cmd.OutOrStdout())
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func resume(ctx context.Context, app *cli.App, run string, o *runOptions, stdout io.Writer) error {
	c := carriage{app: app, options: o, start: time.Now()}
	if err := c.prepare(); err != nil {
		return err
	}
	if run == "" {
		var err error
		if run, err = o.data.newest(nil); err != nil {
			return err
		}
		if run == "" {
			return fmt.Errorf("there is nothing to resume in %s: see coordinator runs; a run whose ledger is elsewhere must be named", o.data.path)
		}
	}
	if !o.data.has(run) {
		if _, err := os.Stat(o.data.store(run)); err != nil && o.server.url == "" {
			return fmt.Errorf("there is no run %s in %s: see coordinator runs; one whose ledger is lost can be made again from its server, named with --nats", run, o.data.path)
		}
		if err := c.rebuild(ctx, run); err != nil {
			return err
		}
		return c.carry(ctx, stdout)
	}
	if o.data.look(run).state.Finished() {
		return c.again(ctx, run, stdout)
	}
	var err error
	if c.ledger, err = ledger.Open(o.data.run(run)); err != nil {
		return err
	}
	m := c.ledger.Header().Manifest
	if err := reproducible(ctx, &m); err != nil {
		return errors.Join(fmt.Errorf("run %s: %w", run, err), c.ledger.Close())
	}
	return c.carry(ctx, stdout)
}

// reproducible returns nil when this program would give out the tasks of the manifest.
func reproducible(ctx context.Context, m *queens.Manifest) error {
	if err := split.Check(ctx, m); err != nil {
		return err
	}
	return audit.Classes(m)
}

// rebuild makes the ledger of a run anew from the record of it on the server. The
// results that are there come in when the run is carried on.
func (c *carriage) rebuild(ctx context.Context, run string) error {
	o := c.options
	server, err := o.server.open(run, o.data.store(run), c.app.Log)
	if err != nil {
		return err
	}
	defer server.close()
	record, err := server.bus.Record(ctx, run)
	switch {
	case errors.Is(err, bus.ErrNoRecord):
		return fmt.Errorf("run %s has no ledger in %s, and server %s has no record of it: see coordinator runs", run, o.data.path, server.address)
	case err != nil:
		return fmt.Errorf("look for the record of run %s: %w", run, err)
	case record.State == queens.Cancelled:
		return fmt.Errorf("run %s: %w", run, queens.ErrCancelled)
	}
	if err := reproducible(ctx, &record.Manifest); err != nil {
		return fmt.Errorf("run %s: %w", run, err)
	}
	c.app.Log.Warn().Str("run", run).Str("server", server.address).Str("last_owner", record.Owner).
		Msg("the run has no ledger here: making it anew from what the server has")
	c.ledger, err = ledger.Create(o.data.run(run), ledger.Header{Run: run, Created: record.Created, Manifest: record.Manifest})
	return err
}

// again goes through the ledger of a finished run and prints its total.
func (c *carriage) again(ctx context.Context, run string, stdout io.Writer) (err error) {
	if c.ledger, err = ledger.View(c.options.data.run(run)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.ledger.Close()) }()
	if c.ledger.State() == queens.Cancelled {
		return fmt.Errorf("run %s: %w", run, queens.ErrCancelled)
	}
	m := c.ledger.Header().Manifest
	var outcome coordinator.Outcome
	outcome.Total, err = audit.Total(ctx, c.ledger, knownTotal(&m))
	outcome.Workers = audit.Workers(c.ledger)
	return errors.Join(err, c.print(stdout, &outcome, err))
}
