package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

func cancelCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFolder
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good",
		Long: `End a run for good, also one that another process is at work on: with its ledger
under --data, or, with --nats, on a server. Its tasks and results are removed from the
server. What was counted stays in its ledger; delete the run's folder to be rid of it.`,
		Example: `  coordinator cancel n15-20261120-170938-7274
  coordinator cancel n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		ValidArgsFunction: cli.WithEnvironment(data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := named(args)
			if err != nil {
				return err
			}
			if err := server.Check(); err != nil {
				return err
			}
			if err := data.open(); err != nil {
				return err
			}
			return cancelRun(cmd.Context(), app, name, &data, server.URL)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "cancel the run on")
	data.register(flags)
	return cmd
}

func cancelRun(ctx context.Context, app *cli.App, name string, data *dataFolder, url string) error {
	onServer, err := cancelOnServer(ctx, app, name, url)
	switch {
	case data.has(name):
		return errors.Join(err, cancelHere(ctx, app, name, data))
	case err != nil:
		return err
	case onServer:
		app.Log.Info().Str("run", name).Msg("cancelled")
		return nil
	case url == "":
		return fmt.Errorf("there is no run %s in %s: see coordinator runs, or name its server with --nats", name, data.path)
	}
	return fmt.Errorf("there is no run %s in %s, nor on the server: see coordinator runs", name, data.path)
}

// cancelOnServer cancels a run on a server, if one is named, and reports whether it knew
// the run.
func cancelOnServer(ctx context.Context, app *cli.App, name, url string) (known bool, err error) {
	if url == "" {
		return false, nil
	}
	b, err := bus.Connect(bus.Config{URL: url, Name: "nqueens cancel " + name, Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return false, err
	}
	defer b.Close()
	switch err := b.CancelRun(ctx, name); {
	case errors.Is(err, bus.ErrNoRecord):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("cancel run %s on %s: %w", name, b.Server(), err)
	}
	return true, nil
}

// Whoever has the run's ledger looks for its cancellation every second or so.
const (
	cancelWithin = 15 * time.Second
	lookAgain    = 200 * time.Millisecond
)

// cancelHere cancels a run of this machine. One that another process is at work on is
// told by a file, and waited for.
func cancelHere(ctx context.Context, app *cli.App, name string, data *dataFolder) error {
	file := data.cancelFile(name)
	deadline := time.Now().Add(cancelWithin)
	for {
		l, err := ledger.Open(data.run(name))
		if err == nil {
			return errors.Join(finishCancelled(app, name, data, l), l.Close(), remove(file))
		}
		if errors.As(err, new(*ledger.DamagedError)) {
			err = fmt.Errorf("%w; to be rid of the run, delete the folder %s", err, data.run(name))
		}
		if !errors.As(err, new(*ledger.LockedError)) || time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("cancel run %s: %w", name, err), remove(file))
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return fmt.Errorf("cancel run %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), remove(file))
		case <-time.After(lookAgain):
		}
	}
}

func finishCancelled(app *cli.App, name string, data *dataFolder, l *ledger.Ledger) error {
	switch state := l.State(); state {
	case run.Cancelled:
		app.Log.Info().Str("run", name).Msg("was cancelled already")
		return nil
	case run.Complete, run.Contradicted:
		return fmt.Errorf("run %s is %s already: there is nothing to cancel", name, state)
	default:
		app.Log.Info().Str("run", name).Uint64("done", l.Len()).Msg("cancelled")
		return errors.Join(l.SetState(run.Cancelled), os.RemoveAll(data.store(name)))
	}
}

// remove removes a file that need not be there.
func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
