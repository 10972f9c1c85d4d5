package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/worker"
)

// countOptions are the flags of count.
type countOptions struct {
	symmetry string
	depth    int
	workers  int
	kernel   string
	json     bool
	server   serverOptions
}

func countCommand(app *cli.App) *cobra.Command {
	var o countOptions
	cmd := &cobra.Command{
		Use:   "count N",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none
attacks another, and print the number.

Without --nats, the count runs in this process: an embedded NATS server and one
worker a core. With --listen, that server lets workers of other processes and
machines in. With --nats, the count uses a server that is there already.`,
		Example: `  coordinator count 16
  coordinator count 17 --json
  coordinator count 18 --listen 127.0.0.1:4222 --workers 0
  coordinator count 18 --nats nats://127.0.0.1:4222`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.Side(args)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("workers") && o.server.url != "" {
				o.workers = 0
			}
			if cmd.Flags().Changed("depth") && (o.depth < 1 || o.depth > n) {
				return cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
			}
			return count(cmd.Context(), app, n, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.symmetry, "symmetry", string(queens.Full), "how to cut the count: full, mirror, or none")
	flags.IntVar(&o.depth, "depth", 0, "one task for each way to place this many rows, 1 to N, instead of tasks of a good size")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "workers in this process, one thread each; with --nats the default is 0")
	flags.StringVar(&o.kernel, "kernel", kernel.Auto, "search that the workers in this process use; see worker kernels")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.server.register(flags)
	return cmd
}

// check returns what is wrong with the options, or the kernel to use.
func (o *countOptions) check() (kernel.Kernel, error) {
	switch {
	case o.workers < 0 || o.workers > maxWorkers:
		return kernel.Kernel{}, cli.Usagef("--workers must be from 0 to %d, not %d", maxWorkers, o.workers)
	case o.workers == 0 && o.server.url == "" && o.server.listen == "":
		return kernel.Kernel{}, cli.Usagef("--workers 0 leaves nobody to count: let workers in with --listen, or name their server with --nats")
	}
	if err := o.server.check(); err != nil {
		return kernel.Kernel{}, err
	}
	chosen, err := kernel.Choose(o.kernel)
	if err != nil {
		return kernel.Kernel{}, cli.Usagef("--kernel: %v", err)
	}
	return chosen, nil
}

// maxWorkers bounds --workers: more than any machine has cores is a slip of the
// keyboard.
const maxWorkers = 4096

func count(ctx context.Context, app *cli.App, n int, o *countOptions, stdout io.Writer) error {
	start := time.Now()
	chosen, err := o.check()
	if err != nil {
		return err
	}
	slow := time.AfterFunc(time.Second, func() { app.Log.Info().Int("n", n).Msg("planning the tasks, which takes a while") })
	manifest, err := plan(ctx, n, o)
	slow.Stop()
	if err != nil {
		return err
	}
	run := queens.NewRun(n, start)
	outcome, err := carry(ctx, app, o, chosen, run, manifest)
	r := report{
		N:        n,
		Run:      run,
		Symmetry: manifest.Symmetry,
		Tasks:    manifest.Tasks,
		Seconds:  time.Since(start).Seconds(),
		Workers:  outcome.Workers,
	}
	return errors.Join(err, r.print(stdout, outcome.Total, err, o.json))
}

// forgetWithin bounds the time that a run which was stopped takes to clean up.
const forgetWithin = 2 * time.Second

// carry opens the way to the workers, carries the run to its end, and leaves nothing
// of it behind: the accounts end with this process, so its messages are of no use.
func carry(ctx context.Context, app *cli.App, o *countOptions, chosen kernel.Kernel, run string, m queens.Manifest) (coordinator.Outcome, error) {
	server, err := o.server.open(run, app.Log)
	if err != nil {
		return coordinator.Outcome{}, err
	}
	defer server.close()
	if err := server.bus.Ensure(ctx); err != nil {
		if ctx.Err() != nil {
			return coordinator.Outcome{}, context.Cause(ctx)
		}
		return coordinator.Outcome{}, fmt.Errorf("set up the server: %w", err)
	}
	app.Log.Info().Str("run", run).Int("n", m.N).Str("symmetry", string(m.Symmetry)).Uint64("tasks", m.Tasks).
		Int("workers", o.workers).Str("kernel", chosen.Name).Str("server", server.address).Msg("counting")
	outcome, err := execute(ctx, app, o.workers, chosen, server.bus, run, m)
	summarize(app.Log, run, &outcome, err, server.bus.Rejected())
	tidy, done := context.WithTimeout(context.WithoutCancel(ctx), forgetWithin)
	defer done()
	if err := server.bus.Forget(tidy, run); err != nil {
		app.Log.Warn().Err(err).Msg("messages of the run stay on the server")
	}
	return outcome, err
}

func plan(ctx context.Context, n int, o *countOptions) (queens.Manifest, error) {
	classes, err := symmetry.Classes(n, queens.Symmetry(o.symmetry))
	if err != nil {
		return queens.Manifest{}, cli.Usagef("--symmetry: %v", err)
	}
	return split.Plan(ctx, n, queens.Symmetry(o.symmetry), classes, o.depth)
}

// execute runs the coordinator, and the workers of this process, to the end.
func execute(ctx context.Context, app *cli.App, workers int, chosen kernel.Kernel, b *bus.Bus, run string, m queens.Manifest) (coordinator.Outcome, error) {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	roster := progress.NewRoster()
	known, _ := queens.KnownTotal(m.N)
	service, err := coordinator.New(coordinator.Config{
		Run:         run,
		Manifest:    m,
		Known:       known,
		Roster:      roster,
		Overdue:     coordinator.DefaultOverdue,
		Patience:    coordinator.DefaultPatience,
		Report:      func(s progress.Snapshot) { logProgress(app, s) },
		ReportEvery: coordinator.DefaultReportEvery,
		Log:         app.Log,
	}, b, ledger.New())
	if err != nil {
		return coordinator.Outcome{}, err
	}
	var local []*worker.Worker
	for range workers {
		w, err := worker.New(worker.Config{
			Name:    worker.NewName(),
			Version: cli.Version(),
			Kernel:  chosen,
			Threads: 1,
			Lease:   bus.DefaultLease,
			Log:     app.Log,
		}, b.Queue(), b)
		if err != nil {
			return coordinator.Outcome{}, err
		}
		local = append(local, w)
	}
	for _, w := range local {
		group.Go(func() error { w.Run(ctx); return nil })
	}
	group.Go(func() error { return b.Heartbeats(ctx, roster.Saw) })
	group.Go(func() error { return b.Lost(ctx) })
	var outcome coordinator.Outcome
	group.Go(func() error {
		defer stop()
		var err error
		outcome, err = service.Run(ctx)
		return err
	})
	err = group.Wait()
	return outcome, err
}
