package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/display"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/identity"
	"nqueens/pkg/kernel"
	"nqueens/pkg/metrics"
	"nqueens/pkg/worker"
)

// runOptions are the flags of run.
type runOptions struct {
	nats   *cli.Connection
	search searchOptions
	http   string
	idle   time.Duration
	// identity is the file of the worker's key; empty for that in the state folder.
	identity string
	// showKey prints the public key and ends.
	showKey bool
}

func runCommand(app *cli.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Take tasks and count them until stopped (the default)",
		Long: `Take tasks from a NATS server and count them until stopped. The worker waits for a
server and a coordinator that are not running yet. The first Ctrl-C or SIGTERM makes
it finish or release the tasks that it holds, and exit; the second ends it at once.
However it ends, no result of the run is lost.`,
		Example: `  worker --nats nats://127.0.0.1:4222
  worker --nats nats://127.0.0.1:4222 --threads 4`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.showKey {
				return o.printKey(cmd.OutOrStdout())
			}
			return run(cmd.Context(), app, &o)
		},
	}
	flags := cmd.Flags()
	o.nats = cli.ConnectionFlags(flags, "nats://127.0.0.1:4222", "take tasks from")
	o.search.addFlags(flags)
	flags.Lookup("kernel").Usage += "; a list has several devices, and cpu for the threads of the CPU beside them"
	flags.StringVar(&o.identity, "identity", "", "`FILE` of the key that signs the results, made if there is none (default that of --nkey, or else $XDG_STATE_HOME/nqueens/worker.key)")
	flags.BoolVar(&o.showKey, "public-key", false, "print the public key, for coordinator keys add, and exit")
	flags.StringVar(&o.http, "http", "", "`ADDR` on which to answer /healthz, /readyz and /metrics")
	flags.DurationVar(&o.idle, "idle-exit", 0, "exit after this `DURATION` without a task, such as 5m; 0 means never")
	return cmd
}

func run(ctx context.Context, app *cli.App, o *runOptions) error {
	chosen, err := o.search.choose()
	if err != nil {
		return err
	}
	if err := o.nats.Check(app.Log); err != nil {
		return err
	}
	if err := cli.CheckHTTP(o.http); err != nil {
		return err
	}
	if o.idle < 0 {
		return cli.Usagef("--idle-exit must be a time such as 5m, or 0, not %v", o.idle)
	}
	devices, err := chosen.check(ctx, app.Log)
	if err != nil {
		return err
	}
	id, err := o.loadIdentity()
	if err != nil {
		return err
	}
	credentials := bus.Credentials{Identity: o.nats.Identity, Token: o.nats.Token.Secret, Creds: o.nats.Creds, TLS: o.nats.TLS}
	var admission []byte
	if token := o.nats.Token.Secret; token != "" {
		admission = identity.Admission([]byte(token), id.Key())
	}
	name := worker.NewName()
	b, err := bus.Connect(bus.Config{URL: o.nats.URL, Credentials: credentials, Name: "nqueens worker " + name, Wait: true, Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	tty, reportEvery := app.TTY(), worker.DefaultReportEvery
	if tty != nil || app.NoProgress {
		reportEvery = 0
	}
	cfg := worker.Config{
		Name:        name,
		Identity:    id,
		Admission:   admission,
		Version:     cli.Version(),
		Kernel:      chosen.cpu,
		Threads:     chosen.threads,
		Devices:     devices,
		Lease:       bus.DefaultLease,
		Grace:       worker.DefaultGrace,
		IdleExit:    o.idle,
		ReportEvery: reportEvery,
		Log:         app.Log,
	}
	w, kernels, threads := worker.New(cfg, b.Queue(), b.Results(), b.Telemetry()), cfg.Kernels(), cfg.AllThreads()
	host, _ := os.Hostname() // empty if it fails
	app.Log.Info().Str("version", cli.Version()).Str("host", cmp.Or(host, "unnamed")).Str("worker", name).Str("key", id.Key()).Str("kernel", kernels).
		Str("checked", fmt.Sprintf("n=1..%d", kernel.SelfTestN)).
		Int("threads", threads).Str("server", b.Server()).Msg("worker starts")
	if tty != nil {
		defer showWork(app, tty, w, display.Worker{Name: name, Kernel: kernels, Threads: threads})()
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.http != "" {
		exporter := metrics.NewWorker(cli.Version(), name, kernels, func() metrics.Worker { return measure(w, b, threads) })
		server, err := httpserver.Listen(o.http, httpserver.Checks{Live: w.Live, Ready: b.Connected}, exporter, nil)
		if err != nil {
			return err
		}
		app.Log.Info().Str("http", server.Address()).Msg("answering " + httpserver.LivePath + " and " + httpserver.ReadyPath)
		group.Go(func() error { return server.Serve(ctx) })
	}
	group.Go(func() error { return b.WaitClosed(ctx) })
	group.Go(func() error { defer stop(); return w.Run(ctx) })
	err = group.Wait()
	app.Log.Info().Str("worker", name).Msg("worker leaves")
	return err
}

// printKey prints the public key of --nkey or --identity, and makes the key if there is none. It connects
// to no server.
func (o *runOptions) printKey(stdout io.Writer) (err error) {
	var id *identity.Identity
	if o.identity == "" && o.nats.NKey != "" {
		if id, err = identity.LoadOrCreate(o.nats.NKey); err != nil {
			return cli.Usagef("--nkey: %w", err)
		}
	} else if id, err = o.loadIdentity(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, id.Key())
	return err
}

// measure returns what the worker does now, for its metrics.
func measure(w *worker.Worker, b *bus.Bus, threads int) metrics.Worker {
	s := w.Status()
	return metrics.Worker{
		Link:    metrics.Link{Connected: b.Connected() == nil, Reconnects: b.Reconnects(), Rejected: b.Rejected()},
		Threads: threads, SearchTime: s.SearchTime,
		Prefixes: s.Prefixes, Tasks: s.Tasks, Results: s.Results,
		Ready: s.Ready, Searching: s.Searching, Reporting: s.Reporting,
	}
}

// loadIdentity reads the worker's key, or makes it.
func (o *runOptions) loadIdentity() (*identity.Identity, error) {
	path := o.identity
	if path == "" && o.nats.Identity != nil {
		return o.nats.Identity, nil
	}
	if path == "" {
		folder, err := identity.StateFolder()
		if err != nil {
			return nil, fmt.Errorf("the worker's key: %w: name its file with --identity", err)
		}
		path = filepath.Join(folder, "worker.key")
	}
	id, err := identity.LoadOrCreate(path)
	switch {
	case err == nil:
		return id, nil
	case o.identity != "":
		return nil, cli.Usagef("--identity: %w", err)
	}
	return nil, fmt.Errorf("%w: name another file with --identity", err)
}
