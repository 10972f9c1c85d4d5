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
	"nqueens/pkg/runstore"
)

func runsCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "runs",
		SuggestFor: []string{"list", "ls", "status"},
		Short:      "List the runs of this machine, and those on a server",
		Long: `List the runs whose ledgers are under --data, the newest first, and with --nats those
that the server knows as well. A run that is "interrupted" has lost its coordinator:
coordinator resume goes on with it.`,
		Example: `  coordinator runs
  coordinator runs --nats nats://127.0.0.1:4222 --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Check(); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			rows, err := listRuns(cmd.Context(), app, store, server.URL)
			// Those of this machine are shown also where the server is away.
			if len(rows) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there are no runs")
			}
			return errors.Join(ignoreEPIPE(report.WriteRuns(cmd.OutOrStdout(), rows, asJSON)), err)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "also list the runs on")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a line")
	data.register(flags)
	return cmd
}

// listRuns returns the runs of this machine and those of a server, if one is named.
// A run that both know is listed for both. Beside an error there are those of this machine.
func listRuns(ctx context.Context, app *cli.App, store *runstore.Store, url string) ([]report.ListedRun, error) {
	local, err := store.List()
	if err != nil {
		return nil, withHint(err)
	}
	var rows []report.ListedRun
	for _, r := range local {
		row := report.ListedRun{
			Run: r.Run, N: r.N, Symmetry: r.Symmetry, Placed: r.Placed, State: r.Status(),
			Done: r.Done, Tasks: r.Tasks, Created: r.Created, Ledger: store.Folder(r.Run),
		}
		switch {
		case r.Err != nil:
			app.Log.Warn().Err(r.Err).Str("run", r.Run).Msg("the run's ledger can't be read")
		case r.Locked != nil:
			h := &r.Locked.Holder
			row.Owner, row.Server = fmt.Sprintf("%s, process %d", h.Host, h.PID), h.Server
		}
		if r.Damaged > 0 {
			app.Log.Warn().Str("run", r.Run).Int("records", r.Damaged).Msg("records of the run's ledger are damaged: they count for nothing")
		}
		rows = append(rows, row)
	}
	if url == "" {
		return rows, nil
	}
	b, err := bus.Connect(bus.Config{URL: url, Name: "nqueens runs", Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return rows, err
	}
	defer b.Close()
	records, err := b.Registry().Records(ctx)
	if err != nil {
		return rows, fmt.Errorf("list the runs on %s: %w", b.Server(), err)
	}
	for _, r := range records {
		row := report.ListedRun{
			Run: r.Run, N: r.Manifest.N, Symmetry: r.Manifest.Symmetry, Placed: r.Manifest.Placed, State: string(r.State), Done: r.Done,
			Tasks: r.Manifest.Tasks, Created: r.Created, Server: b.Server(), Owner: r.Owner,
		}
		if r.State == run.Running && !r.IsActive() {
			row.State = runstore.Interrupted
		}
		rows = append(rows, row)
	}
	return rows, nil
}
