package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
	"nqueens/pkg/watch"
)

// pageFlags are the flags of the commands that serve a live page.
type pageFlags struct {
	dashboard.HostConfig
	linger time.Duration
}

// register registers the flags, and unless lingerUsage is empty that of a page which stays after the end.
func (o *pageFlags) register(flags *pflag.FlagSet, usage, lingerUsage string) {
	flags.StringVar(&o.Address, "http", "", usage)
	flags.StringVar(&o.TokenFile, "http-token-file", "", "`FILE` of the page's token (default page.token under --data, for an ADDR beyond this machine)")
	_ = cobra.MarkFlagFilename(flags, "http-token-file") // fails only for unknown flags
	flags.StringVar(&o.URL, "http-url", "", "`URL` of the page for people, if it is not at ADDR, as behind a proxy; none if nobody can open it")
	if lingerUsage != "" {
		flags.DurationVar(&o.linger, "http-linger", 0, lingerUsage)
	}
}

func (o *pageFlags) check() error {
	switch {
	case o.linger < 0 || o.linger > 0 && o.Address == "":
		return cli.Usagef("--http-linger keeps the page that --http ADDR serves: give both, and a time of at least 0")
	case o.TokenFile != "" && o.Address == "":
		return cli.Usagef("--http-token-file is for the page that --http ADDR serves: give both")
	case o.URL != "" && o.URL != "none" && !strings.HasPrefix(o.URL, "http://") && !strings.HasPrefix(o.URL, "https://"):
		return cli.Usagef("--http-url must begin with http:// or https://, or be none, not %q", o.URL)
	}
	return cli.CheckHTTP(o.Address)
}

// listen serves the page of a run that is watched until stopPage. It returns nil without an address.
func (o *watchOptions) listen(app *cli.App, b *bus.Bus) (*dashboard.Host, error) {
	if o.page.Address == "" {
		return nil, nil
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return nil, err
	}
	cfg := o.page.HostConfig
	cfg.Folder, cfg.Page = store.Path(), dashboard.Config{Source: dashboard.Watch, Version: cli.Version()}
	cfg.Checks = httpserver.Checks{Live: func() error { return nil }, Ready: b.Connected}
	host, err := dashboard.Listen(cfg)
	if err == nil {
		host.Start(app.Log)
	}
	return host, err
}

// stopPage says on the page how the watch has ended, and stops serving it.
func (v *watchView) stopPage(ctx context.Context, err error) {
	if v.page == nil {
		return
	}
	defer func() { _ = v.page.Stop() }() // Failure has told the error
	switch {
	case ctx.Err() != nil && err != nil: // the run continues
		v.page.SetStatus("the command that serves this page was stopped")
	case err != nil:
		v.page.SetStatus(err.Error())
	}
}

// awaitRun returns the newest run of the server, as [watch.Newest] does. A page that stays waits for one.
func (o *watchOptions) awaitRun(ctx context.Context, app *cli.App, b *bus.Bus) (string, error) {
	name, err := watch.Newest(ctx, b, b.Registry())
	if o.page.linger == 0 || !errors.Is(err, watch.ErrNoRuns) {
		return name, err
	}
	app.Log.Info().Str("server", b.Server()).Msg("there is no run yet: the page waits for one")
	return watch.Another(ctx, b, b.Registry(), "")
}

// leave returns an error once the watched run is no longer active and another one is: the service that starts the
// page again shows that one.
func (v *watchView) leave(ctx context.Context, b *bus.Bus) error {
	for {
		other, err := watch.Another(ctx, b, b.Registry(), v.run)
		if err != nil {
			return nil // the watch has ended
		}
		if s := v.latest.Load(); s != nil && s.State != run.Running {
			return fmt.Errorf("run %s is %s, and run %s is active: start the page again to see it", v.run, s.State, other)
		}
	}
}

// keep keeps the page after the end of the run, until another one is active or the time has passed.
func (o *watchOptions) keep(ctx context.Context, app *cli.App, b *bus.Bus, ended string) {
	if o.page.linger == 0 || ctx.Err() != nil {
		return
	}
	app.Log.Info().Str("for", humanize.Duration(o.page.linger)).Msg("the page stays: another run or an interrupt ends it")
	ctx, stop := context.WithTimeout(ctx, o.page.linger)
	defer stop()
	_, _ = watch.Another(ctx, b, b.Registry(), ended) // the next watch reports errors
}
