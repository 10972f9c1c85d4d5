package main

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
)

// pruneCommand is coordinator prune: it removes runs that have ended.
func pruneCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var olderThan cli.Age
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove runs that have ended",
		Long: `Remove the runs under --data that are complete or cancelled, with their ledgers, and print
how much disk space each frees. After that, nobody can verify their totals: keep those that
matter, with coordinator backup. A run has ended when its ledger was last written.

Runs that can be resumed stay, and those that another process uses. So does a contradicted
run, whose ledger is evidence: remove its folder, if you must.

With --nats, also remove from that server what runs that have ended left there when their
coordinator died, or when they were resumed on another server and their ledger is under
--data: chunks, results, consumer and record. To remove an unfinished run of a
dead coordinator, cancel it first: coordinator cancel RUN --nats.`,
		Example: `  coordinator prune --dry-run
  coordinator prune --older-than 30d`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			before := time.Now().Add(-time.Duration(olderThan))
			var runs []runstore.Pruned
			note := func(r runstore.Pruned) { runs = append(runs, r) }
			err = store.Prune(cmd.Context(), before, dryRun, note)
			// Of a run that was resumed on another server, the ledger says that it has ended.
			ended := func(name string) run.State {
				if i := slices.IndexFunc(runs, func(r runstore.Pruned) bool { return r.Run == name }); i >= 0 {
					return runs[i].State
				}
				return store.Inspect(name).State
			}
			if server.URL != "" {
				err = errors.Join(err, withServer(app, server, "prune", func(b *bus.Bus) error {
					return runlist.PruneServer(cmd.Context(), b.Server(), b.Registry(), before, dryRun, ended, note)
				}))
			}
			if len(runs) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there is nothing to remove")
			}
			return errors.Join(ignoreEPIPE(report.WritePruned(cmd.OutOrStdout(), runs, dryRun)), withHint(err))
		},
	}
	flags := cmd.Flags()
	flags.Var(&olderThan, "older-than", "only runs that ended longer ago than this `DURATION`, such as 30d or 12h")
	flags.BoolVar(&dryRun, "dry-run", false, "remove nothing, and print what would be removed")
	server = cli.ConnectionFlags(flags, "", "also remove runs from")
	data.register(flags)
	return cmd
}
