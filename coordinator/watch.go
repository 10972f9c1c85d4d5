package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
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
		Long: `Show the progress of a run as its coordinator does: of the run named, or else of the
newest that is active, or else of the newest. It needs only the run's NATS server, changes nothing there, and
continues through restarts of the server and of the coordinator. When the run is
complete, it prints the total: that of the run's record there. If the server asks for no
keys, anybody can write that record: then it prints the total only if it is the published
one, and else fails and says where the total is.

Without --nats it looks under --data for a run that is active on this machine, and asks its
server or, if that accepts no connections, its process. If no run is active, it verifies the
ledger of the newest run that has ended, and prints its total and when it ended. --http
needs a server: the page of a count without one is that of its own --http.

With --json it prints a snapshot of the run as a JSON object a second: how far the run is
and how fast, what its tasks and its workers do, and once it is complete the total and
what confirms it. docs/json.md describes the fields.`,
		Example: `  coordinator watch
  coordinator watch --nats nats://127.0.0.1:4222
  coordinator watch n15-20261120-170938-7274 --nats nats://127.0.0.1:4222 --json`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := optionalRunArg(args)
			if err != nil {
				return err
			}
			if err := cmp.Or(o.nats.Check(app.Log), o.page.check()); err != nil {
				return err
			}
			return watchRun(cmd.Context(), app, name, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	o.nats = cli.ConnectionFlags(flags, "", "watch a run on")
	flags.BoolVar(&o.json, "json", false, "print a JSON object a second")
	o.page.register(flags, "`ADDR` on which to serve a live page of the run, /healthz and /readyz, but no /metrics, such as 127.0.0.1:8080")
	o.data.register(flags)
	return cmd
}

func watchRun(ctx context.Context, app *cli.App, name string, o *watchOptions, stdout io.Writer) error {
	v := watchView{ui: newUI(app), run: name}
	defer v.answerSignals()()
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
			return v.presentLocal(ctx, store, r, o, stdout)
		}
		if server, err = localServer(app.Log, store, o.nats, r.Server); err != nil {
			return err
		}
		hint = ": if it asks for a password, give it with --nats; if for a key, name that with --nkey"
	}
	last, err := v.follow(ctx, server, o)
	switch {
	case errors.Is(err, queens.ErrNoConnection):
		return fmt.Errorf("%w%s", err, hint)
	case err != nil:
		return ignoreEPIPE(v.withHint(err))
	}
	return v.printTotal(&last, stdout)
}

// presentLocal presents a run of this machine by the socket of its process and by its ledger.
func (v *watchView) presentLocal(ctx context.Context, store *runstore.Store, r *runstore.Info, o *watchOptions, stdout io.Writer) error {
	if o.page.http != "" {
		return fmt.Errorf("run %s has no server from which a page of it could be served: give --http to its coordinator", r.Run)
	}
	if r.State.Finished() {
		v.app.Log.Info().Str("run", r.Run).Str("ended", r.At.Format(time.RFC3339)).Msg("the run has ended: verifying its ledger")
	}
	if v.objects == nil {
		v.start()
	}
	last, err := watch.FollowLocal(ctx, store, watch.Config{
		Run: r.Run, OnWatching: func() {
			if !r.State.Finished() {
				v.app.Log.Info().Str("run", r.Run).Msg("watching")
			}
		},
		OnSnapshot: v.showProgress, OnStatus: v.showStatus,
	})
	if v.objects == nil {
		v.stop()
	}
	if err != nil {
		return ignoreEPIPE(v.withHint(err))
	}
	return v.printTotal(&last, stdout)
}

// printTotal prints the total of the last snapshot, and what confirms it.
func (v *watchView) printTotal(last *run.Snapshot, stdout io.Writer) error {
	if v.objects != nil {
		return nil // the last object has it
	}
	switch tty := v.app.TTY(); {
	case v.unresponsive:
	case tty != nil && last.Elapsed.Duration > 0: // not read from a ledger, which says less
		_ = report.WriteSnapshotTable(tty, last, v.app.Colors()) // fails if the terminal was closed
	default:
		report.LogEnd(v.app.Log, last)
	}
	_, err := fmt.Fprintln(stdout, last.Total)
	return err
}

// watchView presents a watched run.
type watchView struct {
	*ui
	run     string     // empty until it is known
	objects io.Writer  // nil without --json
	status  watch.Kind // the latest
	warned  bool       // of messages that are ignored
}

// follow presents the run until it ends.
func (v *watchView) follow(ctx context.Context, server *cli.Connection, o *watchOptions) (last run.Snapshot, err error) {
	b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens watch", Wait: true, Lease: bus.DefaultLease, Log: v.app.Log})
	if err != nil {
		return last, err
	}
	defer b.Close()
	page, err := o.listen(v.app, b)
	if err != nil {
		return last, err
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return b.WaitClosed(ctx) })
	group.Go(func() error { return page.serve(ctx) })
	group.Go(func() error {
		defer stop()
		var err error
		if v.run == "" {
			v.run, err = watch.Newest(ctx, b, b.Registry())
		} else {
			v.run, err = watch.Find(ctx, b, b.Registry(), v.run)
		}
		if err != nil {
			return err
		}
		if v.objects == nil {
			v.start()
			defer v.stop()
		}
		last, err = watch.Follow(ctx, page.follow(watch.Config{
			Connection: b, Registry: b.Registry(), Telemetry: b.Telemetry(),
			Run: v.run, OnWatching: func() { v.logWatching(b) },
			OnSnapshot: v.showProgress, OnStatus: v.showStatus, OnIgnored: v.warnIgnored,
		}))
		page.end(ctx, err)
		return err
	})
	err = group.Wait()
	return last, err
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
	if v.display != nil {
		v.display.SetStatus(text)
	}
}

// withHint adds to an error of a watch which command may help.
func (v *watchView) withHint(err error) error {
	hint := ""
	switch {
	case errors.Is(err, watch.ErrNoRuns):
		hint = "coordinator count N --nats starts one; coordinator runs lists those of this machine"
	case errors.Is(err, watch.ErrNotActive):
		hint = "it has ended or is on another server; coordinator runs, where its ledger is, says how it ended"
	case errors.Is(err, watch.ErrEndMissed):
		hint = fmt.Sprintf("coordinator resume %s, where its ledger is, prints its total", v.run)
	case errors.Is(err, watch.ErrOpenServer):
		hint = fmt.Sprintf("its coordinator has printed the total, and coordinator resume %s, where its ledger is, prints it again", v.run)
	case errors.Is(err, queens.ErrContradiction):
		hint = fmt.Sprintf("coordinator verify %s, where its ledger is, may say which count is wrong", v.run)
	default:
		return withHint(err)
	}
	return fmt.Errorf("%w: %s", err, hint)
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
		runs, err := store.Select(func(i *runstore.Info) bool {
			return i.Locked != nil || i.State == run.Complete || i.State == run.Contradicted
		})
		switch active := slices.IndexFunc(runs, func(i runstore.Info) bool { return i.Locked != nil }); {
		case err != nil:
			return nil, withHint(err)
		case active >= 0:
			return &runs[active], nil
		case len(runs) == 0:
			return nil, fmt.Errorf("no run in %s is active or has ended: name the server of a run elsewhere with --nats, or see %s", store.Path(), o.data.command("runs"))
		}
		return &runs[0], nil
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
