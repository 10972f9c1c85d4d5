package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
	"nqueens/pkg/split"
	"nqueens/pkg/watch"
)

// watchOptions are the flags of watch.
type watchOptions struct {
	nats *cli.Connection
	json bool
	page pageFlags
	data dataFlag
}

func watchCommand(app *cli.App) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Show the progress of a run, from any machine that reaches its server",
		Long: `Show the progress of a run as its coordinator does: of the run named, or else of the newest
active one, or else of the newest. It continues through restarts, and prints the total in the
end. On a server without keys anybody can forge that: then only a published total is printed.

Without --nats it follows a run of this machine, or verifies the ledger of the newest that has
ended and prints its total. --http needs a server.

With --json it prints a snapshot as a JSON object a second; docs/json.md has the fields.`,
		Example: `  coordinator watch
  coordinator watch --nats nats://127.0.0.1:4222
  coordinator watch n15-20261120-170938-7274 --nats nats://127.0.0.1:4222 --json`,
		Args:              oneRunOrNone,
		ValidArgsFunction: o.data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.nats.Check(app.Log), o.page.check()); err != nil {
				return err
			}
			return watchRun(cmd.Context(), app, strings.Join(args, ""), &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	cli.FlagGroup(flags, "Output", func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.json, "json", false, "print a JSON object a second")
		o.page.register(flags, "`ADDR` on which to serve a live page, /healthz and /readyz, such as 127.0.0.1:8080",
			"keep the page for this `DURATION` after the end, until another run begins; wait for the first one")
		o.data.register(flags)
	})
	o.nats = cli.ConnectionFlags(flags, "", "watch a run on", "watcher")
	return cmd
}

