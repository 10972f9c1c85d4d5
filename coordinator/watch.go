package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// watchOptions are the flags of watch.
type watchOptions struct {
	nats *cli.Connection
	json bool
	data dataFlag
}

func watchCommand(app *cli.App) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Show how a run gets on, from any machine that reaches its server",
		Long: `Show how a run gets on, as its coordinator does: the run named, or else the newest at
work. It needs nothing but the run's NATS server, changes nothing there, and goes on
through restarts of the server and of the coordinator. When the run is complete it
prints the total.

Without --nats it looks under --data for who is at work on this machine. A count whose
embedded server lets nobody in can't be watched: start it with --listen.

With --json it prints an object a second: run, n, placed (queens placed beforehand,
where there are any), state ("running", "stopped", "complete", "contradicted" or "cancelled"),
percent (of the estimated work), done and tasks, solutions (text), rate (solutions a
second), elapsed_s, eta_least_s and eta_most_s (not while that can't be told), workers,
threads, repeated, conflicts, crew (of each worker name, kernel, threads, rate, held,
oldest_s), and total (text, or null unless the run is complete).`,
		Example: `  coordinator watch
  coordinator watch --nats nats://127.0.0.1:4222
  coordinator watch n15-20261120-170938-7274 --nats nats://127.0.0.1:4222 --json`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := optionalRunArg(args)
			if err != nil {
				return err
			}
			if err := o.nats.Check(); err != nil {
				return err
			}
			return watch(cmd.Context(), app, name, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	o.nats = cli.ConnectionFlags(flags, "", "watch a run on")
	flags.BoolVar(&o.json, "json", false, "print a JSON object a second")
	o.data.register(flags)
	return cmd
}

func watch(ctx context.Context, app *cli.App, name string, o *watchOptions, stdout io.Writer) error {
	shown := newUI(app)
	defer shown.answerSignals()()
	hint := ""
	if o.nats.URL == "" {
		var err error
		if name, o.nats.URL, err = o.here(app, name); err != nil {
			return err
		}
		hint = ": if it asks for a password, give it with --nats"
	}
	b, err := bus.Connect(bus.Config{URL: o.nats.URL, Name: "nqueens watch", Wait: true, Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	w := watcher{app: app, bus: b, run: name, show: shown, arrived: make(chan run.Progress, 1), stdout: stdout, json: o.json}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return b.WaitClosed(ctx) })
	group.Go(func() error {
		defer stop()
		if err := w.choose(ctx); err != nil {
			return err
		}
		app.Log.Info().Str("run", w.run).Str("server", b.Server()).Msg("watching")
		group.Go(func() error { return b.Telemetry().WatchProgress(ctx, w.run, w.put) })
		return w.follow(ctx)
	})
	switch err := group.Wait(); {
	case errors.Is(err, queens.ErrNoConnection):
		return fmt.Errorf("%w%s", err, hint)
	case err != nil || o.json:
		return ignoreEPIPE(err)
	}
	if screen := app.TTY(); screen != nil && !shown.unresponsive {
		_ = report.WriteProgressTable(screen, &w.latest, cli.Colors()) // nobody reads a terminal that was closed
	}
	_, err = fmt.Fprintln(stdout, w.latest.Total)
	return err
}

// here returns the run of this machine to watch, which may be named, and the URL of its
// server.
func (o *watchOptions) here(app *cli.App, name string) (found, server string, err error) {
	store, err := o.data.open(app.Log)
	if err != nil {
		return "", "", err
	}
	r, err := atWorkHere(store, name)
	if err != nil {
		return "", "", err
	}
	h := &r.Locked.Holder
	if h.Server != "" {
		return r.Run, h.Server, nil
	}
	status := ""
	if len(statusSignals) > 0 {
		status = fmt.Sprintf("; kill -USR1 %d makes it log how far it is", h.PID)
	}
	return "", "", fmt.Errorf("run %s is at work in process %d on %s, whose embedded server lets nobody in: to watch it, start its coordinator with --listen 127.0.0.1:4222%s",
		r.Run, h.PID, h.Host, status)
}

// atWorkHere returns the run of that name, or else the newest, that a process of this
// machine is at work on.
func atWorkHere(store *runstore.Store, name string) (*runstore.Info, error) {
	if name == "" {
		runs, err := store.Select(func(i *runstore.Info) bool { return i.Locked != nil })
		switch {
		case err != nil:
			return nil, withHint(err)
		case len(runs) == 0:
			return nil, fmt.Errorf("nobody is at work on a run in %s: name the server of a run elsewhere with --nats, or see coordinator runs", store.Path())
		}
		return &runs[0], nil
	}
	if !store.Exists(name) {
		return nil, fmt.Errorf("there is no run %s in %s: name its server with --nats", name, store.Path())
	}
	switch r := store.Inspect(name); {
	case r.Err != nil:
		return nil, fmt.Errorf("run %s: %w", name, r.Err)
	case r.Locked != nil:
		return &r, nil
	case r.State.Finished():
		return nil, fmt.Errorf("run %s is %s already: coordinator resume %s says with what total", name, r.State, name)
	default:
		return nil, fmt.Errorf("run %s is %s, with %d of %d tasks done: coordinator resume %s goes on with it; if it goes on elsewhere, name its server with --nats",
			name, r.Status(), r.Done, r.Tasks, name)
	}
}

// outside returns the URL at which others reach the server, without a password; empty
// where it lets nobody in.
func (c *connection) outside() string {
	u, err := url.Parse(c.address)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil
	return u.String()
}

// choose settles on a run where none is named: the newest that the server knows to be at
// work, or else the newest that is not finished. It waits for a server that is away, and
// then a little for its runs: it may have lost their records, which are made again.
func (w *watcher) choose(ctx context.Context) error {
	if w.run != "" {
		return nil
	}
	waited := false
	for start := time.Now(); ; {
		if w.bus.Connected() != nil {
			start, waited = time.Now(), true
		} else {
			name, err := newestRun(ctx, w.bus)
			if err == nil {
				w.run = name
			}
			if err == nil || errors.Is(err, errNothing) && !waited || time.Since(start) > goneAfter {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// errNothing says that a server has nothing to watch.
var errNothing = errors.New("there is no run to watch")

func newestRun(ctx context.Context, b *bus.Bus) (string, error) {
	names, err := b.Registry().Names(ctx)
	if err != nil {
		return "", err
	}
	var newest run.Record
	var unread error
	for _, name := range names {
		r, err := b.Registry().Record(ctx, name)
		if err != nil && !errors.Is(err, bus.ErrNoRecord) {
			unread = err
		}
		if err != nil || r.State.Finished() {
			continue
		}
		if working, sooner := atWork(&r), atWork(&newest); working && !sooner || working == sooner && r.Created.After(newest.Created) {
			newest = r
		}
	}
	switch {
	case newest.Run == "" && unread != nil:
		return "", unread
	case newest.Run == "":
		return "", fmt.Errorf("%w on %s: begin one with coordinator count N --nats, or see coordinator runs", errNothing, b.Server())
	}
	return newest.Run, nil
}
