package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/watch"
)

// pageFlags are the flags of the commands that serve a live page.
type pageFlags struct{ http, tokenFile string }

func (o *pageFlags) register(flags *pflag.FlagSet, usage string) {
	flags.StringVar(&o.http, "http", "", usage)
	flags.StringVar(&o.tokenFile, "http-token-file", "", "`FILE` with the token that the page asks for (default page.token "+
		"in the folder of --data, for an ADDR beyond this machine)")
	_ = cobra.MarkFlagFilename(flags, "http-token-file") // fails only for unknown flags
}

func (o *pageFlags) check() error {
	if o.tokenFile != "" && o.http == "" {
		return cli.Usagef("--http-token-file is for the page that --http ADDR serves: give both")
	}
	return cli.CheckHTTP(o.http)
}

// watchedPage is the page of a run that is watched. Its methods do nothing without a page.
type watchedPage struct {
	host *dashboard.Host // nil without an address
	run  *dashboard.Run  // nil until the run is known
}

// listen opens the address of the page. Nobody is answered before serve.
func (o *watchOptions) listen(app *cli.App, b *bus.Bus) (page watchedPage, err error) {
	if o.page.http == "" {
		return page, nil
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return page, err
	}
	page.host, err = dashboard.Listen(dashboard.HostConfig{
		Address: o.page.http, TokenFile: o.page.tokenFile, Folder: store.Path(),
		Checks: httpserver.Checks{Live: func() error { return nil }, Ready: b.Connected},
		Page:   dashboard.Config{Source: dashboard.Watch, Version: cli.Version()},
	})
	if err != nil {
		return page, err
	}
	page.host.SetServer(watch.Server{Address: b.Server(), Connection: b, Registry: b.Registry(), Telemetry: b.Telemetry()})
	page.host.Log(app.Log)
	return page, nil
}

// serve answers until ctx ends, and a moment more for those who read the last state.
func (p *watchedPage) serve(ctx context.Context) error {
	if p.host == nil {
		return nil
	}
	return p.host.Serve(ctx)
}

// follow has a run shown that is watched as that says.
func (p *watchedPage) follow(cfg watch.Config) watch.Config {
	if p.host == nil {
		return cfg
	}
	p.run = p.host.Open(cfg.Run, nil)
	return watch.OnPage(cfg, p.run)
}

// end says on the page how the watch has ended.
func (p *watchedPage) end(ctx context.Context, err error) {
	switch {
	case p.run == nil || err == nil:
	case ctx.Err() != nil: // the run continues
		p.run.SetStatus("the command that serves this page was stopped")
	default:
		p.run.SetStatus(err.Error())
	}
}
