package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/session"
)

// countFlags are the flags of count.
type countFlags struct {
	method     string
	symmetry   string
	place      []string
	depth      int
	forceNew   bool
	redundancy int
	spotCheck  float64
	sessionFlags
}

func (o *countFlags) register(flags *pflag.FlagSet) {
	cli.Enum(flags, &o.method, "method", methodAuto, "how to count: auto takes the faster method",
		methodAuto,
		string(queens.Prefixes), string(queens.Halves))
	cli.Symmetry(flags, &o.symmetry,
		"count with all eight images of a board, mirror images or none (with --place always none)")
	flags.StringArrayVar(&o.place, "place", nil,
		"put a queen on `ROW,COLUMN` beforehand, from 0,0 at the top left; repeatable")
	o.registerUnique(flags)
	flags.BoolVar(&o.forceNew, "new", false, "start a new run, even if there is one of the same count")
	cli.Int(flags, &o.depth, "depth", 0, 0, queens.MaxN,
		"make a task of each way to place queens on `ROWS` rows").Hidden = true
	cli.Heading(flags, "What to count", "method")
	cli.Int(flags, &o.redundancy, "redundancy", 1, 1, ledger.MaxRedundancy,
		"let `R` witnesses, which are invited users or else machines, count each task")
	shareFlag(flags, &o.spotCheck, "spot-check",
		"with R = 1, let a second witness count this `SHARE` of the tasks")
	cli.Heading(flags, "Trust", "redundancy")
	o.sessionFlags.register(flags)
}

// job checks the command line and returns what to count.
func (o *countFlags) job(n int) (job session.Job, err error) {
	if o.depth > n {
		return job, cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
	}
	job = session.Job{
		N: n, Symmetry: queens.Symmetry(o.symmetry), Depth: o.depth, New: o.forceNew,
		Redundancy: o.redundancy, SpotCheck: o.spotCheck,
	}
	if job.Placed, err = queens.ParsePlaced(n, o.place...); err != nil {
		return job, cli.Usagef("--place: %w", err)
	}
	if len(job.Placed) > 0 {
		switch {
		case o.unique:
			return job, cli.Usagef(
				"--unique and --place exclude each other: rotations and reflections move the placed queens")
		case o.flags.Changed("symmetry") && job.Symmetry != queens.None:
			return job, cli.Usagef(
				"--symmetry %s and --place exclude each other: with placed queens there is none", o.symmetry)
		}
		job.Symmetry = queens.None
	}
	if _, published := queens.KnownTotal(n); !published && len(job.Placed) == 0 &&
		!o.flags.Changed("redundancy") {
		return job, cli.Usagef("no total is published for N = %d: "+
			"say with --redundancy how many witnesses must agree on each task; "+
			"2 is good, 1 trusts each machine", n)
	}
	return job, o.chooseMethod(&job)
}

// methodAuto is the value of --method that leaves the choice to the program.
const methodAuto = "auto"

// chooseMethod sets the method of a job, if the command line names one.
func (o *countFlags) chooseMethod(job *session.Job) error {
	if o.method == methodAuto {
		return nil
	}
	job.Method = queens.Method(o.method)
	if job.Method != queens.Halves {
		return nil
	}
	const only = "--method " + string(queens.Halves) + " counts whole boards with all symmetries: "
	switch {
	case len(job.Placed) > 0:
		return cli.Usagef(only + "leave out --place, or count by prefixes")
	case job.Symmetry != queens.Full:
		return cli.Usagef(only+"leave out --symmetry %s, or count by prefixes", job.Symmetry)
	case job.Depth > 0:
		return cli.Usagef(only + "leave out --depth, or count by prefixes")
	}
	return nil
}

func countCommand(app *cli.App) *cobra.Command {
	var o countFlags
	cmd := &cobra.Command{
		Use:   "count [N]",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none attacks
another. The same command resumes an interrupted count. If the count is complete, it audits the
ledger and prints the total again. Without N, it resumes the newest unfinished run, or prints the
newest total. The log says what confirms the total: "published", "redundant" (two witnesses agree on
every task), "sampled" (on some tasks) or "none".`,
		Example: `  coordinator count 18
  coordinator count 8 --place 0,3
  coordinator count 20 --listen 0.0.0.0:4222
  coordinator count 20 --nats nats://127.0.0.1:4222`,
		Args: cli.Arguments(0, 1, "one argument, the side N of the board, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return o.run(cmd, app, o.newest)
			}
			n, err := cli.ParseN(args[0])
			if err != nil {
				return err
			}
			job, err := o.job(n)
			if err != nil {
				return err
			}
			return o.run(cmd, app, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
				s, err := session.Count(ctx, cfg, job)
				if errors.As(err, new(*ledger.LockedError)) {
					return nil, fmt.Errorf("%w; %s follows it, --new starts another count", err,
						o.data.command("watch"))
				}
				return s, err
			})
		},
	}
	o.register(cmd.Flags())
	cli.ShowExitCodes(cmd)
	return cmd
}

// newest opens the newest unfinished run, or else the newest complete one.
func (o *countFlags) newest(ctx context.Context, cfg session.Config) (*session.Session, error) {
	for _, name := range []string{"method", "symmetry", "place", "depth", "new", "redundancy",
		"spot-check"} {
		if f := o.flags.Lookup(name); f.Changed && !cli.SetByEnvironment(f) {
			return nil, cli.Usagef(
				"--%s needs N: without N, count goes on with the newest run, of any count", name)
		}
	}
	isComplete := func(r *runs.Run) bool { return r.State == queens.Complete }
	name, err := cfg.Store.Newest("to go on with", (*runs.Run).IsUnfinished, isComplete)
	if errors.Is(err, runs.ErrNoRun) {
		return nil, cli.Usagef("N is missing, and %w: give the side of the board, from 1 to %d", err,
			queens.MaxN)
	} else if err != nil {
		return nil, err
	}
	return session.Resume(ctx, cfg, name)
}

// resumeCommand is coordinator resume: it resumes an interrupted run.
func resumeCommand(app *cli.App) *cobra.Command {
	var o sessionFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted count",
		Long: `Resume the named run, or else the newest unfinished one, where it stopped. RUN is the name
of a run, or its beginning. Tasks whose counts are in the ledger are not counted again. The ledger
says what is counted; the flags say with which workers, and what is printed.`,
		Example: `  coordinator resume
  coordinator resume n20-20261120-170938-7274 --listen 0.0.0.0:4222`,
		Args:              oneRunOrNone,
		ValidArgsFunction: o.data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, app, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
				_, name, err := o.data.find(args, "to resume", (*runs.Run).IsUnfinished)
				if err != nil {
					return nil, err
				}
				return session.Resume(ctx, cfg, name)
			})
		},
	}
	o.registerUnique(cmd.Flags())
	cli.Heading(cmd.Flags(), "What to count", "unique")
	o.register(cmd.Flags())
	cli.ShowExitCodes(cmd)
	return cmd
}
