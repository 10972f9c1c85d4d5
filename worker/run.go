package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/durable"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/kernel"
	"nqueens/pkg/page"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker"
)

// runFlags are the flags of the worker.
type runFlags struct {
	server  bus.Flags
	search  searchFlags
	machine string
	http    string
	idle    time.Duration
}

// runCommand is the command of the program itself: it runs a worker. *app is set before the command runs.
func runCommand(app **cli.App) *cobra.Command {
	var o runFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Count for the coordinators on a NATS server",
		Long: `Count for the coordinators on a NATS server until stopped. Without --join and --nats, the worker uses the token
that coordinator count --listen of the same user has made. It waits until a server and a coordinator are there.
On Ctrl-C or SIGTERM it delivers what is counted and gives the rest back, within two seconds. What a
killed worker has not delivered is counted again.`,
		Example: `  worker
  worker --join join.token
  worker --nats nats://127.0.0.1:4222 --threads 4`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), *app) },
	}
	flags := cmd.Flags()
	o.search.register(cmd)
	flags.StringVar(&o.machine, "machine", "", "`NAME` of this machine for redundancy (default the boot id of its kernel)")
	cli.Duration(flags, &o.idle, "idle-exit", "exit after this `TIME` without work, such as 5m; 0 is never")
	cli.Address(flags, &o.http, "http", "", "serve /metrics and /healthz at `ADDR`, such as "+defaultPage, defaultPage)
	cli.Heading(flags, "Search", "threads")
	o.server.Register(flags)
	cli.Heading(flags, "Server", "nats")
	return cmd
}

func (o *runFlags) run(ctx context.Context, app *cli.App) error {
	k, threads := o.search.kernel, o.search.threadCount()
	machine, err := cli.MachineName(o.machine)
	if err != nil {
		return err
	}
	process := worker.NewProcess(machine)
	options, err := o.options(process, app.Log)
	if err != nil {
		return err
	}
	if err := kernel.SelfTest(ctx, k); err != nil {
		return err
	}
	text := fmt.Sprintf("worker %s on machine %s starts: %s, kernel %s",
		process.Name, machine, humanize.Plural(threads, "thread"), k.Name)
	app.Log.Info().Str("version", cli.Version()).Str("machine", machine).Str("process", process.Name).Str("kernel", k.Name).
		Int("threads", threads).Str(humanize.LogField, text).Msg("worker starts")
	if cores := cli.Cores(); threads > cores {
		app.Log.Warn().Int("threads", threads).Int("cores", cores).
			Msg("more threads than this machine has cores: they take turns, and the worker is not faster")
	}
	b, err := bus.Connect(options)
	if err != nil {
		return err
	}
	defer b.Close()
	w := worker.New(worker.Config{
		Process: process, Version: cli.Version(), Kernel: k, Threads: threads, IdleExit: o.idle, Log: app.Log, Problem: b.Problem,
	}, b)
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.http != "" {
		p, err := page.ListenWorker(o.http, func() page.Worker {
			s := w.Stats()
			return page.Worker{
				Machine: process.Machine, Process: process.Name, Kernel: k.Name, Version: cli.Version(), Threads: threads,
				Busy: s.Busy, Tasks: s.Tasks, Connected: b.Connected(), Waits: w.Waits(s),
			}
		})
		if err != nil {
			return err
		}
		defer func() { _ = p.Close(ctx) }() // the worker ends even if this fails
	}
	group.Go(func() error { return b.Wait(ctx) })
	group.Go(func() error {
		defer stop()
		return w.Run(ctx)
	})
	return group.Wait()
}

// options returns how to connect: as the flags say, or else with the token that coordinator count --listen of the same user has
// made.
func (o *runFlags) options(process queens.Process, log zerolog.Logger) (options bus.Options, err error) {
	if !o.server.IsSet() {
		state, err := durable.StateFolder()
		if err != nil {
			return options, err
		}
		path, there := join.Own(state)
		if !there {
			return options, cli.Usagef("there is no token %s: "+
				"start coordinator count N --listen on this machine, or name a server with --join FILE or --nats URL", path)
		}
		o.server.Join = path
	}
	if options, err = o.server.Connection("nqueens worker " + process.Machine); err != nil {
		return options, cli.Usagef("%w", err)
	}
	options.Wait, options.Log, options.Process = true, log, process
	return options, nil
}
