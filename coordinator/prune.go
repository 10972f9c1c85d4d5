package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
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
	var all, dryRun bool
	cmd := &cobra.Command{
		Use:        "prune [RUN...]",
		SuggestFor: []string{"rm", "delete", "remove", "clean"},
		Short:      "Remove runs that have ended",
		Long: `Remove runs under --data that are complete or cancelled, with their ledgers: those named, or
those that ended before --older-than, or --all. Print how much disk space each frees. After
that, nobody can verify their totals; coordinator backup keeps a copy.

Runs that can be resumed or are in use stay, and so does a contradicted run, whose ledger is
evidence. With --nats, also remove what such runs left on that server: chunks, results,
consumer and record. RUN is the name of a run or its beginning.`,
		Example: `  coordinator prune n14-20261120-153012-ab12
  coordinator prune --older-than 30d --dry-run`,
		ValidArgsFunction: data.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			ways := 0
			for _, given := range []bool{len(args) > 0, all, olderThan > 0} {
				if given {
					ways++
				}
			}
			if ways != 1 {
				return cli.Usagef("say which runs to remove, in one way: by their names, with --older-than 30d, or with --all")
			}
			for _, name := range args {
				if err := queens.ValidateRun(name); err != nil {
					return cli.Usagef("%v: coordinator runs lists the runs", err)
				}
			}
			if err := server.Check(app.Log); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			names, err := namedRuns(cmd.Context(), app, store, server, args)
			if err != nil {
				return withHint(err)
			}
			before := time.Now().Add(-time.Duration(olderThan))
			wanted := func(name string, ended time.Time) bool {
				return ended.Before(before) && (len(names) == 0 || slices.Contains(names, name))
			}
			var runs []runstore.Pruned
			note := func(r runstore.Pruned) { runs = append(runs, r) }
			err = store.Prune(cmd.Context(), wanted, dryRun, note)
			// Of a run that was resumed on another server, the ledger says that it has ended.
			ended := func(name string) run.State {
				if i := slices.IndexFunc(runs, func(r runstore.Pruned) bool { return r.Run == name }); i >= 0 {
					return runs[i].State
				}
				return store.Inspect(name).State
			}
			if server.URL != "" {
				err = errors.Join(err, withServer(app, server, "prune", func(b *bus.Bus) error {
					return runlist.PruneServer(cmd.Context(), b.Server(), b.Registry(), wanted, dryRun, ended, note)
				}))
			}
			for _, name := range names {
				if !slices.ContainsFunc(runs, func(r runstore.Pruned) bool { return r.Run == name }) {
					err = errors.Join(err, fmt.Errorf("run %s stays: only a run is removed that is complete or cancelled and not in use", name))
				}
			}
			if len(runs) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there is nothing to remove")
			}
			return errors.Join(ignoreEPIPE(report.WritePruned(cmd.OutOrStdout(), runs, dryRun)), withHint(err))
		},
	}
	flags := cmd.Flags()
	flags.Var(&olderThan, "older-than", "remove the runs that ended longer ago than this `DURATION`, such as 30d or 12h")
	flags.BoolVar(&all, "all", false, "remove all runs that have ended")
	flags.BoolVar(&dryRun, "dry-run", false, "remove nothing, and print what would be removed")
	data.register(flags)
	server = cli.ConnectionFlags(flags, "", "also remove runs from", "coordinator")
	return cmd
}

// namedRuns returns the names of the runs, on this machine or the server, that begin as the arguments.
func namedRuns(ctx context.Context, app *cli.App, store *runstore.Store, server *cli.Connection, beginnings []string) (names []string, err error) {
	if len(beginnings) == 0 {
		return nil, nil
	}
	all, err := store.Names()
	if err != nil {
		return nil, err
	}
	if server.URL != "" {
		err := withServer(app, server, "prune", func(b *bus.Bus) error {
			others, err := b.Registry().Names(ctx)
			all = append(all, others...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, beginning := range beginnings {
		name, err := run.FindName(beginning, all)
		switch {
		case err != nil:
			return nil, err
		case name == "":
			return nil, store.NoRun(beginning)
		}
		names = append(names, name)
	}
	return names, nil
}
