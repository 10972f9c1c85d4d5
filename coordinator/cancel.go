package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/runstore"
)

// cancelCommand is coordinator cancel: it ends a run for good, on the server and on this machine.
func cancelCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good",
		Long: `End a run for good, even while another process works on it: a run whose ledger is under
--data, or, with --nats, a run on a server. Its tasks and results are removed from the
server. The ledger keeps what was counted; delete the run's folder to be rid of it.`,
		Example: `  coordinator cancel n15-20261120-170938-7274
  coordinator cancel n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		ValidArgsFunction: cli.WithEnvironment(data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runArg(args)
			if err != nil {
				return err
			}
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			return cancelRun(cmd.Context(), app, name, store, server)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "cancel the run on")
	data.register(flags)
	return cmd
}

// cancelRun cancels a run on the server, if one is named, and on this machine.
func cancelRun(ctx context.Context, app *cli.App, name string, store *runstore.Store, server *cli.Connection) error {
	onServer, err := cancelOnServer(ctx, app, name, server)
	switch {
	case store.Exists(name):
		return errors.Join(err, store.Cancel(ctx, name))
	case err != nil:
		return err
	case onServer:
		app.Log.Info().Str("run", name).Msg("cancelled")
		return nil
	case server.URL == "":
		return fmt.Errorf("%w, --nats names its server", withHint(store.NoRun(name)))
	}
	return withHint(fmt.Errorf("run %s is not on the server any more, and %w: it was cancelled, or has ended", name, store.NoRun(name)))
}

// cancelOnServer cancels a run on a server, if one is named, and reports whether the server
// knows the run.
func cancelOnServer(ctx context.Context, app *cli.App, name string, server *cli.Connection) (known bool, err error) {
	if server.URL == "" {
		return false, nil
	}
	b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens cancel " + name, Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return false, err
	}
	defer b.Close()
	switch err := b.Registry().Cancel(ctx, name); {
	case errors.Is(err, bus.ErrNoRecord):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("cancel run %s on %s: %w", name, b.Server(), err)
	}
	return true, nil
}
