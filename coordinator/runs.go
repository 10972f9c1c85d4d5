package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
)

// runsCommand is coordinator runs: it lists the runs on this machine and on a server.
func runsCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:        "runs",
		SuggestFor: []string{"list", "ls", "status"},
		Short:      "List the runs on this machine, and those on a server",
		Long: `List the runs whose ledgers are under --data, and with --nats also the runs on that server,
one row a run, the newest first. WORK is the share of the estimated work that is done. Of a
run that counts, WORK, RATE and the time left are those of its coordinator, a second old or
two. An "interrupted" run has lost its coordinator: coordinator resume continues it. Lines
below a run say who works on it and where, what bounds it, and with which others it shares
its workers. "confirmed" says what stands behind the total of a complete run, as count does.

Other commands take the whole name of a run, or a beginning that no other run has.`,
		Example: `  coordinator runs
  coordinator runs --limit 5
  coordinator runs --nats nats://127.0.0.1:4222 --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("limit") && limit < 1 {
				return cli.Usagef("--limit must be at least 1, not %d", limit)
			}
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			runs, err := runlist.Local(store, app.Log)
			if err = withHint(err); err == nil && server.URL != "" {
				// Without the server, those on this machine are listed all the same.
				var others []report.ListedRun
				others, err = serverRuns(cmd.Context(), app, server)
				runs = runlist.Merge(runs, others)
			}
			if len(runs) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there are no runs")
			}
			if limit > 0 {
				runs = runs[:min(limit, len(runs))]
			}
			return errors.Join(ignoreEPIPE(report.WriteRuns(cmd.OutOrStdout(), runs, asJSON)), err)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "also list the runs on")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a line")
	flags.IntVar(&limit, "limit", 0, "list at most the newest `N` runs (default all)")
	data.register(flags)
	return cmd
}

// serverRuns returns the runs of which the server has a record.
func serverRuns(ctx context.Context, app *cli.App, server *cli.Connection) ([]report.ListedRun, error) {
	var records []run.Record
	var address string
	err := withServer(app, server, "runs", func(b *bus.Bus) (err error) {
		address = b.Server()
		if records, err = b.Registry().Records(ctx); err != nil {
			return fmt.Errorf("list the runs on %s: %w", address, err)
		}
		return nil
	})
	return runlist.OnServer(address, records), err
}

// withServer calls f with a connection to a server, which names the command.
func withServer(app *cli.App, server *cli.Connection, command string, f func(b *bus.Bus) error) error {
	b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens " + command, Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	return f(b)
}
