package main

import (
	"cmp"
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
		Long: `End a run for good, even while another process works on it: a run whose ledger is under
--data, or, with --nats, a run on a server. Its tasks and results are removed from the
server. The ledger keeps what was counted; delete the run's folder to be rid of it.

RUN is the whole name of a run, or a beginning that no other run has.`,
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

// cancelRun cancels the run whose name begins so, on the server, if one is named, and on
// this machine. A run in the data folder is cancelled there also without the server.
func cancelRun(ctx context.Context, app *cli.App, beginning string, store *runstore.Store, server *cli.Connection) error {
	names, err := store.Names()
	if err != nil {
		return withHint(err)
	}
	var onServer bool
	var failed error
	if server.URL != "" {
		failed = withServer(app, server, "cancel "+beginning, func(b *bus.Bus) error {
			others, err := b.Registry().Names(ctx)
			if names = append(names, others...); err == nil {
				onServer, err = cancelOnServer(ctx, b, beginning, names)
			}
			return err
		})
	}
	name, err := findBeginning(beginning, names)
	switch {
	case err != nil:
		return err
	case failed != nil && name != beginning: // the server may have another run that begins so
		return failed
	case store.Exists(name):
		return errors.Join(failed, store.Cancel(ctx, name))
	case failed != nil:
		return failed
	case onServer:
		app.Log.Info().Str("run", name).Msg("cancelled")
		return nil
	case server.URL == "":
		err = fmt.Errorf("%w, --nats names its server", withHint(store.NoRun(name)))
		return err
	}
	return withHint(fmt.Errorf("run %s is not on the server any more, and %w: it was cancelled, or has ended", name, store.NoRun(name)))
}

// findBeginning returns the one of these names that begins so, or the beginning if there is none.
func findBeginning(beginning string, names []string) (string, error) {
	name, err := run.FindName(beginning, names)
	return cmp.Or(name, beginning), withHint(err)
}

// cancelOnServer cancels the run of these names that begins so, and reports whether the server knows it.
func cancelOnServer(ctx context.Context, b *bus.Bus, beginning string, names []string) (known bool, err error) {
	name, err := findBeginning(beginning, names)
	if err != nil {
		return false, err
	}
	switch err := b.Registry().Cancel(ctx, name); {
	case errors.Is(err, bus.ErrNoRecord):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("cancel run %s on %s: %w", name, b.Server(), err)
	}
	return true, nil
}
