package main

import (
	"context"
	"errors"
	"io"

	"nqueens/pkg/cli"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/report"
	"nqueens/pkg/runlist"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

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
