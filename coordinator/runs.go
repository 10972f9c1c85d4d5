package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

// runsCommand is coordinator runs: it lists the runs on this machine and on a server.
func runsCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var page pageFlags
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:        "runs [RUN]",
		SuggestFor: []string{"list", "ls", "status", "ps"},
		Short:      "List the runs on this machine, and those on a server",
		Long: `List the runs under --data, and with --nats also those on that server, the newest first: the total
of each, or the part of its work that is done, when it started, how long it took, and what
confirms the total. An "interrupted" run has lost its coordinator: coordinator resume continues
it. Lines below a run that counts say how fast it is, who works on it, and what limits it.

With RUN, the name of a run of this machine or its beginning, show that run in full.`,
		Example: `  coordinator runs
  coordinator runs n14 --json
  coordinator runs --nats nats://127.0.0.1:4222 --json`,
		Args:              oneRunOrNone,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return cli.Usagef("--limit must be 0, for all, or more, not %d", limit)
			}
			if err := cmp.Or(server.Check(app.Log), page.check()); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			defer deliverLeft(cmd.Context(), app, store) // after the list is printed
			switch {
			case page.Address != "" && !cli.SetByEnvironment(cmd.Flags().Lookup("http")): // which is for commands that count
				return serveRuns(cmd.Context(), app, &page, store)
			case len(args) > 0:
				return showRun(cmd, app, store, &data, args[0], asJSON)
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
	flags.IntVar(&limit, "limit", 0, "list at most the newest `N` runs (default all)")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a line")
	page.register(flags, "`ADDR` on which to serve a page of the runs on this machine; the environment does not set it", "")
	data.register(flags)
	server = cli.ConnectionFlags(flags, "", "also list the runs on", "watcher")
	return cmd
}

// showRun prints a run of this machine in full.
func showRun(cmd *cobra.Command, app *cli.App, store *runstore.Store, data *dataFlag, beginning string, asJSON bool) error {
	name, err := store.Find(beginning)
	if err != nil {
		return withHint(err)
	}
	r := report.RunDetails{
		ListedRun: runlist.LocalRun(store, name, app.Log), Bytes: store.Size(name),
		Verify: data.command("verify", name),
	}
	switch state := run.State(r.Status); {
	case state == run.Complete, state == run.Cancelled:
		r.Remove = data.command("prune", name)
	case !state.Finished() && state != run.Running:
		r.Resume = data.command("resume", name)
	}
	if l, err := store.OpenReadOnly(name); err == nil { // else the list says why not
		r.RunFacts = report.NewRunFacts(audit.Survey(l))
		_ = l.Close() // it was only read
	}
	return ignoreEPIPE(report.WriteRun(cmd.OutOrStdout(), &r, asJSON))
}

// serverRuns returns the runs of which the server has a record.
func serverRuns(ctx context.Context, app *cli.App, server *cli.Connection) ([]report.ListedRun, error) {
	var records []run.Record
	var address string
	var open bool
	err := withServer(app, server, "runs", func(b *bus.Bus) (err error) {
		address, open = b.Server(), b.IsOpen()
		if records, err = b.Registry().Records(ctx); err != nil {
			return fmt.Errorf("list the runs on %s: %w", address, err)
		}
		return nil
	})
	return runlist.OnServer(address, open, records), err
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

// serveRuns serves a page of the runs of this machine, with the reports of those that have ended, until ctx ends.
func serveRuns(ctx context.Context, app *cli.App, o *pageFlags, store *runstore.Store) error {
	healthy := func() error { return nil }
	host, err := dashboard.Listen(dashboard.HostConfig{
		Address: o.Address, TokenFile: o.TokenFile, URL: o.URL, Folder: store.Path(), Checks: httpserver.Checks{Live: healthy, Ready: healthy},
		Page: dashboard.Config{Version: cli.Version(), Runs: &dashboard.Runs{
			List: func() ([]report.ListedRun, error) { return runlist.Local(store, app.Log) },
			Report: func(ctx context.Context, w io.Writer, name string) error {
				if !store.Exists(name) {
					return dashboard.ErrNoReport
				}
				result, err := session.Audit(ctx, app.Log, store, name)
				switch {
				case errors.Is(err, session.ErrNotEnded):
					return dashboard.ErrNoReport
				case result.Survey == nil:
					return err
				}
				d := &report.Document{Result: &result, Survey: result.Survey, History: result.History}
				return describe(d, store, name, err).Write(w)
			},
		}},
	})
	if err != nil {
		return err
	}
	host.Start(app.Log)
	failed := host.Failure(ctx)
	return errors.Join(failed, host.Stop())
}