func watchRun(ctx context.Context, app *cli.App, name string, o *watchOptions, stdout io.Writer) error {
	v := watchView{ui: newUI(app), run: name}
	defer v.logProgress()()
	if o.json {
		v.objects = stdout
	}
	server, hint := o.nats, ""
	if server.URL == "" {
		store, err := o.data.open(app.Log)
		if err != nil {
			return err
		}
		r, err := o.selectRun(store, name)
		if err != nil {
			return err
		}
		v.run = r.Run
		if r.Server == "" {
			last, err := v.followLocal(ctx, store, r, o)
			return v.printTotal(&last, stdout, err)
		}
		if server, err = localServer(app.Log, store, o.nats, r.Server); err != nil {
			return err
		}
		hint = ": if it asks for a password, give it with --nats; if for a key, name that with --nkey"
	}
	err := v.follow(ctx, server, o, stdout)
	if errors.Is(err, run.ErrNoConnection) {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// followLocal presents a run of this machine by the socket of its process and by its ledger.
func (v *watchView) followLocal(ctx context.Context, store *runstore.Store, r *runstore.Info, o *watchOptions) (last run.Snapshot, err error) {
	if o.page.Address != "" {
		return last, fmt.Errorf("run %s has no server from which a page of it could be served: give --http to its coordinator", r.Run)
	}
	if r.State.Finished() {
		v.app.Log.Info().Str("run", r.Run).Str("ended", r.At.Format(time.RFC3339)).Msg("the run has ended: verifying its ledger")
	}
	v.start()
	defer v.stop()
	return watch.FollowLocal(ctx, store, watch.Config{
		Run: r.Run, OnWatching: func() {
			if !r.State.Finished() {
				v.app.Log.Info().Str("run", r.Run).Msg("watching")
			}
		},
		OnSnapshot: v.showProgress, OnStatus: v.showStatus,
	})
}

// start starts the display, or the progress in the log, unless the output is JSON.
func (v *watchView) start() {
	if v.objects == nil {
		v.ui.start()
	}
}

// printTotal prints the total of the last snapshot, and what confirms it, unless the watch has ended with an error.
func (v *watchView) printTotal(last *run.Snapshot, stdout io.Writer, err error) error {
	if err != nil {
		return ignoreEPIPE(withHint(err))
	}
	if v.objects != nil {
		return nil // the last object has it
	}
	switch tty := v.app.TTY(); {
	case v.unresponsive:
	case tty != nil && last.Elapsed.Duration > 0: // not read from a ledger, which says less
		_ = report.LastResult(last).WriteTable(tty, v.app.Colors()) // fails if the terminal was closed
	default:
		report.LastResult(last).LogTotal(v.app.Log)
	}
	_, err = fmt.Fprintln(stdout, last.Total)
	return err
}

// watchView presents a watched run.
type watchView struct {
	*ui
	run     string          // empty until it is known
	objects io.Writer       // nil without --json
	page    *dashboard.Host // nil without --http
	status  watch.Kind      // the latest
	warned  bool            // of messages that are ignored
}

// follow presents the run until it ends, and prints its total.
func (v *watchView) follow(ctx context.Context, server *cli.Connection, o *watchOptions, stdout io.Writer) error {
	b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens watch", Wait: true, Lease: bus.DefaultLease, Log: v.app.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	if v.page, err = o.listen(v.app, b); err != nil {
		return err
	}
	var last run.Snapshot
	group, watching := errgroup.WithContext(ctx)
	watching, stop := context.WithCancel(watching)
	defer stop()
	cfg := watch.Config{
		Connection: b, Registry: b.Registry(), Telemetry: b.Telemetry(), OnWatching: func() { v.logWatching(b) },
		OnSnapshot: v.showProgress, OnStatus: v.showStatus, OnIgnored: v.warnIgnored,
	}
	if v.page != nil {
		cfg.OnManifest = func(m *queens.Manifest) { v.page.SetManifest(m, split.Shares(m), enumerate.Any(watching, m)) }
		group.Go(func() error { return v.page.Failure(watching) })
	}
	group.Go(func() error { return b.WaitClosed(watching) })
	group.Go(func() error {
		defer stop()
		var err error
		if v.run == "" {
			v.run, err = o.awaitRun(watching, v.app, b)
		} else {
			v.run, err = watch.Find(watching, b, b.Registry(), v.run)
		}
		if err != nil {
			return err
		}
		v.start()
		defer v.stop()
		if o.page.linger > 0 {
			group.Go(func() error { return v.leave(watching, b) })
		}
		cfg.Run = v.run
		last, err = watch.Follow(watching, cfg)
		return err
	})
	err = group.Wait()
	ended := err
	if err = v.printTotal(&last, stdout, ended); ended == nil {
		o.keep(ctx, v.app, b, v.run)
	}
	v.stopPage(ctx, ended)
	return err
}

// logWatching logs what is watched, and how far that can be believed.
func (v *watchView) logWatching(b *bus.Bus) {
	v.app.Log.Info().Str("run", v.run).Str("server", b.Server()).Msg("watching")
	if b.Connected() == nil && b.IsOpen() {
		v.app.Log.Warn().Str("server", b.Server()).
			Msg("the server asks for no keys: anybody who reaches it can write what it says of the run. A total is shown only if it is the published one")
	}
}

func (v *watchView) showProgress(p *run.Snapshot) error {
	if v.page != nil {
		v.page.Update(p)
	}
	v.show(*p)
	if v.objects == nil {
		return nil
	}
	return report.WriteSnapshot(v.objects, p)
}

// warnIgnored warns once of messages that contradict the run's record.
func (v *watchView) warnIgnored(err error) {
	if !v.warned {
		v.app.Log.Warn().Err(err).Msg("ignoring messages about the run that contradict its record: somebody else publishes them")
	}
	v.warned = true
}

// showStatus displays the status, and logs it when it changes, unless the connection does.
func (v *watchView) showStatus(s watch.Status) {
	text := s.Text(v.run)
	if v.page != nil {
		v.page.SetStatus(text)
	}
	if s.Kind != v.status {
		switch s.Kind {
		case watch.ServerDown, watch.Auditing:
		case watch.Live:
			if v.status != watch.ServerDown && v.status != watch.ServerSilent && v.status != watch.ProcessSilent {
				v.app.Log.Info().Str("run", v.run).Msg("the run continues")
			}
		default:
			v.app.Log.Info().Str("run", v.run).Msg(text)
		}
		v.status = s.Kind
	}
	v.setStatus(text)
}

// localServer returns how to reach the server of a run on this machine. An embedded server that asks
// for keys has one for watchers in the folder of the runs.
func localServer(log zerolog.Logger, store *runstore.Store, given *cli.Connection, url string) (*cli.Connection, error) {
	server := *given
	server.URL = url
	key, authority, found := session.WatcherFiles(store)
	if server.NKey == "" && server.Creds == "" && found && strings.HasPrefix(url, "tls://") {
		server.NKey, server.Authority = key, cmp.Or(server.Authority, authority)
		server.TokenFile, server.Token = "", identity.Token{} // that of workers, as the environment may name it
	}
	return &server, server.Check(log)
}

// selectRun returns the named run that a process of this machine works on, or that has ended. Without a name it
// returns the newest that a process works on, or else the newest that has ended.
func (o *watchOptions) selectRun(store *runstore.Store, name string) (*runstore.Info, error) {
	if name == "" {
		newest, err := store.Newest(func(i *runstore.Info) bool { return i.Locked != nil }, func(i *runstore.Info) bool {
			return i.State == run.Complete || i.State == run.Contradicted
		})
		if newest == nil && err == nil {
			err = fmt.Errorf("no run in %s is active or has ended: name the server of a run elsewhere with --nats, or see %s", store.Path(), o.data.command("runs"))
		}
		return newest, withHint(err)
	}
	switch found, err := store.Find(name); {
	case errors.Is(err, runstore.ErrNoRun):
		return nil, fmt.Errorf("%w: name its server with --nats", err)
	case err != nil:
		return nil, withHint(err)
	default:
		name = found
	}
	switch r := store.Inspect(name); {
	case r.Err != nil:
		return nil, fmt.Errorf("run %s: %w", name, r.Err)
	case r.Locked != nil, r.State.Finished():
		return &r, nil
	default:
		return nil, fmt.Errorf("run %s is %s, with %d of %d tasks done: %s resumes it; if it is active elsewhere, name its server with --nats",
			name, r.Status(), r.Done, r.Tasks, o.data.command("resume", name))
	}
}
