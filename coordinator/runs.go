package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// runsCommand is coordinator runs: it lists the runs on this machine and on a server.
func runsCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "runs",
		SuggestFor: []string{"list", "ls", "status"},
		Short:      "List the runs on this machine, and those on a server",
		Long: `List the runs whose ledgers are under --data, the newest first, and with --nats also the
runs on that server. An "interrupted" run has lost its coordinator: coordinator resume
continues it. A line below an active run says with which others it shares its workers.
CONFIRMED says what stands behind the total of a complete run, as count does.`,
		Example: `  coordinator runs
  coordinator runs --nats nats://127.0.0.1:4222 --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			runs, err := localRuns(app.Log, store)
			if err == nil && server.URL != "" {
				var others []report.ListedRun
				others, err = serverRuns(cmd.Context(), app.Log, server)
				runs = append(runs, others...)
			}
			if len(runs) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there are no runs")
			}
			// Without the server, those on this machine are listed all the same.
			return errors.Join(ignoreEPIPE(report.WriteRuns(cmd.OutOrStdout(), runs, asJSON)), err)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "also list the runs on")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a line")
	data.register(flags)
	return cmd
}

// localRuns returns the runs on this machine.
func localRuns(log zerolog.Logger, store *runstore.Store) ([]report.ListedRun, error) {
	infos, err := store.List()
	var runs []report.ListedRun
	for _, i := range infos {
		r := report.ListedRun{
			Run: i.Run, N: i.N, Symmetry: i.Symmetry, Placed: i.Placed, State: i.Status(),
			Done: i.Done, Tasks: i.Tasks, Created: i.Created, Ledger: store.Folder(i.Run),
		}
		if i.Err == nil && i.State == run.Complete {
			r.Confirmed = new(report.NewConfirmed(&i.Confirmation, true))
		}
		switch {
		case i.Err != nil:
			log.Warn().Err(i.Err).Str("run", i.Run).Msg("the run's ledger can't be read")
		case i.Locked != nil:
			h := &i.Locked.Holder
			r.Owner, r.Server = fmt.Sprintf("%s, process %d", h.Host, h.PID), h.Server
			r.Bound = h.Bound
			r.Workers, r.Sharing = h.Workers, strings.Fields(h.Sharing)
		}
		if i.Damaged > 0 {
			log.Warn().Str("run", i.Run).Int("records", i.Damaged).Msg("ignoring damaged records of the run's ledger")
		}
		runs = append(runs, r)
	}
	return runs, withHint(err)
}

// serverRuns returns the runs of which the server has a record.
func serverRuns(ctx context.Context, log zerolog.Logger, server *cli.Connection) ([]report.ListedRun, error) {
	b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens runs", Lease: bus.DefaultLease, Log: log})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	records, err := b.Registry().Records(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runs on %s: %w", b.Server(), err)
	}
	var runs []report.ListedRun
	for i, r := range records {
		state := string(r.State)
		if r.State == run.Running && !r.IsActive() {
			state = runstore.Interrupted
		}
		bound := r.Bound
		if state != string(run.Running) {
			bound = ""
		}
		var confirmed *report.Confirmed
		if r.State == run.Complete {
			confirmed = new(report.NewConfirmed(&r.Confirmation, true))
		}
		runs = append(runs, report.ListedRun{
			Run: r.Run, N: r.Manifest.N, Symmetry: r.Manifest.Symmetry, Placed: r.Manifest.Placed, State: state,
			Done: r.Done, Tasks: r.Manifest.Tasks, Created: r.Created, Server: b.Server(), Owner: r.Owner,
			Bound: bound, Sharing: otherActive(records, i), Confirmed: confirmed,
		})
	}
	return runs, nil
}

// otherActive returns the names of the other active runs, if the run at index i is active: all
// workers of a server work for all of them.
func otherActive(records []run.Record, i int) (names []string) {
	for k := range records {
		if k != i && records[i].IsActive() && records[k].IsActive() && len(names) < run.MaxSharedWith {
			names = append(names, records[k].Run)
		}
	}
	slices.Sort(names)
	return names
}
