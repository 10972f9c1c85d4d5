package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// cancelCommand is coordinator cancel: it ends a run for good, on the server and on this machine.
func cancelCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good",
		Long: `End a run for good, even while another process works on it: a run under --data, or with --nats
a run on a server, which forgets its tasks and results. The ledger keeps what was counted;
coordinator prune removes it. RUN is the name of a run or its beginning.`,
		Example: `  coordinator cancel n15-20261120-170938-7274
  coordinator cancel n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		Args:              oneRun,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			return withHint(cancelRun(cmd.Context(), app, args[0], store, server))
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "cancel the run on", "coordinator")
	data.register(flags)
	return cmd
}

// cancelRun cancels the run whose name begins so, on the server, if one is named, and on this machine. A run in the
// data folder is cancelled there also without the server.
func cancelRun(ctx context.Context, app *cli.App, beginning string, store *runstore.Store, server *cli.Connection) error {
	if server.URL == "" {
		name, err := store.Find(beginning)
		if err != nil {
			return err
		}
		return store.Cancel(ctx, name)
	}
	names, err := store.Names()
	if err != nil {
		return err
	}
	name, onServer := beginning, false
	err = withServer(app, server, "cancel "+beginning, func(b *bus.Bus) error {
		others, err := b.Registry().Names(ctx)
		if err != nil {
			return err
		}
		found, err := run.FindName(beginning, append(names, others...))
		if err != nil || found == "" {
			return err
		}
		name = found
		switch err := b.Registry().Cancel(ctx, name); {
		case errors.Is(err, bus.ErrNoRecord):
			return nil
		case err != nil:
			return fmt.Errorf("cancel run %s on %s: %w", name, b.Server(), err)
		}
		onServer = true
		return nil
	})
	switch {
	case store.Exists(name):
		return errors.Join(err, store.Cancel(ctx, name))
	case err == nil && !onServer:
		return fmt.Errorf("run %s is not on the server any more, and %w: it was cancelled, or has ended", name, store.NoRun(name))
	case err == nil:
		app.Log.Info().Str("run", name).Msg("cancelled")
	}
	return err
}
