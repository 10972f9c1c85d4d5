package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/halves"
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
	memory  uint64 // in bytes, for the method halves; 0 for its default
}

// runCommand is the command of the program itself: it runs a worker. *app is set before the command
// runs.
func runCommand(app **cli.App) *cobra.Command {
	var o runFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Count for the coordinators on a NATS server",
		Long: `Count for the coordinators on a NATS server until stopped. Without --join and --nats,
the worker uses the token of a coordinator that the same user has started with --listen. It waits
until a server and a coordinator are there. On Ctrl-C or SIGTERM it delivers what is counted and
gives the rest back, within two seconds. What a killed worker has not delivered is counted again.`,
		Example: `  worker
  worker --join join.token
  worker --nats nats://127.0.0.1:4222 --threads 4`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), *app) },
	}
	cli.ShowExitCodes(cmd, "3", "4")
	flags := cmd.Flags()
	o.search.register(cmd)
	cli.Bytes(flags, &o.memory, "memory",
		"take at most this `SIZE` of memory for a count by halves, such as 2GB (default three "+
			"quarters of the machine's)")
	flags.StringVar(&o.machine, "machine", "",
		"`NAME` of this machine for redundancy (default the boot id of its kernel)")
	cli.Duration(flags, &o.idle, "idle-exit",
		"exit after this `TIME` without work, such as 5m; 0 is never")
	cli.Address(flags, &o.http, "http", "",
		"serve /metrics and /healthz at `ADDR`, such as "+defaultPage, defaultPage)
	cli.Heading(flags, "Search", "threads")
	o.server.Register(flags)
	cli.Heading(flags, "Server", "nats")
	return cmd
}

func (o *runFlags) run(ctx context.Context, app *cli.App) error {
	machine, err := cli.MachineName(o.machine)
	if err != nil {
		return err
	}
	servers, err := o.servers(app.Log)
	if err != nil {
		return err
	}
	process := worker.NewProcess(queens.Machine{
		User: cmp.Or(servers.options.User, queens.WorkerUser), Name: machine,
	})
	if text := o.nameNote(process.Machine.User, cli.HidesHardware()); text != "" {
		app.Log.Info().Msg(text)
	}
	parts, note, err := o.search.parts()
	if err != nil {
		return err
	}
	if note != "" {
		app.Log.Warn().Msg(note)
	}
	byHalves, err := o.search.halves()
	if err != nil {
		return err
	}
	memory, _ := count.MemoryOf(cli.Memory())
	config := worker.Config{
		Process: process, Host: cli.HostName(o.machine), Version: cli.Version(), IdleExit: o.idle,
		Log:    app.Log,
		Halves: byHalves,
		Memory: count.NewMemory(cmp.Or(o.memory, memory), searchers(parts)),
	}
	defer func() { _ = config.Memory.Close() }() // the process ends
	t := &team{parts: parts, config: config}
	failed, err := t.test(ctx)
	if err == nil {
		err = halves.SelfTest(ctx, config.Halves)
	}
	if ctx.Err() != nil { // it is told to end: no kernel has failed
		return nil
	} else if err != nil {
		return err
	}
	if threads, cores := parts[len(parts)-1].threads, cli.Cores(); threads > cores {
		app.Log.Warn().Int("threads", threads).Int("cores", cores).
			Msg("more threads than this machine has cores: they take turns, and the worker is not faster")
	}
	if o.http != "" {
		p, err := page.ListenWorker(o.http, t.status)
		if err != nil {
			return err
		}
		defer func() { _ = p.Close(ctx) }() // the worker ends even if this fails
	}
	for {
		servers.options.Process = process
		err := o.serve(ctx, t, servers, failed)
		if !errors.Is(err, errServerGone) {
			return err
		}
	}
}

// serve runs the team for the coordinators on one server. The error is [errServerGone] if the
// worker should go on at another server.
func (o *runFlags) serve(ctx context.Context, t *team, s *servers, failed []error) error {
	b, err := bus.Connect(ctx, s.options)
	if err != nil {
		return err
	}
	defer b.Close()
	t.connect(b)
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return b.Wait(ctx) })
	group.Go(func() error { return s.follow(ctx, b.Connected) })
	group.Go(func() error {
		defer stop()
		return t.run(ctx, failed)
	})
	return group.Wait()
}

// nameNote says that this machine needs a name if the parameter why says that its hardware is
// hidden. An invited user is one witness, whatever its machines are called.
func (o *runFlags) nameNote(user, why string) string {
	if why == "" || o.machine != "" || queens.IsInvited(user) {
		return ""
	}
	return why + ": for a count with --redundancy 2, give the name of its host with --machine"
}
