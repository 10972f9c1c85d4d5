package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
	"nqueens/pkg/kernel"
	"nqueens/pkg/metrics"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// runOptions are the flags of run.
type runOptions struct {
	nats   *cli.Connection
	search searchOptions
	http   string
	idle   time.Duration
	yieldFlags
	identityFlag
}

func runCommand(app *cli.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Take tasks and count them until stopped (the default)",
		Long: `Take tasks from a NATS server and count them until stopped. The worker waits for a server and a
coordinator that do not run yet. The first Ctrl-C or SIGTERM makes it finish or release its tasks,
and exit; the second ends it at once. However it ends, no result of a run is lost.`,
		Example: `  worker
  worker --nats tls://counter.example.org:4222 --token-file join.token`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), app, &o) },
	}
	flags := cmd.Flags()
	cli.FlagGroup(flags, "Search", func(flags *pflag.FlagSet) {
		o.search.addFlags(flags)
		flags.Lookup("kernel").Usage += ", or a list of devices, and cpu for the threads of the CPU"
		flags.DurationVar(&o.idle, "idle-exit", 0, "exit after this `DURATION` without a task, such as 5m; 0 means never")
		flags.StringVar(&o.http, "http", "", "`ADDR` on which to answer /healthz, /readyz and /metrics, such as 127.0.0.1:8080")
	})
	cli.FlagGroup(flags, "Pauses", o.yieldFlags.register)
	o.nats = cli.ConnectionFlags(flags, "nats://127.0.0.1:4222", "take tasks from", "worker")
	cli.FlagGroup(flags, "Server", o.identityFlag.register)
	return cmd
}

func runWorker(ctx context.Context, app *cli.App, o *runOptions) error {
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
	pause, err := o.pause()
	if err != nil {
		return err
	}
	devices, err := chosen.check(ctx, app.Log)
	if err != nil {
		return err
	}
	id, err := o.load(o.nats.Identity)
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
	reportEvery := worker.DefaultReportEvery
	if app.NoProgress {
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
		Pause:       pause,
		ReportEvery: reportEvery,
		Log:         app.Log,
	}
	w, kernels, threads := worker.New(cfg, b.Queue(), b.Results(), b.Telemetry()), cfg.Kernels(), cfg.AllThreads()
	host, _ := os.Hostname() // empty if it fails
	app.Log.Info().Str("version", cli.Version()).Str("host", cmp.Or(host, "unnamed")).Str("worker", name).Str("key", id.Key()).Str("kernel", kernels).
		Str("checked", fmt.Sprintf("n=1..%d", kernel.SelfTestN)).
		Int("threads", threads).Str("server", b.Server()).
		Str(humanize.LogField, fmt.Sprintf("worker %s starts: %s, kernel %s; server %s", name, humanize.Plural(threads, "thread"), kernels, b.Server())).
		Msg("worker starts")
	if cores := runtime.GOMAXPROCS(0); chosen.threads > cores {
		app.Log.Warn().Int("threads", chosen.threads).Int("cores", cores).
			Msg("more threads than this machine has cores: they take turns, and the worker is not faster; --threads with the number of cores is enough")
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.http != "" {
		exporter := metrics.NewWorker(cli.Version(), name, kernels, func() (metrics.Link, run.Work) {
			return metrics.Link{Connected: b.Connected() == nil, Reconnects: b.Reconnects(), Rejected: b.Rejected()}, w.Status()
		})
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
